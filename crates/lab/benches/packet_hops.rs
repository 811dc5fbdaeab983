//! Packet-hops per CPU second of the benchmark scenarios, recording off.
//!
//! `cargo bench -p lab` runs them all; a word on the command line selects the one of that name, or else those whose name
//! contains it, and `--duration 5s` another duration.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lab::{RunOptions, run};
use scenario::{Document, Registries};

/// The word and the duration of the command line.
fn wishes() -> (String, Option<String>) {
    let mut arguments = std::env::args().skip(1);
    let (mut word, mut duration) = (String::new(), None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--duration" => duration = arguments.next(),
            // Cargo's own.
            flag if flag.starts_with('-') => {}
            _ => word = argument,
        }
    }
    (word, duration)
}

fn scenarios(wanted: &str) -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches");
    let entries = std::fs::read_dir(folder).expect("the folder of benchmark scenarios");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.retain(|f| f.file_stem().is_some_and(|name| name != "instructions"));
    files.sort();
    let exact = |f: &PathBuf| f.file_stem().is_some_and(|name| name == wanted);
    match files.iter().find(|f| exact(f)) {
        Some(file) => vec![file.clone()],
        None => files
            .into_iter()
            .filter(|f| f.file_stem().is_some_and(|n| n.to_string_lossy().contains(wanted)))
            .collect(),
    }
}

fn main() {
    let registries = Registries::builtin();
    println!(
        "{:<24} {:>10} {:>12} {:>8} {:>14} {:>14}",
        "scenario", "events", "packet-hops", "cpu s", "hops / cpu s", "cpu s / sim s"
    );
    let (wanted, duration) = wishes();
    let sets: Vec<_> = duration.into_iter().map(|d| ("duration".to_owned(), d)).collect();
    for file in scenarios(&wanted) {
        let text = std::fs::read_to_string(&file).expect("readable");
        let name = file.file_stem().expect("a file").to_string_lossy().into_owned();
        let document = Document::parse(&text, &name, &sets, &registries).unwrap_or_else(|e| panic!("{e}"));
        let options = RunOptions {
            seeds: document.scenario.seeds.clone(),
            jobs: NonZeroUsize::MIN,
            series: false,
            trace: false,
        };
        let output = run(&document.scenario, &registries, &options, &|_, _| {}, &AtomicBool::new(false))
            .unwrap_or_else(|e| panic!("{e}"));
        let totals = output.totals;
        let cpu = totals.cpu.as_secs_f64();
        let simulated = document.scenario.duration.as_secs_f64() * document.scenario.seeds.len() as f64;
        println!(
            "{name:<24} {:>10} {:>12} {:>8.3} {:>14.0} {:>14.6}",
            totals.events,
            totals.packet_hops,
            cpu,
            totals.packet_hops as f64 / cpu,
            cpu / simulated,
        );
    }
}
