//! Whether the usual way through a machine is open: a short function for what happens to most segments, beside a general
//! way for everything else.

use std::fmt;

/// A machine has one for each of its usual ways. It does not show in the state of the machine, which is the same in both.
#[derive(Clone, Copy)]
pub(crate) struct UsualWay {
    /// The configuration has nothing that the usual way leaves out.
    permitted: bool,
    /// Nothing is going on that it leaves out. Remembered, so that a segment does not ask each part of the machine.
    open: bool,
}

impl fmt::Debug for UsualWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UsualWay")
    }
}

impl UsualWay {
    /// Never open: everything takes the general way.
    pub(crate) const CLOSED: Self = Self { permitted: false, open: false };

    /// Not open yet; never, unless the configuration permits it.
    pub(crate) fn new(permitted: bool) -> Self {
        Self { permitted, open: false }
    }

    #[inline]
    pub(crate) fn is_open(self) -> bool {
        self.open
    }

    /// The configuration permits it.
    #[inline]
    pub(crate) fn is_permitted(self) -> bool {
        self.permitted
    }

    /// An event takes the general way, or is one that the usual way leaves out.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.open = false;
    }

    /// The general way has come to its end; `calm`: nothing is going on that the usual way leaves out.
    #[inline]
    pub(crate) fn return_if(&mut self, calm: bool) {
        debug_assert!(self.permitted || !self.open, "open, and not permitted");
        self.open = self.permitted && calm;
    }
}
