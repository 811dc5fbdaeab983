//! The benchmark scenarios, recording off: the program whose instructions `make count` counts.
//!
//! `cargo bench -p lab` runs them all; a word on the command line selects the one of that name, `--duration 5s`
//! another duration, and `--capture FOLDER` writes captures of both ends there. How quick they are in seconds, `make bench` measures with the simulator as users have it.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab::{CaptureOrder, RunOptions, run};
use scenario::{Document, Registries};

/// Bytes that a capture keeps of a packet, as the command line has it.
const SNAP: u32 = 96;

/// The command line.
#[derive(Default)]
struct Wishes {
    word: Option<String>,
    duration: Option<String>,
    captures: Option<String>,
}

fn wishes() -> Wishes {
    let mut arguments = std::env::args().skip(1);
    let mut wishes = Wishes::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--duration" => wishes.duration = arguments.next(),
            "--capture" => wishes.captures = arguments.next(),
            // Cargo's own.
            flag if flag.starts_with('-') => {}
            _ => wishes.word = Some(argument),
        }
    }
    wishes
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
    let Wishes { word, duration, captures } = wishes();
    let sets: Vec<_> = duration.into_iter().map(|d| ("duration".to_owned(), d)).collect();
    println!("{:<24} {:>10} {:>12}", "scenario", "events", "packet-hops");
    for file in scenarios(word.as_deref()) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.file_stem().expect("a file").to_string_lossy().into_owned();
        let document = Document::parse(&text, &name, &sets, &registries).unwrap_or_else(|e| panic!("{e}"));
        let seeds = document.scenario.seeds.clone();
        let capture = captures.as_deref().map(|folder| {
            CaptureOrder::new(&document.scenario, Path::new(folder), "both", SNAP)
                .unwrap_or_else(|e| panic!("{e}"))
        });
        let options = RunOptions { seeds, jobs: NonZeroUsize::MIN, series: false, trace: false, capture };
        let output = run(&document.scenario, &options, &|_, _| {}, &AtomicBool::new(false))
            .unwrap_or_else(|e| panic!("{e}"));
        println!(
            "{name:<24} {:>10} {:>12}",
            output.totals.events.unwrap_or_default(),
            output.totals.packet_hops
        );
    }
}
