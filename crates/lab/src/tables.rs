//! From records to tidy tables. Column names carry units; a measurement that does not exist is `None`.

mod column;
mod flows;
mod messages;
mod runs;
mod series;

use scenario::model::Scenario;
use trace::metrics::TABLES;
use trace::{Measured, Table};

use crate::backend::Replication;
use crate::replication::Variant;
use flows::FlowRow;

/// All tables, with the columns that are `measured`. `replications` holds, seed after seed, one replication per variant
/// in the order of `variants`.
pub(crate) fn all(
    measured: Measured,
    scenario: &Scenario,
    variants: &[Variant<'_>],
    replications: &[Replication],
) -> Vec<Table> {
    debug_assert!(replications.len().is_multiple_of(variants.len()), "each seed has each variant");
    let seeds: Vec<OneSeed<'_>> =
        replications.chunks(variants.len()).map(|of_seed| OneSeed { variants, of_seed }).collect();
    let rows: Vec<FlowRow<'_>> = seeds.iter().flat_map(flows::rows).collect();
    let mut tables = vec![
        runs::runs(&seeds),
        flows::flows(&rows),
        flows::subflows(&rows),
        runs::links(scenario, &seeds),
        messages::messages(&rows),
        messages::measures(&rows),
        messages::pages(&rows),
        flows::delays(&rows),
        series::series(scenario, &seeds),
    ];
    debug_assert_eq!(tables.len(), TABLES.len(), "every table that is specified");
    for (table, spec) in tables.iter_mut().zip(TABLES) {
        table.blank(spec, measured);
    }
    tables
}

/// Everything that was run under one seed: the scenario itself, then its baselines.
struct OneSeed<'a> {
    variants: &'a [Variant<'a>],
    of_seed: &'a [Replication],
}

impl<'a> OneSeed<'a> {
    fn seed(&self) -> u64 {
        self.of_seed[0].record.seed
    }

    /// The baselines of one flow, with what became of them.
    fn baselines(&self, flow: usize) -> impl Iterator<Item = (&'a Variant<'a>, &'a Replication)> + use<'a> {
        let pairs = self.variants.iter().zip(self.of_seed);
        pairs.filter(move |(variant, _)| variant.baseline.as_ref().is_some_and(|b| b.flow == flow))
    }
}
