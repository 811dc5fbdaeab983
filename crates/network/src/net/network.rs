//! Links, forwarding, and the packets in flight between hosts.
//!
//! May: pass a packet from link to link and say which host it has reached. May not: look into the body of a
//! packet, whose type is a parameter; call a connection; know any event but those of links.

use engine::LazyTimer;
use links::{Arrival, Counters, Fate, Offered};
use scenario::model::Strip;
use trace::LinkRecord;
use transport::packet::Packet;
use units::{Bytes, SimTime};

use crate::net::address::PacketAddresses;
use crate::net::forwarding::{Egress, Forwarding, Route};
use crate::net::link::{Link, LinkChange};
use crate::net::middlebox::{self, MiddleboxAccess};
use crate::net::packets::{Header, Packets};
use crate::net::slot::LinkSlot;
use crate::net::tap::{LinkEvent, PacketEvent, Tap};
use crate::net::topology::LinkId;

/// The event queue, as far as links need it.
pub(crate) trait Schedule {
    /// [`Network::arrival_is_due`] is to be called for `link` at this instant.
    fn push_arrival(&mut self, at: SimTime, link: LinkId);
}

/// A packet that has reached the host that it is addressed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    packet: u32,
}

/// Links, forwarding, and packets with a body of type `B`.
#[derive(Debug)]
pub(crate) struct Network<B, T> {
    forwarding: Forwarding,
    slots: Vec<LinkSlot>,
    packets: Packets<B>,
    tap: Option<Box<T>>,
    /// The tap asks for lines of the readable trace.
    is_traced: bool,
    /// The packet that is written next: packets are large, so they are written where they stay.
    draft: u32,
    /// Empty between calls; kept so that it is not allocated each time.
    fates: Vec<Fate>,
}

impl<B: Copy + Default + MiddleboxAccess, T: Tap<B>> Network<B, T> {
    /// At rest. `links` by link index.
    pub(crate) fn new(
        forwarding: Forwarding,
        links: impl IntoIterator<Item = Link>,
        tap: Option<Box<T>>,
    ) -> Self {
        let slot = |(link, id)| {
            let head = forwarding.topology().head(id);
            LinkSlot { link, timer: LazyTimer::default(), head, strip: Strip::Never }
        };
        let slots: Vec<_> = links.into_iter().zip(0..).map(slot).collect();
        let mut packets = Packets::default();
        let draft = packets.reserve();
        debug_assert!(slots.len().is_multiple_of(2), "links have two directions");
        let is_traced = tap.as_ref().is_some_and(|tap| tap.is_tracing());
        Self { forwarding, slots, packets, tap, is_traced, draft, fates: Vec::new() }
    }

    /// Routes and the choice among them.
    #[inline]
    pub(crate) fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// The same, to find the route between two addresses.
    #[inline]
    pub(crate) fn forwarding_mut(&mut self) -> &mut Forwarding {
        &mut self.forwarding
    }

    /// There is a tap that asks for lines of the readable trace.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// The tap, if there is one, and the draft.
    #[inline]
    pub(crate) fn tap_and_draft(&mut self) -> Option<(&mut T, &Packet<B>)> {
        Some((self.tap.as_mut()?, self.packets.packet(self.draft)))
    }

    /// The tap, if there is one, and a delivered packet.
    #[inline]
    pub(crate) fn tap_and_delivery(
        &mut self,
        delivery: Delivery,
    ) -> Option<(&mut T, PacketAddresses, &Packet<B>)> {
        let (packets, packet) = (&self.packets, delivery.packet);
        Some((self.tap.as_mut()?, packets.addresses(packet), packets.packet(packet)))
    }

    /// The tap.
    #[inline]
    pub(crate) fn tap(&self) -> Option<&T> {
        self.tap.as_deref()
    }

    /// The tap.
    pub(crate) fn into_tap(self) -> Option<T> {
        self.tap.map(|tap| *tap)
    }

    /// The packet that is sent next.
    #[inline]
    pub(crate) fn draft(&mut self) -> &mut Packet<B> {
        self.packets.packet_mut(self.draft)
    }

