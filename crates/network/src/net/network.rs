//! Links, routes, the packets in flight between hosts, and the event queue that moves them.
//!
//! May: pass a packet from link to link and say which host it has reached. May not: look into the body of a
//! packet, or call a connection.

use engine::{EventQueue, LazyTimer};
use links::{Arrival, Counters, Fate, Offered};
use scenario::model::Strip;
use trace::LinkRecord;
use transport::Connection;
use transport::packet::Packet;
use units::{Bytes, SimTime};

use crate::event::Event;
use crate::net::address::PacketAddresses;
use crate::net::ecmp::Chooser;
use crate::net::link::{Link, LinkChange};
use crate::net::middlebox;
use crate::net::packets::{Header, Packets};
use crate::net::routing::{Routes, TargetId};
use crate::net::slot::LinkSlot;
use crate::net::topology::{LinkId, NodeId};
use crate::net::tracer::{Tracer, What};

/// How packets of one subflow leave their host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Their header.
    pub(crate) header: Header,
    /// The link over which they leave.
    pub(crate) egress: Egress,
}

/// The first link of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Egress {
    /// Always this one.
    Over(LinkId),
    /// One of several of equal cost, chosen for each packet.
    PerPacket,
    /// There is no route: packets are discarded.
    Unreachable,
}

/// A packet that has reached the host that it is addressed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    packet: u32,
}

/// Links, routes, packets, events.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) queue: EventQueue<Event>,
    pub(crate) routes: Routes,
    pub(crate) tracer: Option<Box<Tracer>>,
    slots: Vec<LinkSlot>,
    /// By node.
    choosers: Vec<Chooser>,
    packets: Packets,
    /// The packet that is written next: packets are large, so they are written where they stay.
    draft: u32,
    /// Empty between calls; kept so that it is not allocated each time.
    fates: Vec<Fate>,
}

impl Network {
    /// At rest. `links` by link index, `choosers` by node.
    pub(crate) fn new(
        routes: Routes,
        links: impl IntoIterator<Item = Link>,
        choosers: Vec<Chooser>,
        tracer: Option<Box<Tracer>>,
    ) -> Self {
        let slots =
            links.into_iter().map(|link| LinkSlot { link, timer: LazyTimer::default(), strip: Strip::Never });
        let slots = slots.collect();
        let mut packets = Packets::default();
        let draft = packets.reserve();
        Self { queue: EventQueue::new(), routes, tracer, slots, choosers, packets, draft, fates: Vec::new() }
    }

    /// The packet that is sent next.
    pub(crate) fn draft(&mut self) -> &mut Packet {
        self.packets.packet_mut(self.draft)
    }

    /// Sends the draft on its way.
    pub(crate) fn send(&mut self, now: SimTime, route: &Route) {
        let link = match route.egress {
            Egress::Over(link) => link,
            Egress::PerPacket => {
                let Header { source, target, hash, .. } = route.header;
                match self.next_hop(target, source.node(), hash) {
                    Some(link) => link,
                    None => return,
                }
            }
            Egress::Unreachable => return,
        };
        let size = self.packets.address(self.draft, route.header).size;
        self.offer(now, link, self.draft, size);
        self.draft = self.packets.reserve();
    }

    /// The link over which packets with this hash leave `node`; `None` if it differs from packet to packet or
    /// there is no way.
    pub(crate) fn fixed_hop(&mut self, target: TargetId, node: NodeId, hash: u64) -> Option<LinkId> {
        let fixed = matches!(self.choosers[node], Chooser::ByFlow { .. });
        let single = self.routes.next_hops(target, node).len() == 1;
        if fixed || single { self.next_hop(target, node, hash) } else { None }
    }

    /// The event of `link` came out of the queue. False if it was a stale one.
    pub(crate) fn arrival_is_due(&mut self, now: SimTime, link: LinkId) -> bool {
        self.slots[link as usize].timer.fires(now)
    }

