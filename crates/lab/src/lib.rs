//! Entry point of the Rust side: turns a checked scenario into tables.
//!
//! A back end runs one scenario under one seed (`backend/`). Replications are spread over threads; one replication
//! never is. With every multipath flow that asks for it come its baselines: the same flow as plain TCP over each of its
//! paths alone, under the same seeds.
//! May: choose which runs to make, turn records into columns. May not: simulate, aggregate over replications,
//! know Python or result files.

mod backend;
mod baseline;
mod capture;
mod catalogue;
mod control;
mod cpu;
mod marks;
mod memory;
mod metrics;
mod opportunities;
mod pool;
mod replication;
mod tables;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use network::{Footprint, MAX_MEMORY};
use scenario::model::Scenario;
use scenario::{Diagnostics, Document};
use trace::metrics::RUNS;
use trace::{Accuracy, Measured, Table};

#[cfg(target_os = "linux")]
pub use backend::Linux;
pub use backend::{
    Backend, Failure, NotReady, Ns3, Replication, Rule, Simulator, Usrsctp, backends, described, emulation,
    kernel_control, kernel_controls, ns3, usrsctp,
};
pub use capture::CaptureOrder;
pub use catalogue::catalogue;
pub use control::Control;
pub use marks::{Mark, marks};
pub use metrics::metrics;
pub use network::Watch;
pub use opportunities::{NoOpportunities, capacity, opportunities};

use replication::Variant;

/// Raised whenever any result may change; part of every stored result.
pub const MODEL_VERSION: u32 = 2;

/// Which replications to run, and what to record in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Seeds, one replication each; the results are in this order.
    pub seeds: Vec<u64>,
    /// Worker threads; the results do not depend on their number.
    pub jobs: NonZeroUsize,
    /// Record time series, where the back end has them.
    pub series: bool,
    /// Record a readable trace of each replication, where the back end has one.
    pub trace: bool,
    /// Capture each replication, baselines apart, where the back end can.
    pub capture: Option<CaptureOrder>,
}

/// Results of a set of replications.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// `runs`, `flows`, `subflows`, `legs`, `links`, `messages`, `measures`, `pages`, `delays`, `series`, in this order; each
    /// sorted by seed.
    pub tables: Vec<Table>,
    /// Sums over all replications, baselines included.
    pub totals: Totals,
    /// How exact each replication was, by seed; empty where runs are in virtual time. Baselines are left out.
    pub accuracies: Vec<(u64, Accuracy)>,
    /// Readable traces by seed; empty unless asked for. Baselines leave none.
    pub traces: Vec<Trace>,
}

/// Totals over all replications.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Events taken out of the queues; `None` if the back end does not count them.
    pub events: Option<u64>,
    /// Packets crossing a link, data or ACK, one count per link.
    pub packet_hops: u64,
    /// CPU time of the worker threads inside the engine. `None` if the machine has no clock for it, or nothing ran.
    pub cpu: Option<Duration>,
}

/// The readable trace of one replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its seed.
    pub seed: u64,
    /// Its lines.
    pub text: String,
}

/// Samples of time series that one call may record: some gigabytes.
pub const MAX_SAMPLES: u64 = 50_000_000;

/// Refuses runs whose time series would not fit into memory. An estimate: subflows are not known beforehand.
fn bound_samples(scenario: &Scenario, replications: u64) -> Result<(), RunError> {
    let instants = scenario.duration.0 / scenario.record_interval.0.max(1) + 1;
    // Three metrics of each link direction, five of each flow, ten of each subflow, two subflows for each flow.
    let per_instant = 6 * scenario.duplex_links.len() as u64 + 25 * scenario.flows.len() as u64;
    let samples = instants.saturating_mul(per_instant).saturating_mul(replications);
    if samples > MAX_SAMPLES { Err(RunError::TooManySamples { samples }) } else { Ok(()) }
}

