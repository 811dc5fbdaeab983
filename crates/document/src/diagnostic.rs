//! Errors in a scenario: place, value found, values allowed, and the cure.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::json;

use crate::tree::Origin;
use crate::work;

/// Declares the codes once: variant, stable code, what it means.
macro_rules! codes {
    ($($name:ident $code:literal $doc:literal)*) => {
        /// The kinds of mistakes. The codes are stable: a retired one is not used again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $(#[doc = $doc] $name,)* }

        impl Code {
            /// All, in the order of their codes.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The stable code, such as `E002`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code,)* }
            }

            /// The kind of mistake with this code.
            pub fn of(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == code)
            }

            /// One line that says what the code means.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$name => $doc,)* }
            }
        }
    };
}

codes! {
    Syntax "E001" "not TOML"
    UnknownKey "E002" "a key that does not exist here"
    MissingKey "E003" "a compulsory key is missing"
    WrongType "E004" "a value of the wrong type"
    BadValue "E005" "a value without its unit, outside its bounds, or at odds with another option of its algorithm"
    UnknownWord "E006" "a word, profile or algorithm that does not exist"
    BadName "E007" "a name with characters that names cannot have"
    DuplicateName "E008" "two things with the same name"
    UnknownName "E009" "a reference to something that does not exist"
    LikeCircle "E010" "`like` leads back to where it started"
    NotApplicable "E011" "a key that the chosen kind does not have"
    Contradiction "E012" "keys that exclude each other"
    NothingToRun "E013" "no flow, or nothing that joins nodes"
    NoRoute "E014" "nodes that no route joins"
    SameNode "E015" "two ends that are the same node"
    BadVia "E016" "`via` is not a way from the sender to the receiver"
    NeverHappens "E017" "a time at or after the end of the run"
    StopBeforeStart "E018" "a flow that stops before it starts"
    TooMany "E019" "more of something than can be simulated sensibly"
    BadOverride "E020" "an override that does not address a key"
    WaitCircle "E021" "flows that wait for each other"
    BadFile "E022" "a file that cannot be read or holds something else than it should"
    Unsupported "E023" "something that the chosen back end cannot run"
    Internal "E099" "a fault of Ropewalk and not of the scenario"
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// File name as given, or `--set` for an override.
    pub file: String,
    /// Line, from 1; for an override its position among them.
    pub line: usize,
    /// Column in characters, from 1; for an override within its `KEY=VALUE`.
    pub column: usize,
    /// Dotted path of the key such as `path.beam1.up.rate`; may be empty.
    pub key: String,
    /// Kind of error.
    pub code: Code,
    /// The value found and the allowed ones.
    pub message: String,
    /// The cure.
    pub help: String,
    /// The line of the source.
    pub source: String,
    /// Characters of `source` from `column` on that are meant, at least 1.
    pub width: usize,
}

/// Mistakes that are printed; `to_json` has all that are kept.
const SHOWN: usize = 500;
/// Mistakes of one file that are kept: a file of 10 MB has room for a million, of some kB each in memory.
pub const KEPT: usize = 50_000;

/// The mistakes of a scenario, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// There were more than are kept.
    cut: bool,
}

impl Diagnostics {
    /// Mistakes of one file, sorted by place; `None` if there are none.
    pub(crate) fn sorted(mut found: Vec<Diagnostic>) -> Option<Self> {
        found.sort_by_key(|d| (d.line, d.column, d.code));
        (!found.is_empty()).then(|| Self::readable(found, false))
    }

    /// Keeps values of the file that a message repeats to a length that can be read.
    fn readable(mut found: Vec<Diagnostic>, cut: bool) -> Self {
        for diagnostic in &mut found {
            for text in [&mut diagnostic.key, &mut diagnostic.message, &mut diagnostic.help] {
                *text = shortened(text);
            }
        }
        Self { list: found, cut }
    }

