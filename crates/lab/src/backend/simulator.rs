//! The simulator of this project: the back end that runs every scenario and measures everything.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use network::{Observe, PacketSink, Unfinished, Watch, World};
use scenario::model::Scenario;
use scenario::{Part, Unsupported};
use trace::Measured;

use super::{Backend, Failure, Replication, Rule};
use crate::capture::{CaptureError, CaptureFile, CaptureOrder};
use crate::cpu::Stopwatch;

/// Commands are programs of a kernel.
const APP: Rule = Rule::new("app", "any but command");

/// The crate `network`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Backend for Simulator {
    fn name(&self) -> &'static str {
        "simulator"
    }

    fn summary(&self) -> &'static str {
        "the simulator of Ropewalk"
    }

    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported> {
        let commands = scenario.flows.iter().enumerate().filter(|(_, flow)| flow.app.name() == apps::COMMAND);
        let refused = |(index, _)| Unsupported {
            part: Part::Flow(index),
            key: APP.key,
            allowed: APP.allowed.into(),
            value: None,
            help: "run commands on the kernel: `ropewalk emulate FILE`".into(),
        };
        commands.map(refused).collect()
    }

    fn rules(&self) -> &'static [(&'static str, &'static [Rule])] {
        &[("flow", &[APP])]
    }

    fn measured(&self) -> Measured {
        Measured::ALL
    }

    fn observes(&self) -> Observe {
        Observe { series: true, trace: true }
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        simulate(scenario, seed, observe, None, watch)
    }

    fn captures(&self) -> bool {
        true
    }

    fn run_captured(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        capture: &CaptureOrder,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        let place = capture.file(seed);
        let failed = |error: &dyn std::fmt::Display| Failure::Failed {
            message: format!("{}: cannot be written: {error}", place.display()),
            help: "Make room there, or name another directory".into(),
        };
        let file = CaptureFile::create(capture, scenario, seed).map_err(|error| failed(&error))?;
        let outcome = simulate(scenario, seed, observe, Some(Box::new(file.clone())), watch)?;
        match file.finish(outcome.record.end) {
            Ok(()) => Ok(outcome),
            Err(CaptureError::File(error)) => Err(failed(&error)),
            Err(CaptureError::Packet(at, error)) => Err(Failure::Failed {
                message: format!("the packet at {at} has no bytes: {error}"),
                help: "Run without --capture".into(),
            }),
        }
    }
}

/// A panic becomes an error that says how to repeat it.
fn simulate(
    scenario: &Scenario,
    seed: u64,
    observe: Observe,
    sink: Option<Box<dyn PacketSink>>,
    watch: &dyn Watch,
) -> Result<Replication, Failure> {
    let start = Stopwatch::start();
    // Nothing of a world outlives its panic.
    let run = || World::captured(scenario, seed, observe, sink).run(watch);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(record)) => Ok(Replication { record, cpu: start.elapsed(), accuracy: None }),
        Ok(Err(Unfinished::Cancelled)) => Err(Failure::Cancelled),
        Ok(Err(Unfinished::TooMuchMemory(held))) => Err(Failure::Grown(held)),
        Err(panic) => Err(Failure::Failed {
            message: panic_message(panic.as_ref()),
            help: format!(
                "This is a bug in the simulator; repeat it with the same scenario and --seed {seed}"
            ),
        }),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".into())
}
