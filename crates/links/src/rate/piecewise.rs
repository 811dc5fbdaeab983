//! Rates that are constant between instants: what steps, series, Markov chains and ACM have in common.

use std::collections::VecDeque;
use std::fmt;

use units::{BitsPerSecond, SimTime};

use super::RateModel;

/// Where the pieces come from.
pub(super) trait Source: fmt::Debug + Send {
    /// The next piece: when it begins, and its rate. The first begins at zero, later ones strictly after the one before.
    /// `None`: the last piece lasts.
    fn next(&mut self) -> Option<(SimTime, BitsPerSecond)>;
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    from: SimTime,
    rate: BitsPerSecond,
}

impl Piece {
    fn work_per_ns(self) -> u128 {
        self.rate.0.into()
    }
}

/// A rate made of pieces, which are taken from the source as they are needed.
#[derive(Debug)]
pub(super) struct Piecewise<S> {
    source: S,
    /// Pieces in order; the first contains the latest instant given to `forget`.
    pieces: VecDeque<Piece>,
    /// Nothing comes after the last piece.
    complete: bool,
    /// Work up to the beginning of the first piece.
    before: u128,
}

/// Pieces without any capacity in a row after which the link counts as dead: a source may be endless.
const MOST_SILENT: u32 = 1_000_000;

impl<S: Source> Piecewise<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, pieces: VecDeque::new(), complete: false, before: 0 }
    }

    /// The piece with this index, if there is one.
    fn known(&mut self, index: usize) -> Option<Piece> {
        while self.pieces.len() <= index && !self.complete {
            match self.source.next() {
                // The end of time has been reached: all further pieces would begin there as well.
                Some(_) if self.pieces.back().is_some_and(|last| last.from == SimTime::NEVER) => {
                    self.complete = true;
                }
                Some((from, rate)) => {
                    debug_assert!(
                        self.pieces.back().is_none_or(|last| last.from < from),
                        "a piece at {from} behind {:?}",
                        self.pieces.back()
                    );
                    self.pieces.push_back(Piece { from, rate });
                }
                None => self.complete = true,
            }
        }
        self.pieces.get(index).copied()
    }

    fn begins(&mut self, index: usize) -> SimTime {
        self.known(index).map_or(SimTime::NEVER, |piece| piece.from)
    }

    /// Forgets the pieces that end by `at`.
    fn forget(&mut self, at: SimTime) {
        while self.begins(1) <= at && self.pieces.len() > 1 {
            let next = self.pieces[1].from;
            let Some(first) = self.pieces.pop_front() else { return };
            self.before += first.work_per_ns() * u128::from(next.since(first.from).0);
        }
        debug_assert!(
            self.pieces.front().is_none_or(|first| first.from <= at),
            "{at} lies in a forgotten piece"
        );
    }

    /// Work from the start of the run to `until`, which lies in the first known piece or later.
    fn integral(&mut self, until: SimTime) -> u128 {
        let mut sum = self.before;
        let mut index = 0;
        while let Some(piece) = self.known(index)
            && piece.from < until
        {
            index += 1;
            let to = self.begins(index).min(until);
            sum += piece.work_per_ns() * u128::from(to.since(piece.from).0);
        }
        sum
    }
}

impl<S: Source> RateModel for Piecewise<S> {
    fn ready(&mut self, at: SimTime) -> SimTime {
        self.forget(at);
        let mut index = 0;
        while let Some(piece) = self.known(index)
            && index < MOST_SILENT as usize
        {
            if piece.rate.0 > 0 {
                return piece.from.max(at);
            }
            index += 1;
        }
        SimTime::NEVER
    }

