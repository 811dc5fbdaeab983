//! Back ends: what can run a scenario.
//!
//! The simulator of this project is one, ns-3 is another, the SCTP stack libusrsctp a third, the kernel of a
//! Linux machine a fourth. Each says by key what it cannot run, and which columns of the
//! tables it fills. May: run one scenario under one seed. May not: choose runs, make tables.

mod compiled;
mod described;
#[cfg(target_os = "linux")]
mod linux;
pub mod ns3;
mod refusals;
mod simulator;
pub mod usrsctp;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use network::{Footprint, Observe, Watch};
use scenario::Unsupported;
use scenario::model::Scenario;
use trace::{Accuracy, Measured, RunRecord};

use crate::capture::CaptureOrder;

pub use described::described;
#[cfg(target_os = "linux")]
pub use linux::{Linux, control as kernel_control, controls_permitted as kernel_controls, emulation};
pub use ns3::Ns3;
pub use simulator::Simulator;
pub use usrsctp::Usrsctp;

/// Something that runs scenarios. A run may take wall time, fail, and leave metrics unmeasured.
pub trait Backend: Send + Sync {
    /// Its name, as the command line takes it.
    fn name(&self) -> &'static str;

    /// One line: what it is.
    fn summary(&self) -> &'static str;

    /// Keys of `scenario` that it cannot run; empty: it runs the scenario. Each key that it does not know is listed: no
    /// key is left out in silence.
    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported>;

    /// Keys of which it runs only some values, grouped by the table that has them; for the reference page.
    fn rules(&self) -> &'static [(&'static str, &'static [Rule])] {
        &[]
    }

    /// The columns that it fills; the others are empty in its tables.
    fn measured(&self) -> Measured;

    /// Observations that it can record besides the tables.
    fn observes(&self) -> Observe;

    /// Called once before the runs: finds or builds what they need.
    ///
    /// # Errors
    /// The missing program or file, and the cure.
    fn prepare(&self) -> Result<(), NotReady> {
        Ok(())
    }

    /// One replication of a scenario that it supports. `watch` can end it early.
    ///
    /// # Errors
    /// The run was cancelled, or failed.
    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure>;

    /// It can capture packets.
    fn captures(&self) -> bool {
        false
    }

    /// The same as [`Backend::run`], with a capture, if it can.
    ///
    /// # Errors
    /// As there, or the file cannot be written.
    fn run_captured(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        _capture: &CaptureOrder,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        debug_assert!(!self.captures(), "a back end that captures says how");
        self.run(scenario, seed, observe, watch)
    }
}

/// The links stand between sockets of a Linux kernel.
#[cfg(not(target_os = "linux"))]
pub fn emulation() -> &'static str {
    "none"
}

/// Only Linux takes BPF programs.
#[cfg(not(target_os = "linux"))]
pub fn kernel_controls() -> Result<(), NotReady> {
    Err(NotReady { message: "this is not Linux".into(), help: "use a Linux machine".into() })
}

/// Only Linux takes BPF programs.
#[cfg(not(target_os = "linux"))]
pub fn kernel_control(
    _folder: &Path,
    name: &str,
) -> Result<(std::path::PathBuf, std::path::PathBuf), NotReady> {
    Err(NotReady { message: format!("{name}: this is not Linux"), help: "use a Linux machine".into() })
}

/// All back ends, the default first. They keep what they build in `folder`.
pub fn backends(folder: &Path) -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(Simulator),
        Box::new(Ns3::new(folder.join("ns3"))),
        Box::new(Usrsctp::new(folder.join("usrsctp"))),
        #[cfg(target_os = "linux")]
        Box::new(Linux::new(folder.join("linux"))),
    ]
}

/// A key of a scenario, and the values of it that a back end can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The dotted key inside its table; empty: the table itself.
    pub key: &'static str,
    /// Supported values, in words.
    pub allowed: &'static str,
    /// One of them as after `--set`; empty: there is none, or `allowed` is one itself.
    pub value: &'static str,
}

impl Rule {
    /// A rule whose words are a value themselves, or of which no single value stands for all.
    pub(crate) const fn new(key: &'static str, allowed: &'static str) -> Self {
        Self { key, allowed, value: "" }
    }

    /// The same rule with a value to type.
    #[cfg(target_os = "linux")]
    pub(crate) const fn as_in(self, value: &'static str) -> Self {
        Self { value, ..self }
    }
}

/// One finished replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Replication {
    /// The records. Fields that the back end does not measure have arbitrary values.
    pub record: RunRecord,
    /// CPU time inside the engine; `None` where the machine has no clock for it.
    pub cpu: Option<Duration>,
    /// How exact it was, in the time of the host; `None` in virtual time, which is exact.
    pub accuracy: Option<Accuracy>,
}

/// Why a replication has no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The caller stopped it.
    Cancelled,
    /// It has grown beyond the bound on memory.
    Grown(Footprint),
    /// It broke off.
    Failed {
        /// The error.
        message: String,
        /// The cure.
        help: String,
    },
}

/// Why a back end cannot run anything on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// The missing program or file.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  fix: {}", self.message, self.help)
    }
}
