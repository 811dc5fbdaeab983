//! Sets of sequence-number ranges: data that arrived out of order, was SACKed, or must be sent again.

use std::collections::VecDeque;

use crate::seq::Position;

/// Number of the highest ranges that are searched one by one.
const NEAR: usize = 4;

/// Positions `start..end`, `end` excluded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range<P = u64> {
    /// First.
    pub start: P,
    /// After the last.
    pub end: P,
}

impl<P: Position> Range<P> {
    /// `start..end`.
    pub const fn new(start: P, end: P) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    pub fn len(self) -> u64 {
        self.end.distance().saturating_sub(self.start.distance())
    }

    /// True if it holds nothing.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// True if every number of `other` is in it.
    pub fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Disjoint, non-touching ranges in ascending order. They come and go at the ends for the most part, and a burst of
/// losses makes thousands of them: a deque takes from its front without moving the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet<P = u64> {
    ranges: VecDeque<Range<P>>,
    bytes: u64,
}

impl<P> RangeSet<P> {
    /// Nothing.
    pub const EMPTY: Self = Self { ranges: VecDeque::new(), bytes: 0 };
}

impl<P: Position> RangeSet<P> {
    /// Numbers in the set.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<P>> + ExactSizeIterator {
        self.ranges.iter().copied()
    }

    /// Number after the highest one in the set, 0 if empty.
    pub fn end(&self) -> P {
        self.ranges.back().map_or(P::at(0), |r| r.end)
    }

    /// How many ranges lie before what is looked for. Most searches end at the front or among the highest ranges, which
    /// arrived last: these are looked at one by one, and only what lies deeper is searched.
    fn count(&self, before: impl Fn(&Range<P>) -> bool) -> usize {
        if self.ranges.front().is_none_or(|first| !before(first)) {
            return 0;
        }
        let len = self.ranges.len();
        for end in (len.saturating_sub(NEAR).max(1)..=len).rev() {
            if before(&self.ranges[end - 1]) {
                return end;
            }
        }
        self.ranges.partition_point(before)
    }

    /// The range that holds `point`.
    pub fn find(&self, point: P) -> Option<Range<P>> {
        let first = *self.ranges.front()?;
        if point < first.end {
            return (first.start <= point).then_some(first);
        }
        let last = *self.ranges.back()?;
        if last.start <= point {
            return (point < last.end).then_some(last);
        }
        let i = self.count(|r| r.end <= point);
        self.ranges.get(i).copied().filter(|r| r.start <= point)
    }

    /// True if all of `range` is in the set.
    #[inline]
    pub fn covers(&self, range: Range<P>) -> bool {
        // Asked for each segment, and empty for most of them.
        range.is_empty() || !self.is_empty() && self.find(range.start).is_some_and(|r| r.end >= range.end)
    }

    /// Adds `range`; returns how many numbers were not in the set before.
    pub fn insert(&mut self, range: Range<P>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        // The latest arrival is mostly the highest.
        match self.ranges.back_mut() {
            Some(last) if range.start < last.start => self.merge(range),
            Some(last) if range.start <= last.end => {
                let fresh = Range::new(last.end, range.end).len();
                last.end = last.end.max(range.end);
                self.bytes += fresh;
                fresh
            }
            _ => {
                self.ranges.push_back(range);
                self.bytes += range.len();
                range.len()
            }
        }
    }

    /// All ranges that overlap or touch the new one become one.
    fn merge(&mut self, range: Range<P>) -> u64 {
        let first = self.count(|r| r.end < range.start);
        let touched = self.ranges.range(first..).take_while(|r| r.start <= range.end);
        let (count, before) = touched.fold((0, 0), |(n, bytes), r| (n + 1, bytes + r.len()));
        let last = first + count;
        if first == last {
            self.ranges.insert(first, range);
            self.bytes += range.len();
            return range.len();
        }
        let merged =
            Range::new(self.ranges[first].start.min(range.start), self.ranges[last - 1].end.max(range.end));
        self.ranges[first] = merged;
        if count > 1 {
            self.ranges.drain(first + 1..last);
        }
        self.bytes += merged.len() - before;
        merged.len() - before
    }

    /// Removes everything below `point`.
    pub fn remove_below(&mut self, point: P) {
        while let Some(first) = self.ranges.front().copied()
            && first.end <= point
        {
            self.bytes -= first.len();
            self.ranges.pop_front();
        }
        if let Some(first) = self.ranges.front_mut()
            && first.start < point
        {
            self.bytes -= Range::new(first.start, point).len();
            first.start = point;
        }
    }

    /// Removes everything up to the first gap at or above `point`; returns where that gap begins, which is `point`
    /// itself if the set does not hold it.
    pub fn take_from(&mut self, point: P) -> P {
        while let Some(first) = self.ranges.front().copied()
            && first.start <= point
        {
            self.bytes -= first.len();
            self.ranges.pop_front();
            // Ranges do not touch: behind it begins a gap.
            if first.end >= point {
                return first.end;
            }
        }
        point
    }

    /// The first part of `range` that is not in the set.
    pub fn first_gap(&self, range: Range<P>) -> Option<Range<P>> {
        if range.is_empty() {
            return None;
        }
        let mut from = range.start;
        let first = self.count(|r| r.end <= range.start);
        for known in self.ranges.range(first..).take_while(|r| r.start < range.end) {
            if known.start > from {
                return Some(Range::new(from, known.start));
            }
            from = known.end;
        }
        (from < range.end).then_some(Range::new(from, range.end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the obvious model: one flag per number.
        #[test]
        fn behaves_like_a_set_of_numbers(ops in vec((0u64..120, 1u64..25, 0u8..6), 1..80)) {
            let (mut set, mut model) = (RangeSet::default(), vec![false; 200]);
            for (start, len, op) in ops {
                let range = Range::new(start, start + len);
                let inside = start as usize..(start + len) as usize;
                match op {
                    0 => {
                        set.remove_below(start);
                        model[..start as usize].fill(false);
                    }
                    1 => {
                        let end = set.take_from(start);
                        let gap = model[start as usize..].iter().position(|x| !*x).unwrap() as u64;
                        prop_assert_eq!(end, start + gap);
                        model[..end as usize].fill(false);
                    }
                    _ => {
                        let fresh = model[inside.clone()].iter().filter(|x| !**x).count() as u64;
                        let (mut gaps, mut rest) = (0, range);
                        while let Some(gap) = set.first_gap(rest) {
                            gaps += gap.len();
                            rest.start = gap.end;
                        }
                        prop_assert_eq!(gaps, fresh);
                        prop_assert_eq!(set.insert(range), fresh);
                        model[inside].fill(true);
                        prop_assert!(set.covers(range));
                    }
                }
                prop_assert_eq!(set.bytes(), model.iter().filter(|x| **x).count() as u64);
                let ranges: Vec<Range> = set.iter().collect();
                for pair in ranges.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
                for (n, member) in model.iter().enumerate() {
                    prop_assert_eq!(set.find(n as u64).is_some(), *member);
                }
            }
        }
    }
}
