//! A little of the storm in each test run; `make storm` goes on from there.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use storm::{Case, Grammar, Outcome, judge};

/// Generous: other tests share the process. Only a scenario that runs on for ever is stopped.
const ALLOWED: Duration = Duration::from_secs(300);

#[test]
fn random_scenarios_keep_every_promise() {
    let grammar = Grammar::builtin();
    for seed in 1..=40 {
        let case = Case::of_seed(&grammar, seed).unwrap_or_else(|| panic!("seed {seed}: nothing is left"));
        let outcome = judge(&case, ALLOWED);
        assert!(
            matches!(outcome, Outcome::Passed { .. }),
            "seed {seed}: {outcome:?}\nrepeat it with: cargo run -p storm -- {seed} 1\n{}",
            case.toml
        );
    }
}

/// Every row of every registry with its options and every key of every table are drawn and accepted. One that never is
/// needs others beside it: see `values::fitting`.
#[test]
fn every_algorithm_and_key_is_met() {
    let grammar = Grammar::builtin();
    let mut left = grammar.all();
    assert!(left.len() > 500, "{}", left.len());
    for seed in 1..=4000 {
        let Some(case) = Case::of_seed(&grammar, seed) else { continue };
        let used = grammar.used(case.tree.as_object().unwrap());
        left = left.difference(&used).cloned().collect();
        if left.is_empty() {
            return;
        }
    }
    assert_eq!(left, BTreeSet::new(), "never drawn");
}

/// Defects that a storm has found stay mended.
#[test]
fn scenarios_that_failed_once_do_not_fail_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/found");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeSet<_> = files.collect();
    assert!(!files.is_empty());
    for file in files {
        let case = Case::of_text(&std::fs::read_to_string(&file).unwrap());
        let outcome = judge(&case, ALLOWED);
        assert!(matches!(outcome, Outcome::Passed { .. }), "{}: {outcome:?}", file.display());
    }
}
