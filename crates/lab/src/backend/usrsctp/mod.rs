//! The library libusrsctp (SCTP of FreeBSD in user space), unmodified, as both ends of associations in virtual time.
//!
//! Each end is a process of a small C program (`crates/lab/usrsctp/`), which is built once where the library is installed. The
//! program gives the library a clock, random numbers, addresses and a raw socket of its own; the links are those of the
//! simulator. No root, no threads, and the same bytes in every run.
//! May: start the program, run it in lock step, count. May not: change what the library does.

mod counts;
mod driver;
mod end;
mod outcome;
mod packets;
mod rules;
mod settings;
mod timers;
mod translate;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use network::{Observe, Watch};
use scenario::Unsupported;
use scenario::model::Scenario;
use trace::{Measured, MeasuredTable, RunRecord};
use units::SimTime;

use super::compiled::Compiled;
use super::{Backend, Failure, NotReady, Replication, Rule};

pub use counts::{MessageTimes, PathCounts};
pub use driver::{AssociationRan, Ran, run};
pub use end::EndCounters;
pub use settings::{Association, Cmt, Settings, Traffic};

const PROGRAM: Compiled = Compiled {
    what: "libusrsctp",
    package: "libusrsctp-dev",
    cure: "on Debian 12, or in a container with it, as root: apt-get install gcc libusrsctp-dev; or use the back end \
           simulator",
    name: "end",
    sources: &[
        ("end.c", include_str!("../../../usrsctp/end.c")),
        ("machine.c", include_str!("../../../usrsctp/machine.c")),
        ("machine.h", include_str!("../../../usrsctp/machine.h")),
    ],
    compiler: &["gcc", "-std=c11", "-Wall", "-Wextra", "-O2"],
    compiled: &["end.c", "machine.c"],
    libraries: &["-lusrsctp", "-ldl"],
};

/// Version of the package, if it is installed.
pub fn installed() -> Option<String> {
    PROGRAM.installed()
}

/// The program, built in `folder` unless it is there: one for each version of the library and of its sources.
///
/// # Errors
/// The library or a compiler is missing, or the program cannot be built.
pub fn built(folder: &Path) -> Result<PathBuf, NotReady> {
    PROGRAM.built(folder)
}

/// Columns that are measured.
const MEASURED: Measured = Measured::only(&[
    MeasuredTable { table: "runs", columns: &["events", "packet_hops", "end_s"] },
    MeasuredTable {
        table: "flows",
        columns: &[
            "transport",
            "congestion",
            "start_s",
            "end_s",
            "completed",
            "failure",
            "fell_back",
            "delivered_bytes",
            "last_delivery_s",
            "goodput_bit_s",
            "completion_s",
            "delay_mean_s",
            "delay_p50_s",
            "delay_p95_s",
            "delay_p99_s",
            "segments_sent",
            "retransmitted_segments",
            "wire_bit_s",
            "seen_retransmitted_share",
            "seen_late_share",
        ],
    },
    MeasuredTable {
        table: "subflows",
        columns: &[
            "path",
            "goodput_bit_s",
            "share",
            "segments_received",
            "seen_retransmitted_share",
            "seen_late_share",
            "bytes_sent",
            "wire_bytes",
            "segments_sent",
            "retransmitted_segments",
        ],
    },
    MeasuredTable {
        table: "links",
        columns: &[
            "packets",
            "bytes",
            "utilisation",
            "drops_queue",
            "drops_error",
            "drops_down",
            "drops_corrupt",
            "duplicated",
            "marked",
            "queue_delay_mean_s",
            "queue_delay_max_s",
            "queue_max_packets",
        ],
    },
    MeasuredTable { table: "messages", columns: &["what", "size_bytes", "start_s", "end_s", "delay_s"] },
]);

/// libusrsctp, as Debian packages it.
#[derive(Debug)]
pub struct Usrsctp {
    /// Where the program is built and kept.
    folder: PathBuf,
    program: OnceLock<PathBuf>,
}

impl Usrsctp {
    /// Builds nothing yet; `folder` keeps the program.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, program: OnceLock::new() }
    }
}

impl Backend for Usrsctp {
    fn name(&self) -> &'static str {
        "usrsctp"
    }

    fn summary(&self) -> &'static str {
        "libusrsctp, the SCTP of FreeBSD: bulk transfers over any links"
    }

    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported> {
        translate::associations(scenario).err().unwrap_or_default()
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
        let failed = |message: &str| Failure::Failed {
            message: message.into(),
            help: "please report this scenario".into(),
        };
        let asked =
            translate::associations(scenario).map_err(|_| failed("it was not asked what it supports"))?;
        let program = self.program.get().ok_or_else(|| failed("it is not prepared"))?;
        let ran = run(program, (scenario, seed), &asked, false, watch)?;
        let last = SimTime::ZERO + scenario.duration;
        let flows = ran.associations.iter().zip(&asked);
        let flows = flows.map(|(one, asked)| outcome::flow(one, asked, ran.end, last)).collect();
        let record = RunRecord {
            seed,
            events: ran.events,
            packet_hops: ran.links.iter().map(|link| link.packets).sum(),
            end: ran.end,
            flows,
            links: ran.links,
            series: ran.series,
            trace: String::new(),
        };
        Ok(Replication { record, cpu: Some(Duration::from_millis(ran.cpu_ms)), accuracy: None })
    }
}

#[cfg(test)]
mod tests;
