//! Queue disciplines: which packet waits, which goes next, which is dropped or marked. One file each, behind
//! [`QueueDiscipline`]. What waits in front of a transmitter does not include the packet on it.

use std::collections::VecDeque;
use std::fmt;

use units::{Bytes, Nanos, QueueLimit, SimTime};

use crate::{Fate, Packet};

mod builtin;
mod codel;
mod droptail;
mod fq_codel;
mod pie;
mod priority;
mod red;

pub use builtin::{Algorithm, Queues, Registry};
pub use droptail::DropTail;

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The packet.
    pub packet: Packet,
    /// Since when.
    pub since: SimTime,
}

/// The instant, and where decisions about packets are written down.
#[derive(Debug)]
pub struct Context<'a> {
    /// The present.
    pub now: SimTime,
    /// Nothing waits and nothing is transmitted: who comes now is next, whatever the limit.
    pub idle: bool,
    /// What becomes of packets.
    pub fates: &'a mut Vec<Fate>,
}

impl Context<'_> {
    /// `packet` is dropped.
    pub fn drop(&mut self, packet: Packet) {
        self.fates.push(Fate::Refused(packet.id));
    }

    /// `packet` stays and is marked.
    pub fn mark(&mut self, packet: Packet) {
        self.fates.push(Fate::Marked(packet.id));
    }

    /// True if `packet` fits behind what waits.
    fn fits(&self, limit: QueueLimit, (packets, bytes): (u64, Bytes), packet: Packet) -> bool {
        self.idle || limit.admits(packets, bytes, Bytes(packet.size.into()))
    }
}

/// A queue in front of a transmitter.
///
/// Random numbers come from a stream of its own.
pub trait QueueDiscipline: fmt::Debug + Send {
    /// Takes `packet` in, or drops it or others.
    fn enqueue(&mut self, packet: Packet, context: &mut Context<'_>);

    /// The packet that is transmitted next; packets may be dropped before it. `None` only if nothing waits any more.
    fn dequeue(&mut self, context: &mut Context<'_>) -> Option<Waiting>;

    /// Packets and bytes that wait.
    fn length(&self) -> (u64, Bytes);

    /// Takes in a packet that waited in the discipline before this one, whatever the limits say.
    fn adopt(&mut self, waiting: Waiting);

    /// Gives up all packets, in the order in which they would most likely have left.
    fn release(&mut self) -> Vec<Waiting>;

    /// The transmission of the packet that was dequeued last took this long.
    fn transmitted(&mut self, _time: Nanos) {}

    /// The limit, of a queue that is first in, first out and drops what does not fit, nothing else.
    fn drop_tail(&self) -> Option<QueueLimit> {
        None
    }
}

/// Packets in the order of arrival, and their bytes.
#[derive(Clone, Debug, Default)]
struct Buffer {
    packets: VecDeque<Waiting>,
    bytes: Bytes,
}

impl Buffer {
    fn push(&mut self, waiting: Waiting) {
        self.bytes += Bytes(waiting.packet.size.into());
        self.packets.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= Bytes(waiting.packet.size.into());
        Some(waiting)
    }

    fn pop_back(&mut self) -> Option<Waiting> {
        let waiting = self.packets.pop_back()?;
        self.bytes -= Bytes(waiting.packet.size.into());
        Some(waiting)
    }

    fn length(&self) -> (u64, Bytes) {
        (self.packets.len() as u64, self.bytes)
    }

    fn release(&mut self) -> Vec<Waiting> {
        self.bytes = Bytes::ZERO;
        self.packets.drain(..).collect()
    }
}

/// The limit that all disciplines have.
const fn limit(default: &'static str) -> registry::OptionSpec {
    registry::OptionSpec::new("limit", registry::OptionKind::Limit, default, "what may wait; more is dropped")
}

/// Marks instead of drops.
const ECN: registry::OptionSpec = registry::OptionSpec::new(
    "ecn",
    registry::OptionKind::Flag,
    "false",
    "packets that carry ECN are marked instead of dropped early",
);

#[cfg(test)]
mod testing;
