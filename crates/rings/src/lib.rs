//! A queue whose entries have numbers that do not change, in a ring of places.
//!
//! May: hold entries in the order in which they came. May not: know what they are.
//!
//! `VecDeque` names an entry by its distance from the front. So all such names change with each entry that is taken out, and each place is found
//! by a comparison with the capacity. Here the first entry ever has number 0, and the place of an entry is its number under a mask.

use std::fmt;

/// Entries by number. `FIRST`, a power of two, is the number of places for which memory is taken first.
#[derive(Clone)]
pub struct Ring<T, const FIRST: usize = 4> {
    /// A power of two of them, or none.
    places: Box<[T]>,
    first: usize,
    next: usize,
}

impl<T, const FIRST: usize> Default for Ring<T, FIRST> {
    fn default() -> Self {
        Self { places: Box::default(), first: 0, next: 0 }
    }
}

impl<T: Copy + fmt::Debug, const FIRST: usize> fmt::Debug for Ring<T, FIRST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries((self.first..self.next).zip(self.iter())).finish()
    }
}

impl<T: Copy, const FIRST: usize> Ring<T, FIRST> {
    /// Number of the first entry; without entries, that of the next one to be added.
    #[inline]
    pub fn first(&self) -> usize {
        self.first
    }

    /// Number of the entry that comes next.
    #[inline]
    pub fn next(&self) -> usize {
        self.next
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.next - self.first
    }

    /// True without entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next == self.first
    }

    /// Places for entries.
    pub fn capacity(&self) -> usize {
        self.places.len()
    }

    /// True if the next entry has no place.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.len() == self.places.len()
    }

    /// Adds an entry.
    #[inline(always)]
    pub fn push(&mut self, entry: T) {
        // The call comes last: a function that ends with this saves no registers for it.
        if self.is_full() { self.push_and_grow(entry) } else { self.push_within(entry) }
    }

    /// Adds an entry to a ring that is not full.
    #[inline(always)]
    pub fn push_within(&mut self, entry: T) {
        debug_assert!(!self.is_full(), "an entry without a place");
        let place = self.place(self.next);
        self.places[place] = entry;
        self.next += 1;
    }

    #[cold]
    #[inline(never)]
    fn push_and_grow(&mut self, entry: T) {
        self.grow(entry);
        self.push_within(entry);
    }

    /// Doubles the places; the new ones hold `filler`.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, filler: T) {
        let mut places = vec![filler; (2 * self.places.len()).max(FIRST)].into_boxed_slice();
        let mask = places.len() - 1;
        for (number, entry) in (self.first..).zip(self.iter()) {
            places[number & mask] = *entry;
        }
        self.places = places;
        debug_assert!(self.places.len().is_power_of_two(), "{} places", self.places.len());
    }

    /// Gives the memory back, if there are no entries and more places than these.
    #[inline]
    pub fn give_back_beyond(&mut self, places: usize) {
        if self.is_empty() && self.places.len() > places {
            self.places = Box::default();
        }
    }

    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        number & self.places.len().wrapping_sub(1)
    }

    /// Is there an entry of this number? One before the first is farther away than the last.
    #[inline(always)]
    fn holds(&self, number: usize) -> bool {
        number.wrapping_sub(self.first) < self.len()
    }

    /// The entry of this number.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        if self.holds(number) { self.places.get(self.place(number)) } else { None }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        let place = self.place(number);
        if self.holds(number) { self.places.get_mut(place) } else { None }
    }

    /// The first entry.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.place(self.first)) }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.first)
    }

    /// The last entry.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        self.get(self.next.wrapping_sub(1))
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.next.wrapping_sub(1))
    }

    /// Takes out the first entry, which must be there.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        debug_assert!(!self.is_empty(), "there is no entry to take out");
        self.first += 1;
    }

    /// Takes out the first entry.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.first += 1;
        Some(entry)
    }

    /// Takes out the entry of this number; those behind it move up.
    pub fn remove(&mut self, number: usize) -> Option<T> {
        let removed = *self.get(number)?;
        for later in number + 1..self.next {
            let (from, to) = (self.place(later), self.place(later - 1));
            self.places[to] = self.places[from];
        }
        self.next -= 1;
        Some(removed)
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.iter_from(self.first)
    }

    /// The entries from this number on.
    pub fn iter_from(&self, number: usize) -> impl DoubleEndedIterator<Item = &T> {
        (number.max(self.first)..self.next).map(|number| &self.places[self.place(number)])
    }

    /// Changes all entries.
    pub fn for_each(&mut self, mut change: impl FnMut(&mut T)) {
        for number in self.first..self.next {
            let place = self.place(number);
            change(&mut self.places[place]);
        }
    }

    /// Number of the first entry for which `before` does not hold, as it does for all in front of it.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.places[self.place(middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Entries that are their own numbers, beside `VecDeque`.
    #[test]
    fn numbers_stay_while_entries_come_and_go() {
        let (mut ring, mut expected) = (Ring::<usize>::default(), VecDeque::new());
        for round in 0..200 {
            for _ in 0..round % 7 {
                expected.push_back(ring.next());
                ring.push(ring.next());
            }
            for _ in 0..round % 5 {
                assert_eq!(ring.front(), expected.front());
                assert_eq!(ring.pop_front(), expected.pop_front());
            }
            assert!(ring.iter().eq(&expected) && ring.iter().rev().eq(expected.iter().rev()));
            assert_eq!((ring.len(), ring.is_empty()), (expected.len(), expected.is_empty()));
            let (first, next) = (ring.first(), ring.next());
            assert!((first..next).all(|number| ring.get(number) == Some(&number)));
            assert_eq!([first.wrapping_sub(1), next].map(|number| ring.get(number)), [None; 2]);
            assert_eq!(ring.back(), expected.back());
            let middle = (first + next) / 2;
            assert_eq!(ring.partition_point(|entry| *entry < middle), middle);
            assert!(ring.iter_from(middle).eq(expected.iter().skip(middle - first)));
        }
        assert!(ring.len() > 100 && ring.capacity() < 4 * ring.len(), "{ring:?}");
    }

    #[test]
    fn what_is_taken_out_of_the_middle_leaves_no_gap() {
        let mut ring = Ring::<u32>::default();
        (0..6).for_each(|entry| ring.push(entry));
        ring.drop_front();
        ring.push(6);
        assert_eq!((ring.remove(3), ring.remove(0), ring.remove(6)), (Some(3), None, None));
        assert_eq!(format!("{ring:?}"), "{1: 1, 2: 2, 3: 4, 4: 5, 5: 6}");
        ring.for_each(|entry| *entry *= 2);
        if let Some(entry) = ring.get_mut(4) {
            *entry += 1;
        }
        assert!(ring.iter().eq(&[2, 4, 8, 11, 12]));
    }

    #[test]
    fn memory_grows_from_the_first_places_and_is_given_back() {
        let mut ring = Ring::<u8, 1>::default();
        let capacities: Vec<_> = (0..5).map(|entry| (ring.push(entry), ring.capacity()).1).collect();
        assert_eq!(capacities, [1, 2, 4, 4, 8]);
        ring.give_back_beyond(4);
        assert_eq!(ring.capacity(), 8, "there are entries");
        (0..5).for_each(|_| ring.drop_front());
        ring.give_back_beyond(8);
        assert_eq!(ring.capacity(), 8);
        ring.give_back_beyond(4);
        assert_eq!((ring.capacity(), ring.front(), ring.next()), (0, None, 5));
        ring.push(9);
        assert_eq!((ring.get(5), ring.back(), ring.capacity()), (Some(&9), Some(&9), 1));
    }
}
