//! The queue disciplines by name: the one place that a new one is entered. A bare limit is `droptail`.

use engine::Stream;
use registry::{Family, Options};

use super::{QueueDiscipline, codel, droptail, fq_codel, pie, priority, red};

/// The queue disciplines.
#[derive(Clone, Copy, Debug)]
pub enum Queues {}

impl Family for Queues {
    type Build = fn(&Options, Stream) -> Box<dyn QueueDiscipline>;
    const BUILTIN: &'static [Algorithm] =
        &[droptail::ROW, red::ROW, codel::ROW, fq_codel::ROW, pie::ROW, priority::ROW];
}

/// A row of the registry; `build` makes the queue of one link direction, with random numbers of its own.
pub type Algorithm = registry::Algorithm<Queues>;

/// All rows by name.
pub type Registry = registry::Registry<Queues>;

#[cfg(test)]
mod tests {
    use units::{Nanos, SimTime};

    use super::super::testing::{build, serve, steady};
    use super::*;

    /// RFC 3168 section 5: a mark is for packets that carry ECN, where the queue speaks it.
    #[test]
    fn only_ecn_is_marked_and_everything_else_is_dropped() {
        let mut found = Vec::new();
        for row in Registry::builtin().iter().filter(|row| row.options.iter().any(|o| o.name == "ecn")) {
            for (ecn, carries) in [("false", true), ("true", false), ("true", true)] {
                let mut queue = build(row, &[("ecn", ecn)]);
                let packets = steady(Nanos(950_000), carries);
                let log = serve(&mut *queue, packets, Nanos::from_millis(1), SimTime::from_secs(20));
                let speaks = ecn == "true" && carries;
                assert_eq!(log.marks.is_empty(), !speaks, "{} {ecn} {carries}", row.name);
                assert!(speaks || log.drops.len() > 10, "{} {ecn} {carries}", row.name);
                found.push(row.name);
            }
        }
        found.dedup();
        assert_eq!(found, ["red", "codel", "fq_codel", "pie"]);
    }
}
