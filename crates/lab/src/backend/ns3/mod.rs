//! The back end ns-3: the discrete-event simulator of the research community, with TCP over links with drop-tail queues.
//!
//! A scenario becomes arguments of a C++ program (`crates/lab/ns3/`), which is built once where ns-3 is installed; what it
//! prints becomes a record. May: translate, refuse, start the program. May not: approximate what ns-3 has not.

mod arguments;
mod outcome;
mod program;
mod rules;
mod tcp;

use std::path::PathBuf;
use std::sync::OnceLock;

use network::{Observe, Watch};
use scenario::Unsupported;
use scenario::model::Scenario;
use trace::{Measured, MeasuredTable};

use super::{Backend, Failure, NotReady, Replication, Rule};

pub use arguments::{Arguments, arguments};
pub use program::{built, installed};

/// Columns that ns-3 measures.
const MEASURED: Measured = Measured::only(&[
    MeasuredTable { table: "runs", columns: &["packet_hops", "end_s"] },
    MeasuredTable {
        table: "flows",
        columns: &[
            "transport",
            "congestion",
            "start_s",
            "end_s",
            "completed",
            "fell_back",
            "delivered_bytes",
            "goodput_bit_s",
            "completion_s",
        ],
    },
    MeasuredTable { table: "messages", columns: &["what", "size_bytes", "start_s", "end_s", "delay_s"] },
    MeasuredTable {
        table: "measures",
        columns: &[
            "sent",
            "delivered",
            "delivered_bytes",
            "delay_mean_s",
            "delay_p50_s",
            "delay_p95_s",
            "delay_p99_s",
            "delay_max_s",
        ],
    },
]);

/// ns-3, as Debian packages it.
#[derive(Debug)]
pub struct Ns3 {
    /// Where the program is built and kept.
    folder: PathBuf,
    program: OnceLock<PathBuf>,
}

impl Ns3 {
    /// Builds nothing yet; `folder` keeps the program.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, program: OnceLock::new() }
    }
}

impl Backend for Ns3 {
    fn name(&self) -> &'static str {
        "ns3"
    }

    fn summary(&self) -> &'static str {
        "ns-3: bulk TCP over links with constant rates and drop-tail queues"
    }

    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported> {
        arguments(scenario).err().unwrap_or_default()
    }

    fn rules(&self) -> &'static [(&'static str, &'static [Rule])] {
        rules::RULES
    }

    fn measured(&self) -> Measured {
        MEASURED
    }

    fn observes(&self) -> Observe {
        Observe { series: false, trace: false }
    }

    fn prepare(&self) -> Result<(), NotReady> {
        let program = built(&self.folder)?;
        // Another thread has set the same.
        let _ = self.program.set(program);
        Ok(())
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        _observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        let failed =
            |message: String| Failure::Failed { message, help: "please report this scenario".into() };
        let mut arguments =
            arguments(scenario).map_err(|_| failed("it was not asked what it supports".into()))?;
        arguments.insert("RngRun".into(), seed.to_string());
        arguments.insert("hops".into(), "1".into());
        let program = self.program.get().ok_or_else(|| failed("it is not prepared".into()))?;
        let printed = program::run(program, &arguments, watch)?;
        outcome::parse(&printed, scenario, seed)
            .map_err(|why| failed(format!("ns-3 printed something else: {why}")))
    }
}

#[cfg(test)]
mod tests;
