//! The events of a world.
//!
//! May: name what they concern. May not: reach it.

use engine::EventQueue;
use units::SimTime;

use crate::host::socket::SocketId;
use crate::net::network::Schedule;
use crate::net::topology::LinkId;

/// An event in the queue. Changes of links and samples are not among them: they are known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A packet on a link reaches its far end, or something else happens on the link.
    Arrival(LinkId),
    /// A connection's deadline.
    Timer(SocketId),
    /// A flow starts.
    Start(u32),
    /// The wake-up that the application of a flow has requested, or the end of its time.
    Wake(u32),
    /// The reader of a connection may read again.
    Read(SocketId),
}

impl Schedule for EventQueue<Event> {
    #[inline]
    fn push_arrival(&mut self, at: SimTime, link: LinkId) {
        self.push(at, Event::Arrival(link));
    }
}