    /// Moves packets that have arrived over `link` onwards, up to the first that has reached its host. Call it
    /// until `None`, or until no more is due and then [`Network::arm`].
    pub(crate) fn next_delivery(&mut self, now: SimTime, link: LinkId) -> Option<Delivery> {
        while let Some(packet) = self.take_arrival(now, link) {
            let node = self.routes.topology().head(link);
            let Header { destination, target, hash, .. } = *self.packets.header(packet);
            if node == destination.node() {
                return Some(Delivery { packet });
            }
            match self.next_hop(target, node, hash) {
                Some(next) => self.offer(now, next, packet, self.packets.packet(packet).size),
                None => self.packets.release(packet),
            }
        }
        self.arm(link);
        None
    }

    /// Something else on `link` is due.
    #[inline]
    pub(crate) fn more_is_due(&self, now: SimTime, link: LinkId) -> bool {
        self.slots[link as usize].link.next_event() <= now
    }

    /// The delivered packet; its place is free again with the next call that sends.
    pub(crate) fn open(&mut self, delivery: Delivery) -> &Packet {
        self.packets.release(delivery.packet);
        self.packets.packet(delivery.packet)
    }

    /// Addresses of the delivered packet.
    #[inline]
    pub(crate) fn addresses(&self, delivery: Delivery) -> PacketAddresses {
        self.packets.addresses(delivery.packet)
    }

    /// The delivered packet, which stays where it is.
    pub(crate) fn peek(&self, delivery: Delivery) -> &Packet {
        self.packets.packet(delivery.packet)
    }

    /// Writes a line for the draft, which `connection` sends.
    pub(crate) fn trace_sending(&mut self, now: SimTime, route: &Route, connection: &Connection) {
        if let Some(tracer) = &mut self.tracer {
            let packet = self.packets.packet(self.draft);
            let gauges = connection.gauges(packet.path.index());
            let Header { source, destination, .. } = route.header;
            let addresses = PacketAddresses { source, destination };
            tracer.packet(now, (What::Send, source.node()), addresses, packet, gauges);
        }
    }

    /// Writes a line for a packet that has reached its host, where it belongs to `connection`.
    pub(crate) fn trace_delivery(
        &mut self,
        now: SimTime,
        delivery: Delivery,
        connection: Option<&Connection>,
    ) {
        if let Some(tracer) = &mut self.tracer {
            let packet = self.packets.packet(delivery.packet);
            let gauges = connection.and_then(|connection| connection.gauges(packet.path.index()));
            let addresses = self.packets.addresses(delivery.packet);
            tracer.packet(now, (What::Recv, addresses.destination.node()), addresses, packet, gauges);
        }
    }

    /// Applies a change of a link.
    pub(crate) fn change(&mut self, now: SimTime, change: LinkChange) {
        if let Some(tracer) = &mut self.tracer
            && !change.quiet
        {
            tracer.link(now, change.what(), change.link);
        }
        let id = change.link;
        if let Some(strip) = change.strip {
            self.set_strip(id, strip);
        }
        match &mut self.slots[id as usize].link {
            Link::Fifo(link) => {
                if let Some(packet) = change.apply(now, link) {
                    self.lose(now, What::DropDown, id, packet);
                }
            }
            Link::Station(station) => {
                change.apply_station(now, station);
                self.settle(now, id);
            }
        }
        self.arm(id);
    }

    /// Puts a middlebox at the entrance of a link.
    pub(crate) fn set_strip(&mut self, link: LinkId, strip: Strip) {
        self.slots[link as usize].strip = strip;
    }

    /// Packets on links, lost ones not counted.
    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> usize {
        self.packets.len() - 1
    }

    /// Number of links.
    pub(crate) fn links(&self) -> usize {
        self.slots.len()
    }

    /// Counters of `link` up to `now`.
    pub(crate) fn counters(&mut self, now: SimTime, link: usize) -> Counters {
        self.slots[link].link.counters(now)
    }

    /// Packets and bytes that wait in front of `link`.
    pub(crate) fn queue_length(&mut self, now: SimTime, link: usize) -> (u64, Bytes) {
        self.slots[link].link.queue_length(now)
    }

