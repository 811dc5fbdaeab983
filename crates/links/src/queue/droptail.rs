//! First in, first out; what does not fit is dropped.

use units::{Bytes, QueueLimit};

use super::{Algorithm, Buffer, Context, QueueDiscipline, Waiting, limit};
use crate::Packet;

pub(super) const ROW: Algorithm = Algorithm {
    name: "droptail",
    summary: "first in, first out; what does not fit is dropped",
    source: "RFC 7567 section 2 (tail drop)",
    notes: "",
    options: &[limit("100p")],
    check: registry::independent,
    build: |options, _| Box::new(DropTail::new(options.limit("limit"))),
};

/// A plain queue.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: QueueLimit,
    buffer: Buffer,
}

impl DropTail {
    /// Empty, with this limit.
    pub fn new(limit: QueueLimit) -> Self {
        Self { limit, buffer: Buffer::default() }
    }
}

impl QueueDiscipline for DropTail {
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>) {
        if context.fits(self.limit, self.buffer.length(), packet) {
            self.buffer.push(Waiting { packet, since: context.now });
        } else {
            context.drop(packet);
        }
    }

    fn dequeue(&mut self, _context: &mut Context<'_>) -> Option<Waiting> {
        self.buffer.pop()
    }

    fn length(&self) -> (u64, Bytes) {
        self.buffer.length()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.buffer.push(waiting);
    }

    fn release(&mut self) -> Vec<Waiting> {
        self.buffer.release()
    }

    fn drop_tail(&self) -> Option<QueueLimit> {
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
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
            // What arrives when the queue is full waits as long as it takes to drain.
            let full = bytes / u64::from(SIZE);
            assert_eq!(queue.length(), (full, Bytes(full * u64::from(SIZE))));
        }
    }
}
