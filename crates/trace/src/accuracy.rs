//! How exact a run in the time of the host was.

use units::Nanos;

/// Lateness of packets: from the instant at which a link delivers one to that at which the host has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Packets that were delivered.
    pub packets: u64,
    /// Median lateness.
    pub p50: Nanos,
    /// 99 % of packets were not later.
    pub p99: Nanos,
    /// The latest.
    pub max: Nanos,
    /// CPU time of the thread that owns the links, as a share of one core.
    pub cpu_share: f64,
    /// This thread had real-time priority.
    pub real_time: bool,
    /// Packets that the host did not take.
    pub refused: u64,
    /// Packets to no address of the scenario.
    pub strays: u64,
}