    /// In the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Number of mistakes that are kept.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never true of a returned value.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A list of objects with the fields of [`Diagnostic`].
    pub fn to_json(&self) -> serde_json::Value {
        let one = |d: &Diagnostic| {
            json!({
                "file": d.file, "line": d.line, "column": d.column, "key": d.key, "code": d.code.as_str(),
                "message": d.message, "help": d.help, "source": d.source, "width": d.width,
            })
        };
        self.list.iter().map(one).collect()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        writeln!(f, "{} [{}]", self.message, self.code.as_str())?;
        if !self.source.is_empty() {
            let number = if self.file == OVERRIDE { String::new() } else { self.line.to_string() };
            let gutter = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret stands below its text.
            let before = self.source.chars().take(self.column - 1);
            let indent: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
            writeln!(f, "  {number} | {}", self.source)?;
            writeln!(f, "  {gutter} | {indent}{}", "^".repeat(self.width))?;
        }
        write!(f, "  fix: {}", self.help)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.list.iter().take(SHOWN).enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        match self.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more if self.cut => write!(f, "\nand more than {more} more"),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}

/// Replaces the file name in the diagnostics of overrides.
pub const OVERRIDE: &str = "--set";

/// Characters of a line of source that are shown.
const LONGEST: usize = 300;
/// Characters of a word of a message that are shown: names and values can be as long as a file. A path of an installed
/// example stays whole, for a cure may be a command with it.
const LONGEST_WORD: usize = 200;
/// Characters of a message that are shown.
const LONGEST_MESSAGE: usize = 4000;

/// The texts that diagnostics point into, and the diagnostics found so far.
#[derive(Debug)]
pub struct Report<'a> {
    file: &'a str,
    text: &'a str,
    sets: Vec<String>,
    found: Vec<Diagnostic>,
    /// Mistakes in other files.
    foreign: Vec<Diagnostic>,
    /// Positions in `found`, by place.
    known: BTreeMap<Origin, Vec<usize>>,
    /// Mistakes found when `found` had [`KEPT`].
    beyond: usize,
    /// Where the lines of `text` begin: finding a place takes no longer in a long file.
    lines: Lines,
    /// Texts of further files that the tree was made of, by their offsets.
    included: Vec<Included>,
}

/// A text whose offsets begin behind those of the texts before it.
#[derive(Debug)]
struct Included {
    file: String,
    text: String,
    start: usize,
    lines: Lines,
}

impl<'a> Report<'a> {
    /// For the text of `file` after the overrides `sets`.
    pub fn new(file: &'a str, text: &'a str, sets: &[(String, String)]) -> Self {
        let sets = sets.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Self {
            file,
            text,
            sets,
            found: Vec::new(),
            foreign: Vec::new(),
            known: BTreeMap::new(),
            beyond: 0,
            lines: Lines::of(text),
            included: Vec::new(),
        }
    }

    /// Makes the `text` of another `file` one that diagnostics point into. An offset in it counts from the one returned.
    pub fn include(&mut self, file: &str, text: &str) -> usize {
        let end = |one: &Included| one.start + one.text.len();
        let start = self.included.last().map_or(self.text.len(), end) + 1;
        let (file, text) = (file.to_owned(), text.to_owned());
        self.included.push(Included { file, lines: Lines::of(&text), text, start });
        start
    }

    /// The file at this offset, and the place in it.
    fn place(&self, start: usize, end: usize) -> (&str, Place) {
        match self.included.iter().rev().find(|one| one.start <= start) {
            Some(one) => {
                (&one.file, Place::of(&one.text, &one.lines, start - one.start..end.max(start) - one.start))
            }
            None => (self.file, Place::of(self.text, &self.lines, start..end)),
        }
    }

    /// Position of a file among those that were included; that of the first text is 0.
    fn rank(&self, file: &str) -> usize {
        self.included.iter().position(|one| one.file == file).map_or(0, |index| index + 1)
    }

    /// Adds an error unless the same is known: inherited keys are checked again where they are used.
    pub fn add(&mut self, at: Origin, code: Code, key: &str, message: String, help: String) {
        if self.is_full() {
            self.beyond += 1;
            return;
        }
        let here = self.known.entry(at).or_default();
        work::add(here.len());
        if here.iter().any(|known| self.found[*known].code == code && self.found[*known].message == message) {
            return;
        }
        here.push(self.found.len());
        let (file, first_line, place) = match at {
            Origin::File { start, end } => {
                let (file, place) = self.place(start, end);
                (file, 0, place)
            }
            Origin::Default => (self.file, 0, Place::of(self.text, &self.lines, 0..0)),
            Origin::Set { index, start, end } => {
                let text = self.sets.get(index).map_or("", String::as_str);
                (OVERRIDE, index, Place::of(text, &Lines::of(text), start..end))
            }
        };
        let diagnostic = Diagnostic {
            file: file.into(),
            line: first_line + place.line,
            column: place.column,
            key: key.into(),
            code,
            message,
            help,
            source: place.source,
            width: place.width,
        };
        self.found.push(diagnostic);
    }

