//! A place for packets on their way: numbered, and reused last in, first out, so that the warm ones come first.

/// Values by number. Memory grows to the largest number of values held at once and stays.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// Empty.
    pub(crate) const fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }

    /// Stores `value` and returns its number.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = value;
            return number;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// The value stored under `number`, which stays readable until the number is used again.
    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// Gives `number` back.
    pub(crate) fn release(&mut self, number: u32) {
        debug_assert!(self.free.len() < self.values.len(), "packet {number} released twice");
        self.free.push(number);
    }

    /// Values held.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_reused_last_in_first_out() {
        let mut slab = Slab::new();
        let numbers = ["a", "b", "c"].map(|value| slab.insert(value));
        assert_eq!(numbers, [0, 1, 2]);
        slab.release(0);
        slab.release(2);
        assert_eq!((slab.insert("d"), slab.insert("e"), slab.insert("f")), (2, 0, 3));
        assert_eq!((*slab.get(0), *slab.get(1), slab.len()), ("e", "b", 4));
    }
}