    /// Sends the draft, which has this size, on its way.
    #[inline(always)]
    pub(crate) fn send(&mut self, queue: &mut impl Schedule, now: SimTime, route: &Route, size: Bytes) {
        let link = match route.egress {
            Egress::Over(link) => link,
            Egress::PerPacket => match self.choose_egress(&route.header) {
                Some(link) => link,
                None => return,
            },
            Egress::Unreachable => return,
        };
        debug_assert_eq!(self.packets.packet(self.draft).size, size, "the draft has another size");
        self.packets.address(self.draft, route.header);
        self.offer(queue, now, link, self.draft, size);
        self.draft = self.packets.reserve();
    }

    /// The link over which the draft leaves, one of several of equal cost.
    #[cold]
    #[inline(never)]
    fn choose_egress(&mut self, header: &Header) -> Option<LinkId> {
        self.forwarding.next_hop(header.target, header.source.node(), header.hash)
    }

    /// The event of `link` came out of the queue. False if it was a stale one.
    pub(crate) fn arrival_is_due(&mut self, now: SimTime, link: LinkId) -> bool {
        self.slots[link as usize].timer.fires(now)
    }

    /// Moves packets that have arrived over `link` onwards, up to the first that has reached its host. Call it
    /// until `None`, or until [`Network::arm_unless_due`] says that no more is due.
    pub(crate) fn next_delivery(
        &mut self,
        queue: &mut impl Schedule,
        now: SimTime,
        link: LinkId,
    ) -> Option<Delivery> {
        while let Some(packet) = self.take_arrival(now, link) {
            self.show(now, link, false, packet);
            let node = self.slots[link as usize].head;
            let Header { destination, target, hash, .. } = *self.packets.header(packet);
            if node == destination.node() {
                return Some(Delivery { packet });
            }
            match self.forwarding.next_hop(target, node, hash) {
                Some(next) => self.offer(queue, now, next, packet, self.packets.packet(packet).size),
                None => self.packets.release(packet),
            }
        }
        self.arm(queue, link);
        None
    }

    /// Something else on `link` is due. If not, keeps its queue entry no later than its next event.
    #[inline]
    pub(crate) fn arm_unless_due(&mut self, queue: &mut impl Schedule, now: SimTime, link: LinkId) -> bool {
        let LinkSlot { link: state, timer, .. } = &mut self.slots[link as usize];
        let next = state.next_event();
        if next <= now {
            return true;
        }
        if let Some(at) = timer.set(next) {
            queue.push_arrival(at, link);
        }
        false
    }

    /// The delivered packet; its place is free again with the next call that sends.
    pub(crate) fn open(&mut self, delivery: Delivery) -> &Packet<B> {
        self.packets.release(delivery.packet);
        self.packets.packet(delivery.packet)
    }

    /// Addresses of the delivered packet.
    #[inline]
    pub(crate) fn addresses(&self, delivery: Delivery) -> PacketAddresses {
        self.packets.addresses(delivery.packet)
    }

    /// The delivered packet, which stays where it is.
    pub(crate) fn peek(&self, delivery: Delivery) -> &Packet<B> {
        self.packets.packet(delivery.packet)
    }

    /// Applies a change of a link.
    pub(crate) fn change(&mut self, queue: &mut impl Schedule, now: SimTime, change: LinkChange) {
        debug_assert!(change.at <= now, "a change of link {} before its time", change.link);
        if let Some(tap) = &mut self.tap
            && !change.quiet
        {
            tap.link_event(now, link_event(&change), change.link);
        }
        let id = change.link;
        if let Some(strip) = change.strip {
            self.set_strip(id, strip);
        }
        match &mut self.slots[id as usize].link {
            Link::Fifo(link) => {
                if let Some(packet) = change.apply(now, link) {
                    self.lose(now, PacketEvent::DropDown, id, packet);
                }
            }
            Link::Station(station) => {
                change.apply_station(now, station);
                self.settle(now, id);
            }
        }
        self.arm(queue, id);
    }

    /// Puts a middlebox at the entrance of a link.
    pub(crate) fn set_strip(&mut self, link: LinkId, strip: Strip) {
        self.slots[link as usize].strip = strip;
    }