    /// Adds a mistake in another file, once.
    pub fn add_foreign(&mut self, diagnostic: Diagnostic) {
        if !self.foreign.contains(&diagnostic) {
            self.foreign.push(diagnostic);
        }
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of mistakes found so far.
    pub fn len(&self) -> usize {
        self.found.len() + self.foreign.len() + self.beyond
    }

    /// True if no further mistake is kept, so that its cure need not be looked for.
    pub fn is_full(&self) -> bool {
        self.found.len() >= KEPT
    }

    /// Everything found, in the order of the files; then overrides, then other files.
    pub fn finish(self) -> Diagnostics {
        let places: usize = self.known.values().map(Vec::len).sum();
        debug_assert_eq!(places, self.found.len(), "each mistake is known by its place");
        let mut ranked: Vec<(usize, Diagnostic)> =
            self.found.iter().map(|one| (self.rank(&one.file), one.clone())).collect();
        ranked.sort_by_key(|(rank, d)| (d.file == OVERRIDE, *rank, d.line, d.column, d.code));
        let mut list: Vec<Diagnostic> = ranked.into_iter().map(|(_, one)| one).collect();
        list.extend(self.foreign);
        Diagnostics::readable(list, self.beyond > 0)
    }
}

/// Where the lines of a text begin, and how many characters it has up to there: the column of a place takes no longer in
/// a long line.
#[derive(Debug)]
struct Lines {
    /// Offsets in bytes; never empty.
    starts: Vec<usize>,
    /// Characters before each whole multiple of [`STRIDE`] bytes.
    characters: Vec<usize>,
}

/// Bytes between two entries of `Lines::characters`.
const STRIDE: usize = 1024;

impl Lines {
    fn of(text: &str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(end, _)| end + 1)).collect();
        let mut so_far = 0;
        let before = |block: &[u8]| {
            so_far += characters_begun(block);
            so_far
        };
        let characters = std::iter::once(0).chain(text.as_bytes().chunks(STRIDE).map(before)).collect();
        Self { starts, characters }
    }

    /// Characters of the text before an offset.
    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / STRIDE;
        let rest = &text.as_bytes()[block * STRIDE..offset];
        work::add(rest.len());
        self.characters[block] + characters_begun(rest)
    }
}

/// Characters whose first byte is among these.
fn characters_begun(bytes: &[u8]) -> usize {
    const CONTINUES: u8 = 0b1000_0000;
    bytes.iter().filter(|byte| **byte & 0b1100_0000 != CONTINUES).count()
}

/// The text with the middle of long words, and of a long text, left out.
fn shortened(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace).map(|word| without_middle(word, LONGEST_WORD));
    without_middle(&words.collect::<String>(), LONGEST_MESSAGE)
}

fn without_middle(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let start: String = text.chars().take(longest / 2).collect();
    let end: String = text.chars().skip(count - longest / 4).collect();
    format!("{start}…({count} characters)…{end}")
}

/// A span with line and column as editors count them.
struct Place {
    line: usize,
    column: usize,
    width: usize,
    source: String,
}

