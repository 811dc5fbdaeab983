//! First in, first out; a packet that does not fit is dropped.

use units::QueueLimit;

use super::single::{Policy, SingleQueue};
use super::{Algorithm, limit};

pub(super) const ROW: Algorithm = Algorithm {
    name: "droptail",
    summary: "first in, first out; packets that do not fit are dropped",
    source: "RFC 7567 section 2 (tail drop)",
    notes: "",
    options: &[limit("100p")],
    check: registry::independent,
    build: |options, _| Box::new(DropTail::new(options.limit("limit"))),
};

/// The policy of [`DropTail`]: a packet is dropped if and only if it does not fit.
#[derive(Clone, Copy, Debug)]
pub struct TailDrop;

impl Policy for TailDrop {
    fn is_drop_tail(&self) -> bool {
        true
    }
}

/// A plain queue.
pub type DropTail = SingleQueue<TailDrop>;

impl DropTail {
    /// Empty, with this limit.
    pub fn new(limit: QueueLimit) -> Self {
        Self::with_policy(limit, TailDrop)
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use units::{Nanos, SimTime};

    use super::super::testing::{SIZE, build, serve, steady};
    use super::*;

    /// The longest wait is bytes * 8 / C: 256 KiB at 4 Mbit/s make 0.524 s, 2048 KiB 4.19 s.
    #[test]
    fn the_longest_wait_is_the_queue_over_the_rate() {
        // 1000 B at 4 Mbit/s.
        let service = Nanos::from_millis(2);
        for (limit, bytes, published) in [("256KiB", 262_144u64, 0.524), ("2048KiB", 2_097_152, 4.19)] {
            let mut queue = build(&ROW, &[("limit", limit)]);
            // Twice the load, until the queue has long been full.
            let log =
                serve(&mut *queue, steady(Nanos::from_millis(1), false), service, SimTime::from_secs(20));
            let longest = log.sent.iter().map(|(.., wait)| wait.as_secs_f64()).fold(0.0, f64::max);
            let formula = bytes as f64 * 8.0 / 4e6;
            assert!((formula / published - 1.0).abs() < 0.0015, "{formula}");
            // The last packet to fit leaves part of a packet free, and the one on the transmitter may have begun.
            let packet = f64::from(SIZE) * 8.0 / 4e6;
            assert!(longest <= formula + 1e-9 && longest >= formula - packet, "{longest} is not {formula}");
            assert!(!log.drops.is_empty());
            // The last packet that a full queue takes waits as long as the queue takes to drain.
            let full = bytes / u64::from(SIZE);
            assert_eq!(queue.length(), (full, Bytes(full * u64::from(SIZE))));
        }
    }
}