    /// The most packets that were held at once: their memory stays.
    pub(crate) fn held(&self) -> usize {
        self.packets.most()
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

    #[inline(always)]
    fn offer(&mut self, queue: &mut impl Schedule, now: SimTime, link: LinkId, packet: u32, size: Bytes) {
        self.show(now, link, true, packet);
        let LinkSlot { link: state, timer, strip, .. } = &mut self.slots[link as usize];
        if *strip != Strip::Never {
            middlebox::cross(strip, self.packets.packet_mut(packet));
        }
        let Link::Fifo(fifo) = state else { return self.offer_to_station(queue, now, link, packet) };
        match fifo.offer(now, size, packet) {
            Offered::Accepted => {
                if let Some(at) = timer.set(fifo.next_arrival()) {
                    queue.push_arrival(at, link);
                }
            }
            Offered::QueueFull => self.lose(now, PacketEvent::DropQueue, link, packet),
            Offered::LostInTransit => self.lose(now, PacketEvent::DropError, link, packet),
        }
    }

    #[inline(never)]
    fn offer_to_station(&mut self, queue: &mut impl Schedule, now: SimTime, link: LinkId, packet: u32) {
        let Link::Station(station) = &mut self.slots[link as usize].link else { return };
        station.offer(now, self.packets.describe(packet));
        self.settle(now, link);
        self.arm(queue, link);
    }

    /// The next packet that has arrived over `link`; a copy becomes a packet of its own.
    #[inline]
    fn take_arrival(&mut self, now: SimTime, link: LinkId) -> Option<u32> {
        match &mut self.slots[link as usize].link {
            Link::Fifo(fifo) => fifo.take_arrival(now),
            Link::Station(_) => self.take_from_station(now, link),
        }
    }

    #[inline(never)]
    fn take_from_station(&mut self, now: SimTime, link: LinkId) -> Option<u32> {
        let Link::Station(station) = &mut self.slots[link as usize].link else { return None };
        let arrival = station.take_arrival(now);
        self.settle(now, link);
        let Arrival { id, copy } = arrival?;
        if !copy {
            return Some(id);
        }
        self.observe(now, PacketEvent::Duplicate, link, id);
        Some(self.packets.copy(id))
    }

    /// Applies the decisions of a station to its packets.
    fn settle(&mut self, now: SimTime, link: LinkId) {
        let Link::Station(station) = &mut self.slots[link as usize].link else { return };
        let mut fates = std::mem::take(&mut self.fates);
        station.swap_fates(&mut fates);
        for fate in fates.drain(..) {
            match fate {
                Fate::Refused(packet) => self.lose(now, PacketEvent::DropQueue, link, packet),
                Fate::Lost(packet) => self.lose(now, PacketEvent::DropError, link, packet),
                Fate::Corrupted(packet) => self.lose(now, PacketEvent::DropCheck, link, packet),
                Fate::CutOff(packet) => self.lose(now, PacketEvent::DropDown, link, packet),
                Fate::Marked(packet) => self.mark(now, link, packet),
            }
        }
        self.fates = fates;
    }

    /// Congestion experienced.
    fn mark(&mut self, now: SimTime, link: LinkId, packet: u32) {
        self.packets.mark(packet);
        self.observe(now, PacketEvent::Mark, link, packet);
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self, now: SimTime, event: PacketEvent, link: LinkId, packet: u32) {
        self.observe(now, event, link, packet);
        self.packets.release(packet);
    }

    #[inline]
    fn observe(&mut self, now: SimTime, event: PacketEvent, link: LinkId, packet: u32) {
        if let Some(tap) = &mut self.tap {
            let addresses = self.packets.addresses(packet);
            tap.packet_event(now, event, link, addresses, self.packets.packet(packet));
        }
    }

    /// Shows a packet that crosses an interface to the tap.
    #[inline]
    fn show(&mut self, now: SimTime, link: LinkId, leaves: bool, packet: u32) {
        if self.tap.is_some() {
            self.show_tap(now, link, leaves, packet);
        }
    }

    #[cold]
    #[inline(never)]
    fn show_tap(&mut self, now: SimTime, link: LinkId, leaves: bool, packet: u32) {
        if let Some(tap) = &mut self.tap {
            let addresses = self.packets.addresses(packet);
            tap.crosses(now, link, leaves, addresses, (packet, self.packets.packet(packet)));
        }
    }

    /// Keeps the link's queue entry no later than its next event.
    #[inline]
    fn arm(&mut self, queue: &mut impl Schedule, link: LinkId) {
        let LinkSlot { link: state, timer, .. } = &mut self.slots[link as usize];
        if let Some(at) = timer.set(state.next_event()) {
            queue.push_arrival(at, link);
        }
    }
}

/// A change as a tap sees it.
fn link_event(change: &LinkChange) -> LinkEvent {
    match change.up {
        Some(true) => LinkEvent::Up,
        Some(false) => LinkEvent::Down,
        None => LinkEvent::Change,
    }
}
