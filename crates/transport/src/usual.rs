//! Whether the fast path of a machine, called its usual way, is open: a short function for most segments, beside a general
//! one for all others.

use std::fmt;

/// State of one usual way. `Debug` leaves it out: the state of a machine is the same whichever way its segments took.
#[derive(Clone, Copy)]
pub(crate) struct UsualWay {
    /// The configuration has nothing that the usual way leaves out.
    permitted: bool,
    /// No part of the machine is in a state that it leaves out. Remembered, so that not every segment asks each part.
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

    /// An event needs the general way.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.open = false;
    }

    /// The general way is done. `calm`: no part of the machine is in a state that the usual way leaves out.
    #[inline]
    pub(crate) fn return_if(&mut self, calm: bool) {
        debug_assert!(self.permitted || !self.open, "open, and not permitted");
        self.open = self.permitted && calm;
    }
}
