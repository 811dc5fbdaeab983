//! One replication: a variant of the scenario under one seed, its CPU time and its failures.

use std::any::Any;
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use network::{Observe, World};
use scenario::model::Scenario;
use trace::RunRecord;

use crate::baseline::{self, Baseline};
use crate::cpu::Stopwatch;
use crate::{RunError, RunOptions};

/// The scenario as it stands, or one of its baselines.
pub(crate) struct Variant<'a> {
    pub(crate) scenario: Cow<'a, Scenario>,
    /// `None`: the scenario itself.
    pub(crate) baseline: Option<Baseline>,
}

/// One finished replication.
pub(crate) struct Replication {
    pub(crate) record: RunRecord,
    /// `None` where the machine has no clock for it.
    pub(crate) cpu: Option<Duration>,
}

impl<'a> Variant<'a> {
    /// The scenario itself, then its baselines by flow and path.
    pub(crate) fn all(scenario: &'a Scenario) -> Vec<Self> {
        let itself = Self { scenario: Cow::Borrowed(scenario), baseline: None };
        let baselines = baseline::all(scenario)
            .into_iter()
            .map(|(baseline, alone)| Self { scenario: Cow::Owned(alone), baseline: Some(baseline) });
        std::iter::once(itself).chain(baselines).collect()
    }
}

/// Runs `variant` under `seed`. A panic becomes an error that says how to repeat it.
pub(crate) fn simulate(
    variant: &Variant<'_>,
    seed: u64,
    options: &RunOptions,
    cancel: &AtomicBool,
) -> Result<Replication, RunError> {
    let observe = Observe { series: options.series, trace: options.trace && variant.baseline.is_none() };
    let start = Stopwatch::start();
    // Nothing of a world outlives its panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| World::new(&variant.scenario, seed, observe).run(cancel)));
    match outcome {
        Ok(Ok(record)) => Ok(Replication { record, cpu: start.elapsed() }),
        Ok(Err(network::Cancelled)) => Err(RunError::Cancelled),
        Err(panic) => Err(RunError::Failed {
            scenario: variant.scenario.name.clone(),
            seed,
            baseline: variant.baseline.as_ref().map(|b| b.name.clone()),
            message: panic_message(panic.as_ref()),
        }),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a message".into())
}
