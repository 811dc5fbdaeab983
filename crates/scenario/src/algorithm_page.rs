//! The reference page that lists every algorithm, generated from the registries, and the rows that the page of each
//! algorithm must have.

use std::fmt::Write;

use registry::{Entry, OptionKind, OptionSpec};

use crate::registries::{NO_LOSS, Registries, catalogue};
use document::keys::{Kind, Scalar};
use document::reference::sentence;
use document::vocabulary::{Catalogue, Vocabulary as _};

const INTRODUCTION: &str = "\
# Algorithms

<!-- Generated from the registries; a test says how to make it anew. -->

Everything that a scenario chooses by name, as `ropewalk list` prints it. A name leads to its page: scope, formula,
parameters, differences from the source, validation, references. A `~` after a name means that fidelity to the source
is not claimed: the source leaves so much open that results need not agree with it.
";

/// One page of the reference documentation: its file, and the algorithms that it is about.
#[derive(Clone, Debug)]
pub struct AlgorithmPage {
    /// Relative to `docs/reference/`.
    pub file: String,
    /// Entries of the page.
    pub entries: Vec<Entry>,
}

/// A family whose algorithms have a page each, in a folder of their own.
struct Family {
    catalogue: Catalogue,
    folder: &'static str,
    /// Algorithms that differ by one rule share the page of another: `(name, page)`.
    shared: &'static [(&'static str, &'static str)],
}

const FAMILIES: &[Family] = &[
    Family {
        catalogue: catalogue::CONGESTION,
        folder: "congestion",
        shared: &[("vegas_linux", "vegas"), ("rpv2", "rpv1"), ("mptcp_like", "rpv1")],
    },
    Family { catalogue: catalogue::SCHEDULER, folder: "schedulers", shared: &[] },
    Family { catalogue: catalogue::PATH_MANAGER, folder: "path-managers", shared: &[] },
    Family { catalogue: catalogue::RATE, folder: "rates", shared: &[] },
    Family {
        catalogue: catalogue::DELAY,
        folder: "delays",
        shared: &[("uniform", "jitter"), ("normal", "jitter"), ("pareto", "jitter")],
    },
    Family { catalogue: catalogue::QUEUE, folder: "queues", shared: &[] },
    Family {
        catalogue: catalogue::LOSS,
        folder: "loss",
        shared: &[
            ("gilbert", "gilbert_elliott"),
            ("bursty", "gilbert_elliott"),
            ("gilbert_elliott_time", "gilbert_elliott"),
            ("gilbert_time", "gilbert_elliott"),
            ("bursty_time", "gilbert_elliott"),
            ("lutz", "land_mobile"),
            ("perez_fontan", "land_mobile"),
            ("list", "listed"),
            ("trace", "listed"),
            ("series", "listed"),
        ],
    },
];

impl Family {
    fn file(&self, entry: &Entry) -> String {
        let stem =
            self.shared.iter().find(|(name, _)| *name == entry.name).map_or(entry.name, |(_, page)| page);
        format!("{}/{stem}.md", self.folder)
    }
}

/// The pages that describe the algorithms of `registries`.
pub fn algorithm_pages(registries: &Registries) -> Vec<AlgorithmPage> {
    let mut pages: Vec<AlgorithmPage> = Vec::new();
    for family in FAMILIES {
        for entry in registries.all(family.catalogue).into_iter().filter(|e| e.name != NO_LOSS) {
            let file = family.file(&entry);
            match pages.iter_mut().find(|page| page.file == file) {
                Some(page) => page.entries.push(entry),
                None => pages.push(AlgorithmPage { file, entries: vec![entry] }),
            }
        }
    }
    pages
}

/// Allowed values of an option, in words.
pub fn allowed(kind: OptionKind) -> String {
    Kind::Scalar(Scalar::Plain(kind)).what()
}

/// The row of `option` in the table of parameters: option, default, allowed values, meaning.
pub fn parameter_row(option: &OptionSpec) -> String {
    let default = option.default.map_or("compulsory", |text| text);
    let allowed = allowed(option.kind);
    format!("| `{}` | {default} | {allowed} | {} |", option.name, option.doc.replace('|', "\\|"))
}

/// The page in Markdown, with the algorithms of `registries`.
pub fn algorithms_markdown(registries: &Registries) -> String {
    let mut out = INTRODUCTION.to_owned();
    for family in FAMILIES {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n## {}s\n\n", sentence(family.catalogue.what));
        let _ = writeln!(
            out,
            "| Name | What it is | Source | Notes | Options and defaults |\n|---|---|---|---|---|"
        );
        for entry in registries.all(family.catalogue) {
            let name = if entry.name == NO_LOSS {
                format!("`{}`", entry.name)
            } else {
                format!("[`{}`]({})", entry.name, family.file(&entry))
            };
            let _ = writeln!(out, "| {name}{} |", cells(&entry));
        }
    }
    out
}

fn cells(entry: &Entry) -> String {
    let mark = if entry.claims_fidelity() { "" } else { " ~" };
    let option = |o: &OptionSpec| format!("`{}` = {}", o.name, o.default.unwrap_or("compulsory"));
    let options: Vec<String> = entry.options.iter().map(option).collect();
    format!("{mark} | {} | {} | {} | {}", entry.summary, entry.source, entry.notes, options.join(", "))
}
