//! Input of strangers: bytes that become scenario files, files that a scenario names, packets of a peer, or captures. Nothing may
//! panic, and what is accepted must mean something. Fuzzers call these functions, and so do tests with a corpus.

mod captured;
mod chunks;
mod file;
mod input;
mod mutate;
mod packets;
mod play;

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use registry::{OptionKind, OptionSpec};
use scenario::{Code, Document};
use serde_json::{Map, Value, json};

use crate::case::{Case, parse};
use crate::dice::Dice;
use crate::grammar::Grammar;
use crate::text::Text;
use crate::values::{self, Spread};

pub use captured::Corpus;
pub use chunks::chunks;
pub use mutate::mutated;
pub use packets::packets;

/// A capture file: each of its bytes is counted once per packet at most, whatever the file says; each packet is written without what says
/// whose it is, or left out.
///
/// # Panics
/// If figures contradict each other.
pub fn captures(bytes: &[u8]) {
    let reading = dissect::read_bytes(bytes);
    for subflow in reading.connections().flat_map(|connection| connection.subflows()) {
        for end in 0..2 {
            let counts = subflow.counts(end);
            assert!(counts.repeated_bytes <= counts.bytes && counts.segments <= counts.packets, "{counts:?}");
            // Chunks that SCTP sends again over another path are repetitions as well.
            let all = subflow.mode() == dissect::Mode::Association;
            let new = counts.bytes - if all { 0 } else { counts.repeated_bytes };
            assert!(counts.reinjected_bytes + counts.unmapped_bytes <= new, "{counts:?}");
        }
    }
    let (told, _) = dissect::anonymise_bytes(bytes, std::io::sink()).expect("a sink takes everything");
    assert_eq!(told.written + told.left_out, reading.options().packets, "each packet is written or left out");
    assert_eq!(
        dissect::tables(&reading).len(),
        trace::metrics::TABLES.len() + 3,
        "those of a run, and three more"
    );
}

/// The text of a scenario: refused with a message, or expanded to a text that means the same.
///
/// # Panics
/// If it is neither.
pub fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match parse(&text) {
        Ok(document) => {
            let shown = document.to_toml();
            let again = parse(&shown).unwrap_or_else(|mistakes| panic!("{mistakes}\n{shown}"));
            assert_eq!(document.scenario, again.scenario, "{shown}");
            assert_eq!(shown, again.to_toml());
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "refused without a reason");
            let told = mistakes.to_string();
            // By the code: a text that the message shows may contain any word.
            assert!(mistakes.iter().all(|mistake| mistake.code != Code::Internal), "{told}");
        }
    }
}

/// A file that a model or an application names: the first byte says which, the rest is its content. Accepted
/// content is run for a moment.
///
/// # Panics
/// If accepted content cannot be run.
pub fn data(bytes: &[u8]) {
    let Some((first, content)) = bytes.split_first() else { return };
    let (key, algorithm) = &READERS[usize::from(*first) % READERS.len()];
    // One line would be a path.
    let content = format!("{}\n", String::from_utf8_lossy(content));
    if let Some(document) = reading(key, algorithm, &content) {
        let never = AtomicBool::new(false);
        let options = lab::RunOptions {
            seeds: vec![1],
            jobs: std::num::NonZeroUsize::MIN,
            series: false,
            trace: false,
            capture: None,
        };
        let output = lab::run(&document.scenario, &options, &|_, _| (), &never);
        assert!(output.is_ok(), "{:?}\n{}", output.err(), document.to_toml());
    }
}

/// Made once: it takes longer than most inputs.
static READERS: LazyLock<Vec<(&str, registry::Entry)>> = LazyLock::new(readers);

/// Everything that reads a file: the key that it belongs to and its row.
fn readers() -> Vec<(&'static str, registry::Entry)> {
    let grammar = Grammar::builtin();
    let keys =
        [("rate", "rate-model"), ("delay", "delay-model"), ("loss", "loss-model"), ("app", "application")];
    let reads = |spec: &OptionSpec| matches!(spec.kind, OptionKind::File(_));
    let of = |(key, catalogue)| {
        let entries = grammar.catalogue(catalogue).unwrap_or_default().to_vec();
        let entries = entries.into_iter().filter(move |entry| entry.options.iter().any(reads));
        entries.map(move |entry| (key, entry))
    };
    keys.into_iter().flat_map(of).collect()
}

/// A small scenario in which one algorithm reads this content; `None` if it is refused.
fn reading(key: &str, algorithm: &registry::Entry, content: &str) -> Option<Document> {
    let spread = Spread { extreme: 0.0, rate: 1e6, time: 0.2 };
    let mut table = Map::new();
    table.insert("kind".into(), algorithm.name.into());
    for spec in algorithm.options {
        let value = match spec.kind {
            OptionKind::File(_) => Some(content.into()),
            // In the middle of Europe, with satellites above 0 degrees.
            OptionKind::Number { min, max } if min < 0.0 && max > 45.0 => Some(json!(45.0)),
            _ if spec.default.is_none() => values::option(&mut Dice::new(1), spec, spread),
            _ => None,
        };
        if let Some(value) = value {
            table.insert(spec.name.into(), value);
        }
    }
    let mut both = json!({ "rate": "1Mbit/s", "delay": "5ms" });
    let mut app: Value = "bulk".into();
    match key {
        "app" => app = table.into(),
        _ => both[key] = table.into(),
    }
    let tree = json!({
        "duration": "200ms",
        "path": [{ "name": "p", "both": both }],
        "flow": [{ "name": "f", "from": "terminal", "to": "server", "app": app, "transport": { "kind": "tcp" } }],
    });
    Case::of_tree(&tree).map(|case| case.document).or_else(|| {
        // The reason is told in words.
        let mistakes = parse(&Text::of(tree.as_object()?).toml).err()?;
        assert!(mistakes.iter().all(|mistake| mistake.code != Code::Internal), "{mistakes}");
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_accepts_a_file_of_its_format() {
        let spread = Spread { extreme: 0.0, rate: 1e6, time: 0.2 };
        for (key, algorithm) in readers() {
            let file = algorithm.options.iter().find_map(|spec| match spec.kind {
                OptionKind::File(format) => Some(format),
                _ => None,
            });
            let content = values::file(&mut Dice::new(1), file.unwrap(), spread).unwrap();
            assert!(reading(key, &algorithm, &content).is_some(), "{}\n{content}", algorithm.name);
            assert!(reading(key, &algorithm, "\u{1}").is_none(), "{}", algorithm.name);
        }
    }
}
