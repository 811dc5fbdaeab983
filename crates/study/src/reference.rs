//! The JSON Schema and the reference page of study files.

use document::keys::{Kind, Scalar};
use document::reference::sections;
use document::vocabulary::NoAlgorithms;
use serde_json::Value as Json;

use crate::keys::STUDY;

const INTRODUCTION: &str = "\
# Keys of study files

<!-- Generated from the key tables of `crates/study`; a test says how to make it anew. -->

A study file is a TOML file. What a study is and does stands on [a page of its own](studies.md). Unknown keys are errors;
all mistakes are reported at once as `FILE:LINE:COLUMN: KEY`, with the value found, the values allowed and the cure, and
have the [codes of scenarios](scenario.md#error-codes). Keys of a scenario are dotted and stand in quotes; their values are
written as in the scenario, and act as after `--set`.
";

/// The page in Markdown.
pub fn reference_markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    sections(&mut out, &STUDY);
    out
}

/// The top level of a kind of file, by the name of the kind; `any`: whatever TOML can say.
pub fn kind_of(name: &str) -> Option<Kind> {
    match name {
        "any" => Some(Kind::Map(&Kind::Scalar(Scalar::Any))),
        "study" => Some(Kind::Table(&STUDY)),
        _ => None,
    }
}

/// The JSON Schema (draft 2020-12) of study files, for editors.
pub fn schema() -> Json {
    document::schema("Ropewalk study", &STUDY, &NoAlgorithms)
}
