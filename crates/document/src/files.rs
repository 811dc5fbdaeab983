//! Files that a scenario names, read once: measured rates, delays, losses.
//!
//! Paths are relative to the folder of the scenario file. A text of several lines is no path but the content itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use registry::{FileFormat, NamedFile};

use crate::diagnostic::Code;
use crate::scalar::Fault;

/// A larger file is not a measurement.
const MAX_BYTES: u64 = 1 << 28;

/// A file, or what is wrong with it and the cure.
type Read = Result<NamedFile, (String, String)>;

/// The files of one scenario.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    /// By path and by what the format holds.
    read: RefCell<BTreeMap<(String, &'static str), Read>>,
}

impl Files {
    /// For the scenario file of this name.
    pub fn beside(scenario: &str) -> Self {
        let folder = Path::new(scenario).parent().map(Path::to_owned).unwrap_or_default();
        Self { folder, read: RefCell::default() }
    }

    /// True if no file was named.
    pub fn is_empty(&self) -> bool {
        self.read.borrow().is_empty()
    }

    /// The content of `path`, or what is wrong with it.
    pub fn load(&self, path: &str, format: FileFormat) -> Result<NamedFile, Fault> {
        let mut read = self.read.borrow_mut();
        match read.entry((path.to_owned(), format.what)).or_insert_with(|| self.read(path, format)) {
            Ok(file) => Ok(file.clone()),
            Err((message, help)) => {
                Err(Fault { code: Code::BadFile, message: message.clone(), help: help.clone() })
            }
        }
    }

    /// The text of a file that has been read without a mistake, of several lines in any case.
    pub fn text(&self, path: &str, format: FileFormat) -> Option<String> {
        let read = self.read.borrow();
        let text = read.get(&(path.to_owned(), format.what))?.as_ref().ok()?.text();
        Some(if text.contains('\n') { text.to_owned() } else { format!("{text}\n") })
    }

    fn read(&self, path: &str, format: FileFormat) -> Read {
        if path.contains('\n') {
            return Self::parse(path, "the text", path, format);
        }
        let full = self.folder.join(path);
        let shown = full.display();
        let cannot = |why: &str| {
            let help = "give the path of a text file, from the folder of the scenario".to_owned();
            (format!("cannot read \"{shown}\": {why}"), help)
        };
        let bytes = content(&full, MAX_BYTES).map_err(|e| cannot(&e.to_string()))?;
        let text = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text,
            Ok(text) => {
                let line = text.split('\0').next().unwrap_or_default().matches('\n').count() + 1;
                let message = format!("{shown}:{line}: the file is binary, not text");
                return Err((message, format!("write {}", format.what)));
            }
            Err(error) => {
                let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
                let message = format!("{shown}:{line}: the file is binary, not text");
                return Err((message, format!("write {}", format.what)));
            }
        };
        Self::parse(path, &shown.to_string(), &text, format)
    }

    fn parse(path: &str, shown: &str, text: &str, format: FileFormat) -> Read {
        NamedFile::read(path, text, format).map(|file| file.shown_as(shown)).map_err(|error| {
            let place = if error.line == 0 { shown.to_owned() } else { format!("{shown}:{}", error.line) };
            (format!("{place}: {}", error.message), format!("write {}", format.what))
        })
    }
}

/// The content of a regular file of at most `largest` bytes. Pipes and devices may block or never end: they are not read.
///
/// # Errors
/// It cannot be read, or is none.
pub fn content(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    let about = std::fs::metadata(path)?;
    match about.len() {
        _ if !about.is_file() => Err(io::Error::other("it is not a file")),
        length if length > largest => Err(io::Error::other(format!("it is larger than {largest} bytes"))),
        length => read_exactly(path, length),
    }
}

/// The content of a file of `length` bytes. Special files such as those of /proc say that they are empty: they are not
/// read, since some never end or block.
fn read_exactly(path: &Path, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if length > 0 {
        File::open(path)?.take(length + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 == length {
        return Ok(bytes);
    }
    Err(io::Error::other(format!("it has another size than the {length} bytes that its directory says")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_long_as_it_says() {
        let path = std::env::temp_dir().join(format!("ropewalk-files-{}", std::process::id()));
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_exactly(&path, 5).unwrap(), b"12345");
        for wrong in [4, 6] {
            let error = read_exactly(&path, wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("the {wrong} bytes")), "{error}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_special_file_without_a_size_is_not_read() {
        // It does not end.
        assert_eq!(read_exactly(Path::new("/dev/zero"), 0).unwrap(), b"");
    }
}