impl Place {
    /// `lines` are those of `text`.
    fn of(text: &str, lines: &Lines, span: std::ops::Range<usize>) -> Self {
        let boundary = |offset: usize| {
            (0..=offset.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or_default()
        };
        let (start, end) = (boundary(span.start), boundary(span.end.max(span.start)));
        let number = lines.starts.partition_point(|line| *line <= start);
        let line_start = lines.starts[number - 1];
        let line_end = lines.starts.get(number).map_or(text.len(), |next| next - 1);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let visible = |c: char| if c.is_control() && c != '\t' { ' ' } else { c };
        let column = 1 + lines.characters_before(text, start) - lines.characters_before(text, line_start);
        // A place far out in a long line is told by its column alone.
        let shown = if column > LONGEST { 0 } else { LONGEST };
        let meant = text[start..end.min(line_end).max(start)].trim_end();
        let width = meant.chars().take(shown.max(column) + 1 - column).count();
        work::add(width + shown);
        Self {
            line: number,
            column,
            width: width.max(1),
            source: line.chars().take(shown).map(visible).collect(),
        }
    }
}

/// The candidate that was most likely meant by `word`.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_lowercase();
    // One wrong letter in three or four, two in six; a single letter is like any other.
    let limit = match word.chars().count() {
        0 | 1 => 0,
        n => (n / 3).max(1),
    };
    let characters = word.chars().count();
    // The lengths tell most words apart, so that few are compared letter by letter.
    let distance = |candidate: &str| {
        let lower = candidate.to_lowercase();
        let apart = lower.chars().count().abs_diff(characters);
        let part = candidate.starts_with(&word) || candidate.ends_with(&word) || word.starts_with(candidate);
        let part = part && word.len().min(candidate.len()) >= 3;
        if apart > limit {
            return part.then_some(apart);
        }
        work::add(characters);
        let distance = strsim::osa_distance(&word, &lower);
        (part || distance <= limit).then_some(distance)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| distance(candidate).map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean ...?" where something is near, and always what is allowed.
pub fn suggest<'c>(word: &str, what: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    const SHOWN: usize = 40;
    // A file can have as many mistakes as names: the work for each of them is bounded.
    const COMPARED: usize = 256;
    let mut candidates = candidates.into_iter();
    let all: Vec<&str> = candidates.by_ref().take(COMPARED).collect();
    let beyond = candidates.next().is_some();
    let guess =
        nearest(word, all.iter().copied()).map_or(String::new(), |near| format!("did you mean `{near}`? "));
    let more = match all.len() {
        _ if beyond => ", and others".to_owned(),
        n if n > SHOWN => format!(", and {} more", n - SHOWN),
        _ => String::new(),
    };
    match all.len() {
        0 => "there is none to choose from".into(),
        n => format!("{guess}{what}: {}{more}", all[..n.min(SHOWN)].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shortened() {
        let mut report = Report::new("a.toml", "key = 1", &[]);
        let (name, words) = ("n".repeat(100_000), "a ".repeat(50_000));
        let at = Origin::File { start: 0, end: 3 };
        report.add(at, Code::BadName, &format!("flow.{name}.mss"), format!("found \"{name}\""), words);
        let told = report.finish().to_string();
        assert!(told.contains("n.mss: found \"nnn"), "{told}");
        assert!(told.contains("…(100002 characters)…"), "{told}");
        assert!(told.chars().count() < 4000, "{}", told.len());
    }

    #[test]
    fn an_included_text_has_places_of_its_own() {
        let mut report = Report::new("a.toml", "a = 1\nb = 2", &[]);
        let at = |start, end| Origin::File { start, end };
        let first = report.include("b.toml", "x = 1\ny = 2");
        let second = report.include("c.toml", "z = 3");
        for (start, end) in [(second, second + 1), (first + 6, first + 7), (6, 7), (first, first + 1)] {
            report.add(at(start, end), Code::BadName, "", "wrong".into(), "mend it".into());
        }
        let found: Vec<_> =
            report.finish().iter().map(|d| (d.file.clone(), d.line, d.source.clone())).collect();
        let told = |file: &str, line, source: &str| (file.to_owned(), line, source.to_owned());
        assert_eq!(
            found,
            [
                told("a.toml", 2, "b = 2"),
                told("b.toml", 1, "x = 1"),
                told("b.toml", 2, "y = 2"),
                told("c.toml", 1, "z = 3")
            ]
        );
    }

    #[test]
    fn messages_of_usual_length_are_kept() {
        let text = format!("found \"{}\"; allowed: {}", "ü".repeat(96), "tcp, ".repeat(500));
        assert_eq!(shortened(&text), text);
        let path = format!("ropewalk run /home/{}/model.toml --set a=b", "x".repeat(150));
        assert_eq!(shortened(&path), path);
    }
}
