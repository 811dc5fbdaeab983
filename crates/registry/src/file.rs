//! Files that options name. A format says what such a file holds and reads its text; it belongs to whatever reads the
//! content, such as a model of links.
//!
//! Most formats are lines of text in columns, separated by blanks, commas or semicolons. Blank lines and
//! everything after a `#` are ignored. Times are seconds or carry a unit.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use units::Nanos;

/// The content of a file, as its format has read it.
pub type Content = Arc<dyn Any + Send + Sync>;

/// A format of files. Formats are told apart by what they hold.
#[derive(Clone, Copy)]
pub struct FileFormat {
    /// Content of a file, in one line for messages and docs.
    pub what: &'static str,
    /// Reads the text of a file.
    pub parse: fn(&str) -> Result<Content, FileError>,
}

impl PartialEq for FileFormat {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl fmt::Debug for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileFormat({})", self.what)
    }
}

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Line from 1; 0: the file as a whole.
    pub line: usize,
    /// The text that was found, and why it is wrong.
    pub message: String,
}

impl FileError {
    /// About the file as a whole.
    pub fn whole(message: &str) -> Self {
        Self { line: 0, message: message.into() }
    }
}

/// A file that has been read. Copies share its content.
#[derive(Clone)]
pub struct NamedFile {
    path: String,
    /// The path for messages.
    shown: String,
    text: Arc<str>,
    content: Content,
}

impl NamedFile {
    /// The file at `path`, which holds `text`.
    ///
    /// # Errors
    /// The first line that is wrong, or what is wrong with the whole.
    pub fn read(path: &str, text: &str, format: FileFormat) -> Result<Self, FileError> {
        // Some editors put a mark of the byte order in front.
        let content = (format.parse)(text.strip_prefix('\u{feff}').unwrap_or(text))?;
        Ok(Self { path: path.into(), shown: path.into(), text: text.into(), content })
    }

    /// The same file, called `shown` in messages.
    #[must_use]
    pub fn shown_as(mut self, shown: &str) -> Self {
        self.shown = shown.into();
        self
    }

    /// Name in messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Its path as given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value that its format parsed.
    ///
    /// # Panics
    /// If the option was declared with a format that makes another type.
    pub fn content<T: Any + Send + Sync>(&self) -> Arc<T> {
        self.try_content().unwrap_or_else(|| panic!("{}: not a {}", self.path, std::any::type_name::<T>()))
    }

    /// The value that its format parsed, if it is of this type.
    pub fn try_content<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(&self.content).downcast().ok()
    }
}

/// Files are equal if path and text are: the format follows from the option.
impl PartialEq for NamedFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl fmt::Debug for NamedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedFile({}, {} bytes)", self.path, self.text.len())
    }
}

/// Reads lines of `columns` columns, at least one line. `row` gets the columns of a line and the row before it.
///
/// # Errors
/// The first line that is wrong, or that there is none.
pub fn rows<R>(
    text: &str,
    columns: usize,
    row: impl Fn(&[&str], Option<&R>) -> Result<R, String>,
) -> Result<Vec<R>, FileError> {
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let found: Vec<&str> =
            line.split([' ', '\t', ',', ';']).filter(|column| !column.is_empty()).collect();
        let read = if found.len() == columns {
            row(&found, rows.last())
        } else {
            Err(format!("number of columns: found {}; expected {columns}", found.len()))
        };
        rows.push(read.map_err(|message| FileError { line: index + 1, message })?);
    }
    if rows.is_empty() {
        return Err(FileError::whole("the file has no lines"));
    }
    Ok(rows)
}

/// A time in seconds, or with its unit.
///
/// # Errors
/// The text that was found, and why it is wrong.
pub fn seconds(text: &str) -> Result<Nanos, String> {
    if let Ok(time) = text.parse::<Nanos>()
        && time != Nanos(u64::MAX)
    {
        return Ok(time);
    }
    match text.parse::<f64>() {
        Ok(x) if x < 0.0 => Err(format!("found the time {text}, which is negative")),
        // A century: a later time is a mistake.
        Ok(x) if x < 3.2e9 => Ok(Nanos::from_secs_f64(x)),
        _ => Err(format!("found \"{text}\", which is not a time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: FileFormat = FileFormat {
        what: "times",
        parse: |text| Ok(Arc::new(rows(text, 1, |columns, _: Option<&Nanos>| seconds(columns[0]))?)),
    };

    #[test]
    fn a_mark_of_the_byte_order_does_not_count() {
        let file = NamedFile::read("x", "\u{feff}0\n1 # end\n", TIMES).unwrap();
        assert_eq!(*file.content::<Vec<Nanos>>(), [Nanos::ZERO, Nanos::from_secs(1)]);
        // One inside of the text does.
        assert_eq!(NamedFile::read("x", "0\n\u{feff}1", TIMES).unwrap_err().line, 2);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, message) in [
            ("# nothing\n", 0, "no lines"),
            ("0\n\n1 2", 3, "number of columns: found 2; expected 1"),
            ("later", 1, "not a time"),
            ("-1", 1, "negative"),
        ] {
            let error = NamedFile::read("x", text, TIMES).unwrap_err();
            assert!(error.line == line && error.message.contains(message), "{text:?}: {error:?}");
        }
    }

    #[test]
    #[should_panic(expected = "x: not a")]
    fn content_of_another_format_is_a_bug() {
        NamedFile::read("x", "0", TIMES).unwrap().content::<String>();
    }
}
