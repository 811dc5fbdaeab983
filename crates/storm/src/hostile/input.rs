//! Bytes of a fuzzer as a source of decisions, for inputs that are no files.

/// Bytes as a source of decisions; zeros when they are used up.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl Input<'_> {
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(super) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(super) fn below(&mut self, n: u8) -> u8 {
        self.byte() % n
    }

    pub(super) fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// One of these.
    pub(super) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }
}
