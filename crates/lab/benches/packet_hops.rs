//! The benchmark scenarios, recording off: the program whose instructions `make count` counts.
//!
//! `cargo bench -p lab` runs them all; a word on the command line selects the one of that name, and `--duration 5s`
//! another duration. How quick they are in seconds, `make bench` measures with the simulator as users have it.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lab::{RunOptions, run};
use scenario::{Document, Registries};

/// The word and the duration of the command line.
fn wishes() -> (Option<String>, Option<String>) {
    let mut arguments = std::env::args().skip(1);
    let (mut word, mut duration) = (None, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--duration" => duration = arguments.next(),
            // Cargo's own.
            flag if flag.starts_with('-') => {}
            _ => word = Some(argument),
        }
    }
    (word, duration)
}

fn scenarios(wanted: Option<&str>) -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches");
    let entries = std::fs::read_dir(folder).expect("the folder of benchmark scenarios");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    let is_wanted = |name: &str| name != "instructions" && wanted.is_none_or(|wanted| name == wanted);
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.retain(|f| f.file_stem().is_some_and(|name| is_wanted(&name.to_string_lossy())));
    files.sort();
    assert!(!files.is_empty(), "{}: no such scenario in benches/", wanted.unwrap_or_default());
    files
}

fn main() {
    let registries = Registries::builtin();
    let (wanted, duration) = wishes();
    let sets: Vec<_> = duration.into_iter().map(|d| ("duration".to_owned(), d)).collect();
    println!("{:<24} {:>10} {:>12}", "scenario", "events", "packet-hops");
    for file in scenarios(wanted.as_deref()) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.file_stem().expect("a file").to_string_lossy().into_owned();
        let document = Document::parse(&text, &name, &sets, &registries).unwrap_or_else(|e| panic!("{e}"));
        let seeds = document.scenario.seeds.clone();
        let options =
            RunOptions { seeds, jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
        let output = run(&document.scenario, &options, &|_, _| {}, &AtomicBool::new(false))
            .unwrap_or_else(|e| panic!("{e}"));
        println!(
            "{name:<24} {:>10} {:>12}",
            output.totals.events.unwrap_or_default(),
            output.totals.packet_hops
        );
    }
}
