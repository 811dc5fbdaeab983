//! One replication: a variant of the scenario under one seed on a back end.

use std::borrow::Cow;

use network::{Observe, Watch};
use scenario::model::Scenario;

use crate::backend::{Backend, Failure, Replication};
use crate::baseline::{self, Baseline};
use crate::{RunError, RunOptions};

/// The scenario as it stands, or one of its baselines.
pub(crate) struct Variant<'a> {
    pub(crate) scenario: Cow<'a, Scenario>,
    /// `None`: the scenario itself.
    pub(crate) baseline: Option<Baseline>,
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

/// Runs `variant` under `seed`. A failure names both.
pub(crate) fn replicate(
    backend: &dyn Backend,
    variant: &Variant<'_>,
    seed: u64,
    options: &RunOptions,
    watch: &dyn Watch,
) -> Result<Replication, RunError> {
    let able = backend.observes();
    let observe = Observe {
        series: options.series && able.series,
        trace: options.trace && able.trace && variant.baseline.is_none(),
    };
    let outcome = match &options.capture {
        Some(order) if variant.baseline.is_none() => {
            backend.run_captured(&variant.scenario, seed, observe, order, watch)
        }
        _ => backend.run(&variant.scenario, seed, observe, watch),
    };
    let replication = outcome.map_err(|failure| match failure {
        Failure::Cancelled => RunError::Cancelled,
        Failure::Grown(held) => RunError::Grown(held),
        Failure::Failed { message, help } => RunError::Failed {
            scenario: variant.scenario.name.clone(),
            seed,
            baseline: variant.baseline.as_ref().map(|b| b.name.clone()),
            message,
            help,
        },
    })?;
    let record = &replication.record;
    debug_assert_eq!(record.seed, seed, "a record of another seed");
    debug_assert_eq!(record.flows.len(), variant.scenario.flows.len(), "a record of each flow");
    debug_assert!(
        record.end.0 <= variant.scenario.duration.0,
        "the run ended at {} of {}",
        record.end,
        variant.scenario.duration
    );
    Ok(replication)
}
