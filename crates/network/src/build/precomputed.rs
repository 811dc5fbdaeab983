//! Precomputed rates: a simple link and changes of its rate in place of a rate model.
//!
//! May: walk through a model that no link uses. May not: decide which other properties make a link simple.

use links::RateModel;
use units::{BitsPerSecond, Nanos, SimTime};

/// Limit for the steps of all links of a world together: they are kept in memory.
const MOST: usize = 100_000;

/// Mean time between steps above which they are cheaper than a model: each step recomputes the times of all waiting
/// packets, a model costs a second event per packet.
const PAYS: Nanos = Nanos::from_millis(100);

/// Walks through rate models from the start of a run to its end.
#[derive(Debug)]
pub(crate) struct PrecomputedRates {
    end: SimTime,
    /// Steps that may still be kept.
    left: usize,
}

impl PrecomputedRates {
    /// For a run that is over at `end`.
    pub(crate) fn new(end: SimTime) -> Self {
        Self { end, left: MOST }
    }

    /// The first rate of `model` and its steps. `None` if it has no rate at an instant, is silent at times (a simple
    /// link never is), or has too many steps.
    pub(crate) fn steps(
        &mut self,
        model: &mut dyn RateModel,
    ) -> Option<(BitsPerSecond, Vec<(SimTime, BitsPerSecond)>)> {
        let most = self.left.min((self.end.0 / PAYS.0) as usize);
        let (first, mut at) = model.piece(SimTime::ZERO)?;
        let mut pieces = vec![(SimTime::ZERO, first)];
        while at < self.end {
            let (rate, until) = model.piece(at)?;
            if pieces.len() > most {
                return None;
            }
            pieces.push((at, rate));
            at = until;
        }
        if pieces.iter().any(|(_, rate)| rate.0 == 0) {
            return None;
        }
        pieces.dedup_by_key(|(_, rate)| *rate);
        pieces.remove(0);
        debug_assert!(pieces.is_sorted_by(|one, next| one.0 < next.0), "steps are in the order of time");
        debug_assert!(pieces.len() <= self.left, "more steps than are left");
        self.left -= pieces.len();
        Some((first, pieces))
    }
}

#[cfg(test)]
mod tests {
    use scenario::{Document, Registries};

    use super::*;

    const ENDLESS: &str = "times = [\"0s\", \"1s\", \"2s\"], rates = [\"1Mbit/s\", \"1Mbit/s\", \"3Mbit/s\"]";

    fn steps(rate: &str, rates: &mut PrecomputedRates) -> Option<(u64, Vec<(u64, u64)>)> {
        let text = format!(
            "duration = \"1s\"\n[[path]]\nname = \"beam\"\nboth = {{ rate = {rate}, delay = \"1ms\", queue = \"9p\" }}\n\
             [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\ntransport = {{ kind = \"tcp\" }}\n"
        );
        let registries = Registries::builtin();
        let document =
            Document::parse(&text, "test.toml", &[], &registries).unwrap_or_else(|e| panic!("{e}"));
        let rate = &document.scenario.duplex_links[0].directions[0].rate[0];
        let scenario::model::Setting::Model(choice) = rate else { panic!("no model") };
        let mut model = (choice.row.build)(&choice.options, engine::Stream::named(1, "beam", "rate"));
        let (first, steps) = rates.steps(model.as_mut())?;
        Some((first.0, steps.into_iter().map(|(at, rate)| (at.0, rate.0)).collect()))
    }

    #[test]
    fn what_repeats_does_so_to_the_end_of_the_run() {
        let rate = format!("{{ kind = \"steps\", {ENDLESS}, repeat = \"3s\" }}");
        let mut rates = PrecomputedRates::new(SimTime::from_secs(6));
        let expected =
            vec![(2_000_000_000, 3_000_000), (3_000_000_000, 1_000_000), (5_000_000_000, 3_000_000)];
        assert_eq!(steps(&rate, &mut rates), Some((1_000_000, expected)));
        assert_eq!(rates.left, MOST - 3);
        rates.left = 4;
        assert_eq!(steps(&rate, &mut rates), None);
    }

    #[test]
    fn silence_and_haste_need_a_model() {
        let rates = |rates: &str, repeat: &str| {
            let rate = format!(
                "{{ kind = \"steps\", times = [\"0s\", \"50ms\"], rates = [{rates}], repeat = \"{repeat}\" }}"
            );
            steps(&rate, &mut PrecomputedRates::new(SimTime::from_secs(6)))
        };
        assert!(rates("\"1Mbit/s\", \"2Mbit/s\"", "200ms").is_some());
        assert_eq!(rates("\"1Mbit/s\", \"2Mbit/s\"", "190ms"), None);
        assert_eq!(rates("\"1Mbit/s\", \"0bit/s\"", "200ms"), None);
        assert_eq!(rates("\"0bit/s\", \"1Mbit/s\"", "200ms"), None);
    }
}
