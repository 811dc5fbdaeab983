//! Functions that several tests share.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use scenario::{Diagnostics, Document, Registries};

/// A small file without mistakes; tests change one line of it.
pub const BASE: &str = r#"duration = "30s"

[[path]]
name = "beam1"
up   = { rate = "3Mbit/s", delay = "250ms" }
down = { rate = "10Mbit/s", delay = "250ms" }

[[flow]]
name = "upload"
from = "terminal"
to = "server"
transport = { kind = "mptcp" }

[[event]]
at = "12s"
link = "beam1"
set = { up = false }
"#;

/// Endpoints, and things that happen to connections.
pub const MULTIPATH: &str = r#"duration = "30s"

[[path]]
name = "beam1"
both = { rate = "3Mbit/s", delay = "250ms" }

[[path]]
name = "beam2"
like = "beam1"

[[path]]
name = "beam3"
like = "beam1"

[[flow]]
name = "upload"
from = "terminal"
to = "server"

[flow.transport]
kind = "mptcp"
path_manager = "in-kernel"
endpoints = [
  { path = "beam2", flags = ["subflow", "backup"] },
  { path = "beam1", end = "server", flags = ["signal"] },
]

[[flow]]
name = "other"
like = "upload"

[[event]]
at = "3s"
flow = "upload"
do = { join = "beam2" }

[[event]]
at = "4s"
flow = "upload"
do = { regular = "beam2" }

[[event]]
at = "5s"
flow = "upload"
do = { leave = "beam1", end = "server" }

[[event]]
at = "6s"
flow = "upload"
do = { abort = "reset" }
"#;

/// Two nodes with a router between them.
pub const ROUTED: &str = r#"duration = "30s"

[[node]]
name = "a"
forward = false

[[node]]
name = "r"
count = 2

[[node]]
name = "b"

[[mesh]]
name = "left"
left = ["a"]
right = ["r"]
both = { rate = "3Mbit/s", delay = "25ms" }

[[link]]
name = "one"
ends = ["r1", "b"]
both = { rate = "3Mbit/s", delay = "25ms" }

[[link]]
name = "two"
like = "one"
ends = ["r2", "b"]

[[flow]]
name = "f"
from = "a"
to = "b"
transport = { kind = "tcp" }
"#;

pub fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Document, Diagnostics> {
    parse_as("test.toml", text, sets)
}

fn parse_as(file: &str, text: &str, sets: &[(&str, &str)]) -> Result<Document, Diagnostics> {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Document::parse(text, file, &sets, &Registries::builtin())
}

/// The document, or a panic with all mistakes. Files that it names lie beside the shipped scenarios.
pub fn good(text: &str, sets: &[(&str, &str)]) -> Document {
    let file = root().join("scenarios/test.toml");
    parse_as(&file.to_string_lossy(), text, sets).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Expansion parses to the same scenario and to itself.
pub fn assert_round_trip(document: &Document) {
    let expanded = document.to_toml();
    let again = good(&expanded, &[]);
    assert_eq!(document.scenario, again.scenario, "{expanded}");
    assert_eq!(expanded, again.to_toml());
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The scenario files that come with Ropewalk: name and text.
pub fn shipped() -> Vec<(String, String)> {
    let files = files("scenarios");
    assert!(files.len() >= 3, "{files:?}");
    files
}

/// All TOML files of a folder of the repository: name and text, by name.
pub fn files(folder: &str) -> Vec<(String, String)> {
    let dir = root().join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "toml"));
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(read).collect()
}
