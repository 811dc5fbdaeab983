//! The scenario files that come with Ropewalk.

use std::path::{Path, PathBuf};

use scenario::{Document, Registries};

fn shipped() -> Vec<(PathBuf, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "toml"));
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn each_parses_and_survives_its_own_expansion() {
    let registries = Registries::builtin();
    for (path, text) in shipped() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let document = Document::parse(&text, &name, &[], &registries).unwrap_or_else(|e| panic!("{e}"));
        let expanded = document.to_toml();
        let again =
            Document::parse(&expanded, &name, &[], &registries).unwrap_or_else(|e| panic!("{e}\n{expanded}"));
        assert_eq!(document.scenario, again.scenario, "{name}");
        assert_eq!(expanded, again.to_toml(), "{name}");
    }
}