/// Why there are no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The caller set the cancel flag.
    Cancelled,
    /// The flows would open more connections than a run may have.
    TooManyConnections {
        /// How many.
        connections: u64,
    },
    /// Packets and connections would not fit into memory.
    TooMuchMemory {
        /// Bytes that they need at least.
        bytes: u64,
        /// Packets that wait or are under way.
        packets: u64,
    },
    /// Messages in the send buffers of associations would not fit into memory.
    TooManyMessages {
        /// How many.
        messages: u64,
    },
    /// A run has grown beyond the bound.
    Grown(Footprint),
    /// The time series would not fit into memory.
    TooManySamples {
        /// About how many there would be.
        samples: u64,
    },
    /// The back end cannot run this scenario: the keys that it has nothing for.
    Unsupported(Diagnostics),
    /// The back end is not installed, or not built.
    NotReady(NotReady),
    /// A replication failed. In the simulator this is a bug of the simulator, never a mistake in the scenario.
    Failed {
        /// Name of the scenario.
        scenario: String,
        /// Seed of the replication.
        seed: u64,
        /// `upload@beam1` if it was a baseline.
        baseline: Option<String>,
        /// The error.
        message: String,
        /// The cure.
        help: String,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::TooManyConnections { connections } => write!(
                f,
                "the flows would open {connections} connections, and {} are allowed: lower `count` of the flows or \
                 `connections` of their applications",
                memory::MAX_CONNECTIONS
            ),
            Self::TooMuchMemory { bytes, packets } => write!(
                f,
                "{packets} packets would wait in queues, which with the connections takes {:.1} GiB of memory, and {} GiB \
                 are allowed: set a smaller `queue` on the links, a lower `rate` of the applications or a shorter `duration`",
                *bytes as f64 / f64::from(1 << 30),
                MAX_MEMORY >> 30
            ),
            Self::TooManyMessages { messages } => write!(
                f,
                "{messages} messages would wait in send buffers, which takes more than the {} GiB of memory that are allowed: \
                 set a smaller `send_buffer` or a larger `message`",
                MAX_MEMORY >> 30
            ),
            Self::Grown(held) => write!(
                f,
                "at {:.3} s of simulated time {} packets are in queues and on links, {} messages are under way or in tables, and \
                 the trace has {} bytes, which takes {:.1} GiB of memory, and {} GiB are allowed: set a smaller `queue` on the \
                 links, a lower rate of messages of the applications or a shorter `duration`",
                held.at.as_secs_f64(),
                held.packets,
                held.messages,
                held.trace,
                held.bytes() as f64 / f64::from(1 << 30),
                MAX_MEMORY >> 30
            ),
            Self::TooManySamples { samples } => write!(
                f,
                "the time series would have about {samples} samples, and {MAX_SAMPLES} are allowed: set record.interval \
                 to a longer time, or ask for fewer replications"
            ),
            Self::Unsupported(mistakes) => mistakes.fmt(f),
            Self::NotReady(reason) => reason.fmt(f),
            Self::Failed { scenario, seed, baseline, message, help } => {
                write!(f, "scenario \"{scenario}\", seed {seed}")?;
                if let Some(name) = baseline {
                    write!(f, ", baseline {name}")?;
                }
                write!(f, ": {message}\n  fix: {help}")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `scenario` once per seed with the simulator, and its baselines with it.
///
/// `progress` is called with `(done, total)` at the start and after each simulation, from any thread. Setting
/// `cancel` ends the call within milliseconds; it is also set here when a replication fails, so that the others stop.
///
/// # Errors
/// Cancelled, or a replication failed; with several failures the first in the order of the seeds that was met.
pub fn run(
    scenario: &Scenario,
    options: &RunOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    cancel: &AtomicBool,
) -> Result<Output, RunError> {
    replications(&Simulator, &[Cow::Borrowed(scenario)], options, progress, cancel)
}

/// The same with a back end of choice; `watch` may also be told how far the runs are, as [`Control`] is.
///
/// # Errors
/// As [`run`]; or the back end cannot run this scenario, or is not installed.
pub fn run_on(
    backend: &dyn Backend,
    document: &Document,
    options: &RunOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    watch: &dyn Watch,
) -> Result<Output, RunError> {
    document
        .refuse(backend.name(), &backend.unsupported(&document.scenario))
        .map_err(RunError::Unsupported)?;
    backend.prepare().map_err(RunError::NotReady)?;
    if document.draws().is_empty() {
        return replications(backend, &[Cow::Borrowed(&document.scenario)], options, progress, watch);
    }
    let under = |seed: &u64| {
        document.under(*seed).map_err(|mistakes| RunError::Failed {
            scenario: document.scenario.name.clone(),
            seed: *seed,
            baseline: None,
            message: format!("the values that are drawn do not go together: {mistakes}"),
            help: "choose other bounds".into(),
        })
    };
    let scenarios: Vec<Cow<'_, Scenario>> = options.seeds.iter().map(under).collect::<Result<_, _>>()?;
    if scenarios.is_empty() {
        return replications(backend, &[Cow::Borrowed(&document.scenario)], options, progress, watch);
    }
    let mut output = replications(backend, &scenarios, options, progress, watch)?;
    tables::add_draws(&mut output.tables, document.draws(), &options.seeds);
    Ok(output)
}

/// Runs one scenario under all seeds, or one for each of them; these differ in their numbers alone.
fn replications(
    backend: &dyn Backend,
    scenarios: &[Cow<'_, Scenario>],
    options: &RunOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
    watch: &dyn Watch,
) -> Result<Output, RunError> {
    let variants: Vec<Vec<Variant<'_>>> = scenarios.iter().map(|scenario| Variant::all(scenario)).collect();
    let width = variants[0].len();
    debug_assert!(scenarios.len() == 1 || scenarios.len() == options.seeds.len(), "one, or one per seed");
    debug_assert!(variants.iter().all(|one| one.len() == width), "each seed has the same baselines");
    let runs = |variant: &Variant<'_>| backend.unsupported(&variant.scenario).is_empty();
    debug_assert!(variants.iter().flatten().all(runs), "what runs a scenario runs its baselines");
    let total = options.seeds.len() * width;
    for scenario in scenarios {
        memory::bound(scenario)?;
        if options.series {
            bound_samples(scenario, total as u64)?;
        }
    }
    let done = AtomicUsize::new(0);
    progress(0, total);
    let outcomes = pool::run_all(total, options.jobs, watch, |job| {
        let (place, which) = (job / width, job % width);
        let (seed, variant) = (options.seeds[place], &of_seed(&variants, place)[which]);
        let outcome = replication::replicate(backend, variant, seed, options, watch);
        if matches!(outcome, Err(RunError::Failed { .. })) {
            watch.stop();
        }
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        outcome
    });
    let replications = settle(outcomes)?;
    Ok(output(backend.measured(), &scenarios[0], &variants, replications))
}

/// The variants of the seed in this place: its own, or those of all.
fn of_seed<'v, 's>(variants: &'v [Vec<Variant<'s>>], place: usize) -> &'v [Variant<'s>] {
    variants.get(place).unwrap_or(&variants[0])
}

/// All results, or the error that matters most: a failure explains the cancellations that it caused.
fn settle(outcomes: Vec<Option<Result<Replication, RunError>>>) -> Result<Vec<Replication>, RunError> {
    let failure = outcomes.iter().flatten().find_map(|o| match o {
        Err(error @ RunError::Failed { .. }) => Some(error.clone()),
        _ => None,
    });
    match failure {
        Some(error) => Err(error),
        None => outcomes.into_iter().map(|o| o.unwrap_or(Err(RunError::Cancelled))).collect(),
    }
}

fn output(
    measured: Measured,
    scenario: &Scenario,
    variants: &[Vec<Variant<'_>>],
    mut replications: Vec<Replication>,
) -> Output {
    let mut totals = Totals::default();
    let counts_events = RUNS.column("events").is_some_and(|events| measured.has(&RUNS, events));
    let (mut traces, mut accuracies) = (Vec::new(), Vec::new());
    for (index, replication) in replications.iter_mut().enumerate() {
        totals.events = counts_events.then(|| totals.events.unwrap_or_default() + replication.record.events);
        totals.packet_hops += replication.record.packet_hops;
        totals.cpu = replication.cpu.map(|spent| totals.cpu.unwrap_or_default() + spent);
        let text = std::mem::take(&mut replication.record.trace);
        if index % variants[0].len() == 0 {
            accuracies.extend(replication.accuracy.map(|accuracy| (replication.record.seed, accuracy)));
        }
        if index % variants[0].len() == 0 && !text.is_empty() {
            traces.push(Trace { seed: replication.record.seed, text });
        }
    }
    Output { tables: tables::all(measured, scenario, variants, &replications), totals, accuracies, traces }
}

#[cfg(test)]
mod tests;
