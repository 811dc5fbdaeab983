//! Taps: observers of packets on links.
//!
//! May: be shown packets and changes of links. May not: change them; a run is the same with and without a tap.

use transport::packet::Packet;
use units::SimTime;

use crate::net::address::PacketAddresses;
use crate::net::topology::LinkId;

/// An event of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacketEvent {
    /// Refused by a full queue.
    DropQueue,
    /// Lost by the loss model; observed when the packet is offered to the link.
    DropError,
    /// Cut off when the link went down.
    DropDown,
    /// Damaged: dropped by a checksum at the far end.
    DropCheck,
    /// A copy that the link made reaches its far end.
    Duplicate,
    /// Marked by a queue: congestion experienced.
    Mark,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// It goes down.
    Down,
    /// It comes up again.
    Up,
    /// Another parameter changes.
    Change,
}

/// Observes packets with a body of type `B`.
pub(crate) trait Tap<B> {
    /// It asks for lines of the readable trace, from beginning to end.
    fn is_tracing(&self) -> bool;

    /// Something happens to a packet on `link`.
    fn packet_event(
        &mut self,
        now: SimTime,
        event: PacketEvent,
        link: LinkId,
        addresses: PacketAddresses,
        packet: &Packet<B>,
    );

    /// A packet, with its number, leaves its node over `link`, or has arrived over it.
    fn crosses(
        &mut self,
        now: SimTime,
        link: LinkId,
        leaves: bool,
        addresses: PacketAddresses,
        packet: (u32, &Packet<B>),
    );

    /// A link changes.
    fn link_event(&mut self, now: SimTime, event: LinkEvent, link: LinkId);
}
