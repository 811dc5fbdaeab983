//! From records to tidy tables. Column names carry units; a measurement that does not exist is `None`.

mod column;
mod flows;
mod joins;
mod legs;
mod messages;
mod runs;
mod series;

use scenario::Draw;
use scenario::model::Scenario;
use trace::metrics::{RUNS, TABLES};
use trace::{Column, Data, Measured, Table};

use crate::backend::Replication;
use crate::replication::Variant;
use flows::FlowRow;

/// All tables, with the columns that are `measured`. `replications` holds, seed after seed, one replication per variant
/// in the order of `variants`, which has one list per seed or one list for all.
pub(crate) fn all(
    measured: Measured,
    scenario: &Scenario,
    variants: &[Vec<Variant<'_>>],
    replications: &[Replication],
) -> Vec<Table> {
    let width = variants[0].len();
    debug_assert!(replications.len().is_multiple_of(width), "each seed has each variant");
    let chunks = replications.chunks(width).enumerate();
    let seeds: Vec<OneSeed<'_>> = chunks
        .map(|(place, of_seed)| OneSeed { variants: crate::of_seed(variants, place), of_seed })
        .collect();
    let rows: Vec<FlowRow<'_>> = seeds.iter().flat_map(flows::rows).collect();
    let mut tables = vec![
        runs::runs(&seeds),
        flows::flows(&rows),
        flows::subflows(&rows),
        legs::legs(scenario, &rows),
        joins::failed_joins(scenario, &rows),
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

/// Adds a column for each drawn value to the table of runs.
pub(crate) fn add_draws(tables: &mut [Table], draws: &[Draw], seeds: &[u64]) {
    let Some(runs) = tables.iter_mut().find(|table| table.name == RUNS.name) else { return };
    for draw in draws {
        let data = Data::Real(seeds.iter().map(|seed| Some(draw.value(*seed))).collect());
        runs.columns.push(Column { name: draw.column().into(), data });
    }
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

    /// The baselines of one flow and their replications.
    fn baselines(&self, flow: usize) -> impl Iterator<Item = (&'a Variant<'a>, &'a Replication)> + use<'a> {
        let pairs = self.variants.iter().zip(self.of_seed);
        pairs.filter(move |(variant, _)| variant.baseline.as_ref().is_some_and(|b| b.flow == flow))
    }
}
