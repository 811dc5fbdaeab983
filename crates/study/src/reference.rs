//! JSON Schemas and reference pages of the files that this crate reads.

use document::keys::{Kind, Scalar};
use document::reference::{put, sections};
use document::vocabulary::NoAlgorithms;
use serde_json::Value as Json;

use crate::keys::STUDY;
use crate::reproduction::{CLAIMS, FIGURES, QUANTITIES, QUANTITY, REPRODUCTION};

/// Kinds of files: name and top-level keys.
const KINDS: [(&str, Kind); 5] = [
    ("study", Kind::Table(&STUDY)),
    ("reproduction", Kind::Table(&REPRODUCTION)),
    ("quantities", QUANTITIES),
    ("claims", Kind::Table(&CLAIMS)),
    ("figures", Kind::Table(&FIGURES)),
];

const STUDIES: &str = "\
# Keys of study files

<!-- Generated from the key tables of `crates/study`; a test says how to make it anew. -->

A study file is a TOML file. [A page of its own](studies.md) says what a study is and does. Unknown keys are errors;
all mistakes are reported at once as `FILE:LINE:COLUMN: KEY`, with the value found, the values allowed and the cure, and
have the [codes of scenarios](scenario.md#error-codes). Keys of a scenario are dotted and stand in quotes; their values are
written as in the scenario, and act as after `--set`.
";

const REPRODUCTIONS: &str = "\
# Keys of the files of a reproduction

<!-- Generated from the key tables of `crates/study`; a test says how to make it anew. -->

The purpose of the files, and the meaning of checks, are on [a page of their own](reproductions.md). Unknown keys are errors; all
mistakes are reported at once as `FILE:LINE:COLUMN: KEY`, with the value found, the values allowed and the cure, and have the
[codes of scenarios](scenario.md#error-codes). Studies have [a page of their own](study-file.md).
";

/// Generated pages: file in `docs/reference/` and Markdown.
pub fn reference_pages() -> [(&'static str, String); 2] {
    let mut studies = STUDIES.to_owned();
    sections(&mut studies, &STUDY, "Top level");
    let mut reproductions = REPRODUCTIONS.to_owned();
    for (title, section) in [
        ("`reproduction.toml`", &REPRODUCTION),
        ("`quantities.toml`", &QUANTITY),
        ("`claims.toml`", &CLAIMS),
        ("`figures.toml`", &FIGURES),
    ] {
        sections(&mut reproductions, section, title);
    }
    put(&mut reproductions, "");
    [("study-file.md", studies), ("reproduction-files.md", format!("{}\n", reproductions.trim_end()))]
}

/// Names of the kinds of files that have a schema, besides scenarios.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(name, _)| *name)
}

/// The top level of a kind of file, by the name of the kind; `any`: whatever TOML can say.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    let any = ("any", Kind::Map(&Kind::Scalar(Scalar::Any)));
    KINDS.into_iter().chain([any]).find(|(kind, _)| *kind == name).map(|(_, kind)| kind)
}

/// The JSON Schema (draft 2020-12) of a kind of file, for editors.
pub fn schema(name: &str) -> Option<Json> {
    let (_, kind) = KINDS.into_iter().find(|(kind, _)| *kind == name)?;
    Some(document::schema(&format!("Ropewalk {name}"), kind, &NoAlgorithms))
}
