//! Whether a connection lives: its failure, the time without any subflow, and which end closes first.

use units::{Nanos, SimTime};

/// How long a connection survives without any subflow (choice D-43).
const BREAK_BEFORE_MAKE: Nanos = Nanos::from_secs(60);

/// Lifetime of one end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    /// When the connection is given up, because all subflows have been dead for a while (choice D-43); `NEVER` while one
    /// lives.
    given_up_at: SimTime,
    failure: Option<&'static str>,
    /// This end closes only when told to.
    held_open: bool,
}

impl Default for Lifetime {
    fn default() -> Self {
        Self { given_up_at: SimTime::NEVER, failure: None, held_open: false }
    }
}

impl Lifetime {
    /// This end closes only when told to.
    pub(super) fn hold_open(&mut self) {
        self.held_open = true;
    }

    /// This end closes only when told to.
    #[inline]
    pub(super) fn is_held_open(&self) -> bool {
        self.held_open
    }

    /// The connection has failed.
    pub(super) fn fail(&mut self, why: &'static str) {
        self.failure = Some(why);
    }

    #[inline]
    pub(super) fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// The last subflow has died.
    pub(super) fn lost_last_subflow(&mut self, now: SimTime) {
        if self.given_up_at.is_never() {
            self.given_up_at = now + BREAK_BEFORE_MAKE;
        }
        debug_assert!(self.given_up_at <= now + BREAK_BEFORE_MAKE, "the last subflow dies in the future");
    }

    /// A subflow has come.
    pub(super) fn gained_subflow(&mut self) {
        self.given_up_at = SimTime::NEVER;
    }

    /// When the connection without subflows is given up.
    #[inline]
    pub(super) fn given_up_at(&self) -> SimTime {
        self.given_up_at
    }
}
