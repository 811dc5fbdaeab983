//! Two ends at the place where their packets were seen: what tells the packets of one conversation from all others.

use wire::frame::Ends;

use crate::link::Way;

/// A file, and the direction of packets from the first end.
pub(crate) type Place = (u32, Option<Way>);

/// A place, and two ends in order: the same for packets of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Ports of the two ends, the first to be compared: they mostly tell, and a search passes many keys.
    ports: (u16, u16),
    place: Place,
    ends: Ends,
}

impl Key {
    /// That of a packet between these ends.
    pub(crate) fn of((file, way): Place, ends: Ends) -> Self {
        let reversed = ends.destination < ends.source;
        let (way, ends) = if reversed { (way.map(opposite), ends.reversed()) } else { (way, ends) };
        Self { ports: (ends.source.port(), ends.destination.port()), place: (file, way), ends }
    }
}

/// The way of packets of the other end.
pub(crate) fn opposite(way: Way) -> Way {
    match way {
        Way::In => Way::Out,
        Way::Out => Way::In,
    }
}
