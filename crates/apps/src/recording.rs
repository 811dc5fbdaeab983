//! Files with the messages of a recording.

use std::sync::Arc;

use registry::{FileFormat, rows, seconds};
use units::{Bytes, Nanos};

/// One message of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// When it is sent, from the start of the recording.
    pub at: Nanos,
    /// How large it is.
    pub size: Bytes,
    /// Towards the sender of the flow's data.
    pub up: bool,
}

/// `time size direction`, times not falling: a message of `size` bytes goes `down`, to the receiver of the flow's data,
/// or `up`. The content is a list of [`Recorded`].
pub(crate) const MESSAGES: FileFormat = FileFormat {
    what: "lines \"time size direction\" in s and bytes, up or down, times not falling",
    parse: |text| Ok(Arc::new(rows(text, 3, message)?)),
};

fn message(columns: &[&str], last: Option<&Recorded>) -> Result<Recorded, String> {
    let at = seconds(columns[0])?;
    if last.is_some_and(|last| at < last.at) {
        return Err(format!("found the time {}, which is before the line above", columns[0]));
    }
    let size = columns[1].parse::<u64>().map(Bytes).or_else(|_| columns[1].parse());
    let size = size.ok().filter(|size| (1..=1 << 30).contains(&size.0));
    let size = size.ok_or_else(|| format!("found the size {}; allowed: 1 to 2^30 bytes", columns[1]))?;
    let up = match columns[2] {
        "up" => true,
        "down" => false,
        other => return Err(format!("found \"{other}\"; allowed: up, down")),
    };
    debug_assert!(
        size > Bytes::ZERO && last.is_none_or(|last| last.at <= at),
        "{size} at {at} after {last:?}"
    );
    Ok(Recorded { at, size, up })
}

#[cfg(test)]
mod tests {
    use registry::NamedFile;

    use super::*;

    #[test]
    fn messages_say_when_how_much_and_which_way() {
        let file = NamedFile::read("x", "0 200kB down\n0.5, 40, up # key\n", MESSAGES).unwrap();
        let down = Recorded { at: Nanos::ZERO, size: Bytes(200_000), up: false };
        let up = Recorded { at: Nanos::from_millis(500), size: Bytes(40), up: true };
        assert_eq!(*file.content::<Vec<Recorded>>(), [down, up]);
        for (text, line, word) in [
            ("1 40 up\n0.5 40 up", 2, "before the line above"),
            ("1 0 up", 1, "1 to 2^30"),
            ("1 40 left", 1, "up, down"),
            ("1 40", 1, "expected 3"),
            ("", 0, "no lines"),
        ] {
            let error = NamedFile::read("x", text, MESSAGES).unwrap_err();
            assert!(error.line == line && error.message.contains(word), "{text}: {error:?}");
        }
    }
}
