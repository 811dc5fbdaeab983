//! Samples of the sockets of a host, at regular times.

use units::{Nanos, SimTime};

use crate::clock::HostClock;
use crate::counters::Counters;
use crate::diag::{ConnectionState, Diag, SubflowState};
use crate::fault::Fault;
use crate::stop::{Stage, Stop};

/// Longest time between two samples: means over time need them.
const LONGEST: Nanos = Nanos::from_millis(100);

/// The sockets of a host at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: SimTime,
    /// TCP sockets, subflows among them.
    pub subflows: Vec<SubflowState>,
    /// MPTCP connections.
    pub connections: Vec<ConnectionState>,
    /// TCP sockets that have gone since the sample before, as they were at last; they do not know their MPTCP connection.
    pub gone: Vec<SubflowState>,
}

/// All samples of a host; the last one is that of the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// In the order of time.
    pub samples: Vec<Sample>,
    /// Number of samples in an interval of the time series.
    pub per_interval: usize,
    /// Counters of the namespace at the end.
    pub counters: Counters,
}

/// Samples the namespace of the calling thread until applications have ended.
pub(crate) fn sample(interval: Option<Nanos>, clock: HostClock, stop: &Stop) -> Result<Samples, Fault> {
    let mut diag = Diag::new()?;
    let interval = interval.unwrap_or(LONGEST).max(Nanos(1));
    let parts = interval.0.div_ceil(LONGEST.0);
    let step = Nanos(interval.0 / parts);
    let mut found = Samples { per_interval: parts as usize, ..Samples::default() };
    let mut next = SimTime::ZERO + step;
    while stop.wait_until(clock, next, Stage::Running) {
        found.samples.push(now(&mut diag, clock)?);
        next += step;
    }
    // The links go on until the run is closed, so that this is later than the end by no more than the look at it.
    found.samples.push(now(&mut diag, clock)?);
    found.counters = Counters::read()?;
    Ok(found)
}

fn now(diag: &mut Diag, clock: HostClock) -> Result<Sample, Fault> {
    let sockets = diag.sockets()?;
    let gone = diag.gone()?;
    Ok(Sample { at: clock.now(), subflows: sockets.subflows, connections: sockets.connections, gone })
}
