//! A back end that can do little: what it refuses, and what its tables leave empty.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Backend, Failure, NotReady, Replication, RunError, RunOptions, Simulator};
use network::{Observe, Watch};
use scenario::model::Scenario;
use scenario::{Document, Part, Registries, Unsupported};
use trace::{Data, Measured, MeasuredTable, Table};

const TEXT: &str = r#"name = "one path"
duration = "4s"

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms", queue = "50p" }

[[flow]]
name = "upload"
from = "terminal"
to = "server"
app = { kind = "bulk" }
transport = { kind = "tcp", profile = "linux" }
"#;

/// Runs what the simulator runs, if there are no shapers, timestamps or events, and measures bytes alone.
struct Little {
    ready: bool,
}

impl Backend for Little {
    fn name(&self) -> &'static str {
        "little"
    }

    fn summary(&self) -> &'static str {
        "for this test"
    }

    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let refused = |part, key| Unsupported {
            part,
            key,
            allowed: "none".into(),
            value: None,
            help: "remove it".into(),
        };
        let mut found = Vec::new();
        for (flow, described) in scenario.flows.iter().enumerate() {
            if described.transport.tcp.options.timestamps {
                found.push(refused(Part::Flow(flow), "transport.timestamps"));
            }
        }
        for (link, described) in scenario.duplex_links.iter().enumerate() {
            if !described.directions[0].shapers.is_empty() {
                found.push(refused(Part::Direction(link, 0), "shaper"));
            }
        }
        if !scenario.events.is_empty() {
            found.push(refused(Part::Scenario, "event"));
        }
        found
    }

    fn measured(&self) -> Measured {
        Measured::only(&[MeasuredTable {
            table: "flows",
            columns: &["delivered_bytes", "completed", "fell_back"],
        }])
    }

    fn observes(&self) -> Observe {
        Observe { series: false, trace: false }
    }

    fn prepare(&self) -> Result<(), NotReady> {
        if self.ready { Ok(()) } else { Err(NotReady { message: "no".into(), help: "install it".into() }) }
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        assert!(!observe.series, "it has said so");
        Simulator.run(scenario, seed, observe, watch)
    }
}

fn parse(sets: &[(&str, &str)]) -> Document {
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Document::parse(TEXT, "test.toml", &sets, &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"))
}

fn run(backend: &dyn Backend, document: &Document) -> Result<Vec<Table>, RunError> {
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: true, trace: true, capture: None };
    lab::run_on(backend, document, &options, &|_, _| (), &AtomicBool::new(false)).map(|output| output.tables)
}

#[test]
fn the_simulator_runs_everything() {
    let document = parse(&[]);
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: true, trace: true, capture: None };
    let never = AtomicBool::new(false);
    let plain = lab::run(&document.scenario, &options, &|_, _| (), &never).unwrap();
    assert_eq!(run(&Simulator, &document).unwrap(), plain.tables);
}

#[test]
fn what_is_not_measured_is_empty_and_not_zero() {
    let tables =
        run(&Little { ready: true }, &parse(&[("flow.upload.transport.timestamps", "false")])).unwrap();
    let table = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
    let rows: Vec<_> = tables.iter().map(|table| (table.name, table.columns[0].data.len())).collect();
    assert_eq!(
        rows.iter().filter(|(_, rows)| *rows > 0).map(|(name, _)| *name).collect::<Vec<_>>(),
        ["flows"]
    );
    let flows = table("flows");
    let Some(Data::Integer(delivered)) = flows.column("delivered_bytes") else { panic!("they are measured") };
    assert!(delivered[0] > 1_000_000);
    assert_eq!(flows.column("timeouts"), Some(&Data::OptionalInteger(vec![None])));
    assert_eq!(flows.column("goodput_bit_s"), Some(&Data::Real(vec![None])));
    assert_eq!(flows.column("flow").unwrap().text(0), "upload");
    assert_eq!(flows.column("transport").unwrap().text(0), "");
}

#[test]
fn what_it_cannot_run_is_refused_by_key_with_its_place() {
    let document = parse(&[("path.a.up.shaper", r#"{ rate = "1Mbit/s", burst = "10kB" }"#)]);
    let Err(RunError::Unsupported(mistakes)) = run(&Little { ready: true }, &document) else { panic!() };
    let text = mistakes.to_string();
    let first = "test.toml:13:13: flow.upload.transport.timestamps: found true, which little cannot run; allowed: none [E023]
  13 | transport = { kind = \"tcp\", profile = \"linux\" }\n";
    assert!(text.starts_with(first), "{text}");
    assert_eq!(mistakes.len(), 2, "{text}");
    let second = mistakes.iter().last().unwrap();
    assert_eq!((second.file.as_str(), second.key.as_str()), ("--set", "path.a.up.shaper"));
    assert_eq!(second.help, "remove it");
}

#[test]
fn a_back_end_that_is_not_ready_names_the_cure() {
    let document = parse(&[("flow.upload.transport.timestamps", "false")]);
    let error = run(&Little { ready: false }, &document).unwrap_err();
    assert_eq!(error.to_string(), "no\n  fix: install it");
}
