//! Queue disciplines: which packet waits, which goes next, which is dropped or marked. One file each, behind
//! [`QueueDiscipline`]. The packet on the transmitter does not count as waiting.

use std::fmt;

use units::{Bytes, Nanos, QueueLimit, SimTime};

use crate::{Fate, Packet};

mod buffer;
mod builtin;
mod codel;
mod droptail;
mod fq_codel;
mod pie;
mod priority;
mod red;
mod single;

pub use builtin::{Algorithm, Queues, Registry};
pub use droptail::{DropTail, TailDrop};
pub use single::SingleQueue;

use buffer::Buffer;

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
    /// The queue is empty and the transmitter idle: the arriving packet is sent immediately, so the limit does not apply.
    pub idle: bool,
    /// Decisions so far.
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
