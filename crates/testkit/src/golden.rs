//! Golden traces: text that a person can read, compared line by line.

use std::path::Path;

/// Compares `actual` with the file `name` under `tests/golden` of the crate at `manifest_dir`. With
/// `ROPEWALK_BLESS=1` in the environment the file is rewritten instead; that belongs in a commit of its own,
/// whose message says why results moved.
///
/// # Panics
/// If they differ, with the first different line; if the file cannot be read or written.
pub fn compare(manifest_dir: &str, name: &str, actual: &str) {
    let path = Path::new(manifest_dir).join("tests/golden").join(name);
    if std::env::var_os("ROPEWALK_BLESS").is_some_and(|v| v == "1") {
        std::fs::create_dir_all(path.parent().expect("has a parent")).expect("can create the folder");
        std::fs::write(&path, actual).expect("can write the golden file");
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; run with ROPEWALK_BLESS=1 to make it", path.display()));
    for (n, (want, got)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(want, got, "{}:{}: the trace moved", path.display(), n + 1);
    }
    assert_eq!(expected.lines().count(), actual.lines().count(), "{}: length differs", path.display());
}