    fn end(&mut self, start: SimTime, work: u128) -> SimTime {
        self.forget(start);
        let (mut index, mut left, mut silent) = (0, work, 0);
        while let Some(piece) = self.known(index)
            && silent < MOST_SILENT
        {
            index += 1;
            let (from, to) = (piece.from.max(start), self.begins(index));
            let capacity = piece.work_per_ns().saturating_mul(u128::from(to.since(from).0));
            if piece.rate.0 > 0 && (capacity >= left || to.is_never()) {
                let time = u64::try_from(left.div_ceil(piece.work_per_ns())).unwrap_or(u64::MAX);
                return SimTime(from.0.saturating_add(time));
            }
            debug_assert!(capacity < left || piece.rate.0 == 0, "the piece is long enough");
            left -= capacity;
            silent = if piece.rate.0 == 0 { silent + 1 } else { 0 };
        }
        SimTime::NEVER
    }

    fn capacity(&mut self, until: SimTime) -> u128 {
        self.integral(until)
    }

    fn served(&mut self, start: SimTime, now: SimTime) -> u128 {
        let (begun, done) = (self.integral(start), self.integral(now));
        debug_assert!(begun <= done, "less work is done at {now} than at {start}");
        done - begun
    }

    fn piece(&mut self, at: SimTime) -> Option<(BitsPerSecond, SimTime)> {
        self.forget(at);
        let piece = self.known(0)?;
        Some((piece.rate, self.begins(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::work_of;
    use units::Bytes;

    #[derive(Debug)]
    struct List(std::vec::IntoIter<(u64, u64)>);

    impl Source for List {
        fn next(&mut self) -> Option<(SimTime, BitsPerSecond)> {
            self.0.next().map(|(ms, rate)| (SimTime::from_millis(ms), BitsPerSecond(rate)))
        }
    }

    fn rate(pieces: Vec<(u64, u64)>) -> Piecewise<List> {
        Piecewise::new(List(pieces.into_iter()))
    }

    #[test]
    fn a_transmission_goes_through_pieces_exactly() {
        let mut rate = rate(vec![(0, 8_000_000), (1, 4_000_000), (2, 0), (5, 1_000_000)]);
        // 2000 bytes: 1000 in the first ms, 500 in the second, nothing until 5 ms, 500 in 4 ms.
        let end = rate.end(SimTime::ZERO, work_of(Bytes(2000)));
        assert_eq!(end, SimTime::from_millis(9));
        assert_eq!(rate.served(SimTime::ZERO, SimTime(1_500_000)), work_of(Bytes(1250)));
        assert_eq!(rate.ready(SimTime::from_millis(3)), SimTime::from_millis(5));
        assert_eq!(rate.capacity(SimTime::from_millis(9)), work_of(Bytes(2000)));
        assert_eq!(rate.ready(SimTime::from_millis(7)), SimTime::from_millis(7));
        assert_eq!(rate.capacity(SimTime::from_millis(9)), work_of(Bytes(2000)));
    }

    #[test]
    fn without_any_further_capacity_nothing_ends() {
        let mut rate = rate(vec![(0, 8_000_000), (1, 0)]);
        assert_eq!(rate.end(SimTime::ZERO, work_of(Bytes(1000))), SimTime::from_millis(1));
        assert_eq!(rate.end(SimTime::ZERO, work_of(Bytes(1001))), SimTime::NEVER);
        assert_eq!(rate.ready(SimTime::from_millis(1)), SimTime::NEVER);
    }

    /// Times that saturate: after the first piece all begin at the end of time.
    #[derive(Debug)]
    struct Saturated(SimTime);

    impl Source for Saturated {
        fn next(&mut self) -> Option<(SimTime, BitsPerSecond)> {
            Some((std::mem::replace(&mut self.0, SimTime::NEVER), BitsPerSecond(0)))
        }
    }

    #[test]
    fn pieces_end_with_time() {
        let mut rate = Piecewise::new(Saturated(SimTime::ZERO));
        assert_eq!(rate.ready(SimTime::from_millis(1)), SimTime::NEVER);
        assert_eq!(rate.end(SimTime::ZERO, work_of(Bytes(1))), SimTime::NEVER);
        assert_eq!(rate.pieces.len(), 2, "the first one and the end of time");
    }
}
