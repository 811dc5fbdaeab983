//! Pacing: segments leave no closer together than a rate allows, retransmissions included. A token bucket permits
//! bursts after a pause, where the congestion control asks for one; otherwise a segment that is late buys no credit
//! for those behind it.

use units::{BitsPerSecond, Bytes, SimTime};

/// When the next segment may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Nothing may leave before; `NEVER` while nothing is held back.
    held_until: SimTime,
    /// The bucket is empty until then.
    bucket_empty_until: SimTime,
    /// The rate is still reckoned from this although the window has changed, in hundredths of bytes; 0: from the window.
    basis: u64,
}

impl Pacer {
    /// Nothing is held back.
    pub(super) fn new() -> Self {
        Self { held_until: SimTime::NEVER, bucket_empty_until: SimTime::ZERO, basis: 0 }
    }

    /// The rate is reckoned from this, in hundredths of bytes, if the window has changed since the last ACK.
    pub(super) fn basis(&self) -> Option<u64> {
        (self.basis > 0).then_some(self.basis)
    }

    /// The window is about to change without an ACK.
    pub(super) fn keep_basis(&mut self, basis: u64) {
        self.basis = basis;
    }

    /// An ACK: the rate follows the window.
    #[inline]
    pub(super) fn renew_basis(&mut self) {
        self.basis = 0;
    }

    /// When it releases what it holds back; `NEVER` while it holds nothing.
    #[inline]
    pub(super) fn deadline(&self) -> SimTime {
        self.held_until
    }

    /// True if something is held back, whether or not its time has come.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        !self.held_until.is_never()
    }

    /// True if a segment may leave at `now`.
    #[inline]
    pub(super) fn permits(&self, now: SimTime) -> bool {
        self.held_until.is_never() || self.held_until <= now
    }

    /// Takes the hold away if its time has come. True if segments are held back.
    #[inline]
    pub(super) fn is_held(&mut self, now: SimTime) -> bool {
        if self.held_until <= now {
            self.held_until = SimTime::NEVER;
        }
        !self.held_until.is_never()
    }

    /// `size` bytes leave at `rate`; a pause has saved up at most `burst` bytes, or nothing if that is zero.
    pub(super) fn sent(&mut self, now: SimTime, size: Bytes, rate: BitsPerSecond, burst: Bytes) {
        let cost = rate.time_to_send(size);
        if burst == Bytes::ZERO {
            self.held_until = now + cost;
        } else {
            let empty_until = self.bucket_empty_until.max(now) + cost;
            self.bucket_empty_until = empty_until;
            // The next segment may leave when it fits.
            let credit = rate.time_to_send(burst.saturating_sub(size));
            if now + credit < empty_until {
                self.held_until = SimTime(empty_until.0 - credit.0);
            }
        }
        debug_assert!(self.held_until >= now, "held until a time in the past");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes at 8 Mbit/s take a millisecond.
    #[test]
    fn a_bucket_permits_what_a_pause_has_saved() {
        let (rate, size, ms) = (BitsPerSecond(8_000_000), Bytes(1000), SimTime::from_millis);
        let mut pacer = Pacer::new();
        pacer.sent(ms(0), size, rate, Bytes::ZERO);
        assert_eq!((pacer.deadline(), pacer.permits(ms(1)), pacer.holds()), (ms(1), true, true));
        assert!(!pacer.is_held(ms(1)) && !pacer.holds());
        let mut pacer = Pacer::new();
        for _ in 0..2 {
            pacer.sent(ms(10), size, rate, Bytes(3000));
            assert!(pacer.permits(ms(10)), "two segments besides the present one");
        }
        pacer.sent(ms(10), size, rate, Bytes(3000));
        assert_eq!(pacer.deadline(), ms(11));
    }
}
