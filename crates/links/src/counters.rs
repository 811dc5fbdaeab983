//! Counters of a link direction.

use units::{Bytes, Nanos};

/// Counters of a link direction from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that left the transmitter, lost in transit included.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Packets dropped by the queue: refused because it is full, or dropped by its discipline.
    pub drops_queue: u64,
    /// Packets that left the transmitter and were lost by the loss model.
    pub drops_error: u64,
    /// Packets cut off on the transmitter when the link went down.
    pub drops_down: u64,
    /// Packets with bit errors that a checksum at the far end found.
    pub drops_corrupt: u64,
    /// Second copies that the link made.
    pub duplicated: u64,
    /// Packets that the queue discipline marked instead of dropping them.
    pub marked: u64,
    /// Largest number of packets waiting.
    pub queue_max: u64,
    /// Longest wait in the queue of a packet that left the transmitter.
    pub queue_delay_max: Nanos,
    /// Sum of the waits, in nanoseconds.
    queue_delay_sum: u128,
}

impl Counters {
    /// A packet has left the transmitter after this wait in the queue.
    pub(crate) fn departure(&mut self, size: Bytes, wait: Nanos) {
        self.packets += 1;
        self.bytes += size;
        self.queue_delay_sum += u128::from(wait.0);
        self.queue_delay_max = self.queue_delay_max.max(wait);
        self.check();
    }

    /// Every packet that left has a size, and loss and damage strike packets that left.
    pub(crate) fn check(&self) {
        debug_assert!(self.bytes.0 >= self.packets, "{} packets of {} in all", self.packets, self.bytes);
        debug_assert!(
            self.drops_error + self.drops_corrupt <= self.packets,
            "more drops than packets: {self:?}"
        );
        debug_assert!(self.duplicated <= self.packets, "more copies than packets: {self:?}");
        debug_assert!(
            self.queue_delay_sum <= u128::from(self.queue_delay_max.0) * u128::from(self.packets),
            "the mean wait exceeds the longest: {self:?}"
        );
    }

    /// Mean wait in the queue of the packets that left the transmitter; zero if there are none.
    pub fn queue_delay_mean(&self) -> Nanos {
        Nanos((self.queue_delay_sum / u128::from(self.packets.max(1))) as u64)
    }
}
