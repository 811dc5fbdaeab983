//! Faults as data: a list of them shrinks well and pastes into a regression test.

use units::{Nanos, SimTime};

/// Direction on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Way {
    /// The opposite.
    pub fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// As an index into pairs by direction.
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Something that goes wrong on a wire. Segments of one way of one wire are counted from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The n-th segment is lost.
    Drop {
        /// Which wire.
        wire: usize,
        /// Which way.
        way: Way,
        /// Which segment.
        n: u64,
    },
    /// The n-th segment is late, so that others overtake it.
    Late {
        /// Which wire.
        wire: usize,
        /// Which way.
        way: Way,
        /// Which segment.
        n: u64,
        /// By how much.
        by: Nanos,
    },
    /// The n-th segment arrives twice.
    Twice {
        /// Which wire.
        wire: usize,
        /// Which way.
        way: Way,
        /// Which segment.
        n: u64,
    },
    /// Both ways are cut in this interval.
    Cut {
        /// Which wire.
        wire: usize,
        /// From here.
        from: SimTime,
        /// To here.
        until: SimTime,
    },
    /// MPTCP options are taken away from the n-th segment of one way on, or on SYNs only.
    Strip {
        /// Which wire.
        wire: usize,
        /// Which way.
        way: Way,
        /// From which segment on.
        from: u64,
        /// On SYNs only.
        syn: bool,
    },
    /// Each segment of one way is lost with this probability.
    Erase {
        /// Which wire.
        wire: usize,
        /// Which way.
        way: Way,
        /// Parts per million.
        ppm: u32,
    },
    /// Each segment is lost with this probability.
    Noise {
        /// Which wire.
        wire: usize,
        /// Per mille.
        per_mille: u32,
    },
}

/// The fate of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub copies: u32,
    pub late: Nanos,
}

/// True if the `n`-th segment of `way` on `wire` loses its MPTCP options.
pub(crate) fn strips(faults: &[Fault], wire: usize, way: Way, n: u64, is_syn: bool) -> bool {
    faults.iter().any(|fault| match *fault {
        Fault::Strip { wire: w, way: y, from, syn } => (w, y) == (wire, way) && n >= from && (is_syn || !syn),
        _ => false,
    })
}

/// Judges the `n`-th segment of `way` on `wire` at `now`; `draw` is a random number below a million for the noise.
pub(crate) fn fate(faults: &[Fault], wire: usize, way: Way, n: u64, now: SimTime, draw: u32) -> Fate {
    let mut fate = Fate { copies: 1, late: Nanos::ZERO };
    for fault in faults {
        match *fault {
            Fault::Drop { wire: w, way: y, n: k } if (w, y, k) == (wire, way, n) => fate.copies = 0,
            Fault::Late { wire: w, way: y, n: k, by } if (w, y, k) == (wire, way, n) => fate.late = by,
            Fault::Twice { wire: w, way: y, n: k } if (w, y, k) == (wire, way, n) && fate.copies > 0 => {
                fate.copies = 2;
            }
            Fault::Cut { wire: w, from, until } if w == wire && (from..until).contains(&now) => {
                fate.copies = 0
            }
            Fault::Noise { wire: w, per_mille } if w == wire && draw < per_mille * 1000 => fate.copies = 0,
            Fault::Erase { wire: w, way: y, ppm } if (w, y) == (wire, way) && draw < ppm => fate.copies = 0,
            _ => {}
        }
    }
    fate
}
