//! The queue disciplines by name: the one place that a new one is entered. A bare limit is `droptail`.

use engine::Stream;
use units::{Family, Options};

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
pub type Algorithm = units::Algorithm<Queues>;

/// All rows by name.
pub type Registry = units::Registry<Queues>;
