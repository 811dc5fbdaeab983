//! The tap of a world: the readable trace and the capture, where they are asked for.
//!
//! May: pass on packets and changes of links. May not: change them.

use apps::ConnectionId;
use transport::packet::{Body, Packet, PathId};
use units::SimTime;

use crate::capture::{Crossing, OpenedSubflow, PacketSink};
use crate::net::address::{PacketAddresses, SocketAddress};
use crate::net::tap::{LinkEvent, PacketEvent, Tap};
use crate::net::topology::{LinkId, opposite};
use crate::tracer::Tracer;

/// At least one of both.
#[derive(Debug)]
pub(crate) struct Observer {
    tracer: Option<Tracer>,
    sink: Option<Box<dyn PacketSink>>,
}

impl Observer {
    /// `None` if nothing is asked for.
    pub(crate) fn new(tracer: Option<Tracer>, sink: Option<Box<dyn PacketSink>>) -> Option<Self> {
        (tracer.is_some() || sink.is_some()).then_some(Self { tracer, sink })
    }

    /// The readable trace.
    pub(crate) fn tracer(&mut self) -> Option<&mut Tracer> {
        self.tracer.as_mut()
    }

    /// A flow opens a subflow of its connection `number` between these addresses.
    pub(crate) fn know(
        &mut self,
        addresses: PacketAddresses,
        (flow, number): (usize, ConnectionId),
        path: PathId,
    ) {
        if let Some(tracer) = &mut self.tracer {
            tracer.know(addresses, flow, number);
        }
        if let Some(sink) = &mut self.sink {
            sink.opened(&OpenedSubflow { ends: ends(addresses), flow, connection: number, path });
        }
    }

    /// That subflow goes to a converter, and asks it for this server.
    pub(crate) fn ask(&mut self, addresses: PacketAddresses, server: SocketAddress) {
        if let Some(sink) = &mut self.sink {
            sink.asks(ends(addresses), server.into());
        }
    }

    /// Bytes of the readable trace so far.
    pub(crate) fn trace_length(&self) -> usize {
        self.tracer.as_ref().map_or(0, Tracer::length)
    }

    /// The text of the readable trace; empty without one.
    pub(crate) fn into_text(self) -> String {
        self.tracer.map(Tracer::into_text).unwrap_or_default()
    }
}

fn ends(PacketAddresses { source, destination }: PacketAddresses) -> [crate::capture::HostAddress; 2] {
    [source.into(), destination.into()]
}

impl Tap<Body> for Observer {
    fn is_tracing(&self) -> bool {
        self.tracer.is_some()
    }

    fn packet_event(
        &mut self,
        now: SimTime,
        event: PacketEvent,
        link: LinkId,
        addresses: PacketAddresses,
        packet: &Packet,
    ) {
        if let Some(tracer) = &mut self.tracer {
            tracer.packet_event(now, event, link, addresses, packet);
        }
    }

    fn link_event(&mut self, now: SimTime, event: LinkEvent, link: LinkId) {
        if let Some(tracer) = &mut self.tracer {
            tracer.link_event(now, event, link);
        }
    }

    fn crosses(
        &mut self,
        at: SimTime,
        link: LinkId,
        leaves: bool,
        addresses: PacketAddresses,
        (number, packet): (u32, &Packet),
    ) {
        if let Some(sink) = &mut self.sink {
            // The interface at the far end of a link is that of the link back.
            let interface = if leaves { link } else { opposite(link) };
            sink.packet(&Crossing { at, interface, leaves, ends: ends(addresses), number, packet });
        }
    }
}
