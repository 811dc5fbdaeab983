//! The five congestion controls and five schedulers of Lantto and Svensson (Chalmers 2025), in every combination, on
//! the cases of their model test bed, with as many replications as they made: nobody stalls, nothing is lost or doubled.
#![allow(clippy::unwrap_used)]

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Output, RunOptions, run};
use scenario::{Document, Registries};
use trace::Data;

const CONTROLS: [&str; 5] = ["cubic", "lia", "olia", "balia", "wvegas"];
const SCHEDULERS: [&str; 5] = ["minratio", "minrtt", "roundrobin", "blest", "ecf"];
const REPLICATIONS: u64 = 10;
const SIZE: u64 = 1_000_000;

/// What each case changes in the default paths. The second board of M.Sim+Def sends all the time.
const CASES: [(&str, &[(&str, &str)]); 4] = [
    ("M.Def", &[]),
    ("M.Loss", &[("path.beam2.up.loss.probability", "0.1"), ("path.beam2.down.loss.probability", "0.1")]),
    ("M.Latency", &[("path.beam2.up.delay", "350ms"), ("path.beam2.down.delay", "350ms")]),
    ("M.Sim+Def", &[]),
];

/// The shipped scenario of M.Def with a transfer that has an end, and time for it to end.
fn scenario(case: &str) -> String {
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/two-geo-beams.toml");
    let text = std::fs::read_to_string(shipped).unwrap();
    let second_board = "\n[[flow]]\nname = \"second\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\nstop = \"60s\"\n\
         transport = { kind = \"mptcp\", congestion = \"cubic\", scheduler = \"minratio\" }\n";
    if case == "M.Sim+Def" { text + second_board } else { text }
}

fn measure(case: &str, changes: &[(&str, &str)], control: &str, scheduler: &str) -> Output {
    let size = SIZE.to_string() + "B";
    let own = [
        ("duration", "200s"),
        ("flow.upload.compare_paths", "false"),
        ("flow.upload.app.size", &size),
        ("flow.upload.transport.congestion", control),
        ("flow.upload.transport.scheduler", scheduler),
    ];
    let changes: Vec<_> =
        own.iter().chain(changes).map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let registries = Registries::builtin();
    let document = Document::parse(&scenario(case), "two-geo-beams.toml", &changes, &registries);
    let options = RunOptions {
        seeds: (1..=REPLICATIONS).collect(),
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        series: false,
        trace: false,
    };
    let scenario = document.unwrap_or_else(|e| panic!("{e}")).scenario;
    run(&scenario, &registries, &options, &|_, _| {}, &AtomicBool::new(false)).unwrap()
}

/// `(delivered bytes, completed)` of each replication.
fn uploads(output: &Output) -> Vec<(u64, bool)> {
    let flows = output.tables.iter().find(|t| t.name == "flows").unwrap();
    let column = |name| flows.column(name).unwrap();
    let (Data::Integer(delivered), Data::Flag(completed)) = (column("delivered_bytes"), column("completed"))
    else {
        panic!("columns have other types")
    };
    let ours = (0..delivered.len()).filter(|row| column("flow").text(*row) == "upload");
    ours.map(|row| (delivered[row], completed[row])).collect()
}

fn case_is_survived(case: &str) {
    let (_, changes) = CASES.iter().find(|(name, _)| *name == case).unwrap();
    for control in CONTROLS {
        for scheduler in SCHEDULERS {
            let found = uploads(&measure(case, changes, control, scheduler));
            assert_eq!(found, [(SIZE, true); REPLICATIONS as usize], "{case}: {control} with {scheduler}");
        }
    }
}

#[test]
fn equal_beams() {
    case_is_survived("M.Def");
}

#[test]
fn a_second_beam_that_loses_a_tenth() {
    case_is_survived("M.Loss");
}

#[test]
fn a_second_beam_with_a_longer_delay() {
    case_is_survived("M.Latency");
}

#[test]
fn a_second_board_that_sends_all_the_time() {
    case_is_survived("M.Sim+Def");
}
