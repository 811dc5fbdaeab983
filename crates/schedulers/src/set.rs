//! Sets of subflows.

use std::num::NonZeroU64;

/// A set of subflows, by index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubflowSet(pub u64);

impl SubflowSet {
    /// Indices are below this.
    pub const CAPACITY: usize = 64;

    /// The set of this subflow alone.
    #[inline]
    #[must_use]
    pub fn only(index: usize) -> Self {
        debug_assert!(index < Self::CAPACITY, "subflow {index} does not fit into a set");
        Self(1 << index)
    }

    /// The set of the first `count` subflows.
    #[must_use]
    pub fn below(count: usize) -> Self {
        debug_assert!(count <= Self::CAPACITY, "{count} subflows do not fit into a set");
        (0..count).collect()
    }

    /// Is the subflow in it?
    #[inline]
    pub fn contains(self, index: usize) -> bool {
        debug_assert!(index < Self::CAPACITY, "subflow {index} does not fit into a set");
        self.0 & (1 << index) != 0
    }

    /// No subflow is in it.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a subflow.
    #[inline]
    pub fn insert(&mut self, index: usize) {
        *self = self.union(Self::only(index));
    }

    /// Removes a subflow.
    #[inline]
    pub fn remove(&mut self, index: usize) {
        *self = self.minus(Self::only(index));
    }

    /// Adds or removes a subflow.
    #[inline]
    pub fn set(&mut self, index: usize, member: bool) {
        debug_assert!(index < Self::CAPACITY, "subflow {index} does not fit into a set");
        self.0 = self.0 & !(1 << index) | u64::from(member) << index;
    }

    /// The member with the lowest index.
    #[inline]
    pub fn first(self) -> Option<usize> {
        NonZeroU64::new(self.0).map(|bits| bits.trailing_zeros() as usize)
    }

    /// The only member; `None` if there are none or several.
    #[inline]
    pub fn single(self) -> Option<usize> {
        self.0.is_power_of_two().then(|| self.0.trailing_zeros() as usize)
    }

    /// Members of either set.
    #[inline]
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Members of this set that are not in `other`.
    #[inline]
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its members, ascending.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let bits = NonZeroU64::new(left)?;
            left &= left - 1;
            Some(bits.trailing_zeros() as usize)
        })
    }
}

impl FromIterator<usize> for SubflowSet {
    fn from_iter<T: IntoIterator<Item = usize>>(members: T) -> Self {
        let mut set = Self::default();
        members.into_iter().for_each(|index| set.insert(index));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let mut set: SubflowSet = [0, 3, 63].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 3, 63]);
        assert_eq!((set.first(), set.single()), (Some(0), None));
        set.remove(0);
        set.set(63, false);
        assert_eq!((set.first(), set.single()), (Some(3), Some(3)));
        set.set(3, true);
        set.insert(5);
        assert_eq!(set.minus(SubflowSet::only(3)), SubflowSet::only(5));
        assert_eq!(SubflowSet::below(64), SubflowSet(u64::MAX));
        assert_eq!(SubflowSet::default().first(), None);
    }
}