    /// The rows of all links at the end of a run.
    pub(crate) fn records(&mut self, end: SimTime) -> Vec<LinkRecord> {
        self.check();
        self.slots.iter_mut().map(|slot| slot.link.record(end)).collect()
    }

    /// Every packet but the draft is on a link: packets that are sent or copied are delivered, lost or held.
    fn check(&self) {
        let held = || self.slots.iter().map(|slot| slot.link.packets()).sum::<usize>();
        debug_assert_eq!(self.packets.len(), held() + 1, "packets are conserved");
        debug_assert!(self.fates.is_empty(), "a fate that has not been applied");
    }

    fn next_hop(&mut self, target: TargetId, node: NodeId, hash: u64) -> Option<LinkId> {
        match self.routes.next_hops(target, node) {
            [] => None,
            [only] => Some(*only),
            several => Some(several[self.choosers[node].choose(hash, several.len())]),
        }
    }

    fn offer(&mut self, now: SimTime, link: LinkId, packet: u32, size: Bytes) {
        let slot = &mut self.slots[link as usize];
        if slot.strip != Strip::Never {
            middlebox::cross(&mut slot.strip, self.packets.packet_mut(packet));
        }
        match &mut slot.link {
            Link::Fifo(fifo) => match fifo.offer(now, size, packet) {
                Offered::Accepted => self.arm(link),
                Offered::QueueFull => self.lose(now, What::DropQueue, link, packet),
                Offered::LostInTransit => self.lose(now, What::DropError, link, packet),
            },
            Link::Station(station) => {
                station.offer(now, self.packets.describe(packet));
                self.settle(now, link);
                self.arm(link);
            }
        }
    }

    /// The next packet that has arrived over `link`; a copy becomes a packet of its own.
    fn take_arrival(&mut self, now: SimTime, link: LinkId) -> Option<u32> {
        let station = match &mut self.slots[link as usize].link {
            Link::Fifo(fifo) => return fifo.take_arrival(now),
            Link::Station(station) => station,
        };
        let arrival = station.take_arrival(now);
        self.settle(now, link);
        let Arrival { id, copy } = arrival?;
        if !copy {
            return Some(id);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.on_link(now, What::Duplicate, link, self.packets.addresses(id), self.packets.packet(id));
        }
        Some(self.packets.copy(id))
    }

    /// Applies the decisions of a station to its packets.
    fn settle(&mut self, now: SimTime, link: LinkId) {
        let Link::Station(station) = &mut self.slots[link as usize].link else { return };
        let mut fates = std::mem::take(&mut self.fates);
        station.swap_fates(&mut fates);
        for fate in fates.drain(..) {
            match fate {
                Fate::Refused(packet) => self.lose(now, What::DropQueue, link, packet),
                Fate::Lost(packet) => self.lose(now, What::DropError, link, packet),
                Fate::Corrupted(packet) => self.lose(now, What::DropCheck, link, packet),
                Fate::CutOff(packet) => self.lose(now, What::DropDown, link, packet),
                Fate::Marked(packet) => self.mark(now, link, packet),
            }
        }
        self.fates = fates;
    }

    /// Congestion experienced.
    fn mark(&mut self, now: SimTime, link: LinkId, packet: u32) {
        self.packets.mark(packet);
        if let Some(tracer) = &mut self.tracer {
            tracer.on_link(
                now,
                What::Mark,
                link,
                self.packets.addresses(packet),
                self.packets.packet(packet),
            );
        }
    }

    fn lose(&mut self, now: SimTime, what: What, link: LinkId, packet: u32) {
        if let Some(tracer) = &mut self.tracer {
            tracer.on_link(now, what, link, self.packets.addresses(packet), self.packets.packet(packet));
        }
        self.packets.release(packet);
    }

    /// Keeps the link's queue entry no later than its next event.
    pub(crate) fn arm(&mut self, link: LinkId) {
        let LinkSlot { link: state, timer, .. } = &mut self.slots[link as usize];
        if let Some(at) = timer.set(state.next_event()) {
            self.queue.push(at, Event::Arrival(link));
        }
    }
}
