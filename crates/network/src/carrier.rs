//! The links of a scenario for hosts that run elsewhere: packets are bytes, and what carries them is what carries the
//! packets of a [`World`](crate::World).
//!
//! May: move bytes from interface to interface, and sample links. May not: look into the bytes, which the ends of links
//! do for middleboxes, or know when hosts act.

use engine::EventQueue;
use scenario::model::Scenario;
use trace::{LinkRecord, Series, SeriesKey};
use transport::packet::Packet;
use units::{Bytes, Nanos, SimTime};

use crate::build;
use crate::build::addresses;
pub use crate::carrier::frames::Multipath;
use crate::carrier::frames::{Frame, Frames};
use crate::net::address::{PacketAddresses, Port, SocketAddress};
use crate::net::ecmp::flow_hash;
use crate::net::forwarding::Egress;
use crate::net::link::LinkChange;
use crate::net::network::{Network, Schedule};
use crate::net::topology::{LinkId, NodeId, duplex_link_of};

mod frames;

/// An interface of a node; interfaces are numbered in the order of the links of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interface {
    /// The node.
    pub node: NodeId,
    /// Which of its interfaces.
    pub number: u8,
}

/// Bytes that have reached the interface that they were addressed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Where they were sent from.
    pub from: Interface,
    /// Where they are.
    pub to: Interface,
    /// The packet, unchanged.
    pub bytes: Vec<u8>,
    /// A middlebox on the way overwrites its options of Multipath TCP with padding.
    pub stripped: bool,
}

/// An entry of the event queue: something is due on this link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due(LinkId);

impl Schedule for EventQueue<Due> {
    fn push_arrival(&mut self, at: SimTime, link: LinkId) {
        self.push(at, Due(link));
    }
}

/// Links with the packets on them. The caller asks for [`Carrier::next_due`], lets its hosts act up to then, and calls
/// [`Carrier::advance`].
#[derive(Debug)]
pub struct Carrier {
    network: Network<Frame, Frames>,
    queue: EventQueue<Due>,
    /// The next one last.
    changes: Vec<LinkChange>,
    /// Bytes carried at the last sample, by link.
    sampled: Vec<Bytes>,
}

impl Carrier {
    /// At rest at time zero, with the random numbers of `seed`: those that the simulator has with the same seed.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let routes = build::routes(scenario);
        let (network, changes) = build::network(scenario, seed, routes, Some(Box::default()));
        let sampled = vec![Bytes::ZERO; network.links()];
        Self { network, queue: EventQueue::new(), changes, sampled }
    }

    /// Pairs of interfaces of two nodes that routing connects in both directions.
    pub fn pairs(scenario: &Scenario, from: NodeId, to: NodeId) -> Vec<(Interface, Interface)> {
        let pairs = addresses::connected_pairs(&mut build::routes(scenario), from, to);
        let interface = |node, number: Option<u8>| number.map(|number| Interface { node, number });
        pairs.iter().filter_map(|pair| interface(from, pair.local).zip(interface(to, pair.remote))).collect()
    }

    /// The duplex link of an interface.
    pub fn duplex_link(&self, interface: Interface) -> usize {
        let leaving = self.network.forwarding().topology().leaving(interface.node);
        duplex_link_of(leaving[usize::from(interface.number)])
    }

    /// When something is due: an arrival or a change of a link; `NEVER` if nothing is on its way.
    pub fn next_due(&mut self) -> SimTime {
        let change = self.changes.last().map_or(SimTime::NEVER, |change| change.at);
        self.queue.next_time().map_or(change, |arrival| arrival.min(change))
    }

    /// Sends a packet, which has its size on the wire with `overhead`. False if there is no route.
    pub fn send(
        &mut self,
        now: SimTime,
        (from, to): (Interface, Interface),
        (bytes, multipath): (Vec<u8>, Multipath),
        overhead: Bytes,
    ) -> bool {
        let address = |at: Interface| SocketAddress::new(at.node, Some(at.number), Port(0));
        let addresses = PacketAddresses { source: address(from), destination: address(to) };
        let ends = [from.node as u64, u64::from(from.number), to.node as u64, u64::from(to.number)];
        let route = self.network.forwarding_mut().route(addresses, flow_hash(ends));
        if route.egress == Egress::Unreachable {
            return false;
        }
        let size = Bytes(bytes.len() as u64) + overhead;
        let Some((frames, _)) = self.network.tap_and_draft() else { return false };
        let body = frames.keep(bytes, multipath);
        *self.network.draft() = Packet { size, body, ..Packet::default() };
        self.network.send(&mut self.queue, now, &route, size);
        true
    }

    /// Applies what is due at `now`, which is not later than [`Carrier::next_due`], and returns the packets that have arrived.
    pub fn advance(&mut self, now: SimTime) -> Vec<Delivered> {
        while let Some(change) = self.changes.pop_if(|change| change.at <= now) {
            self.network.change(&mut self.queue, now, change);
        }
        let mut arrived = Vec::new();
        while let Some((_, Due(link))) = self.queue.pop_before(now + Nanos(1)) {
            if self.network.arrival_is_due(now, link) {
                self.take_arrivals(now, link, &mut arrived);
            }
        }
        arrived
    }

    fn take_arrivals(&mut self, now: SimTime, link: LinkId, arrived: &mut Vec<Delivered>) {
        while let Some(delivery) = self.network.next_delivery(&mut self.queue, now, link) {
            let PacketAddresses { source, destination } = self.network.addresses(delivery);
            let frame = self.network.open(delivery).body;
            let Some((frames, _)) = self.network.tap_and_draft() else { return };
            let interface =
                |at: SocketAddress| at.interface().map(|number| Interface { node: at.node(), number });
            if let (Some(from), Some(to)) = (interface(source), interface(destination)) {
                let stripped = frame.multipath == Multipath::Stripped;
                arrived.push(Delivered { from, to, bytes: frames.take(frame), stripped });
            }
            if !self.network.arm_unless_due(&mut self.queue, now, link) {
                return;
            }
        }
    }

    /// Events taken out of the queue.
    pub fn events(&self) -> u64 {
        self.queue.taken()
    }

    /// Samples all links; rates are those of the `elapsed` time since the last sample.
    pub fn sample(&mut self, now: SimTime, elapsed: Nanos, series: &mut Series) {
        debug_assert!(elapsed > Nanos::ZERO, "two samples at once");
        for link in 0..self.network.links() {
            let (packets, bytes) = self.network.queue_length(now, link);
            let carried = self.network.counters(now, link).bytes;
            let bits = (carried - self.sampled[link]).as_f64() * 8.0;
            self.sampled[link] = carried;
            let key = SeriesKey::Link(link as u32);
            series.push(now, key, "queue_packets", packets as f64);
            series.push(now, key, "queue_bytes", bytes.as_f64());
            series.push(now, key, "throughput_bit_s", bits / elapsed.as_secs_f64());
        }
    }

    /// The rows of all links at the end of a run.
    pub fn records(&mut self, end: SimTime) -> Vec<LinkRecord> {
        self.network.records(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Document, Registries};

    const TEXT: &str = r#"
duration = "2s"
[[path]]
name = "a"
both = { rate = "8Mbit/s", delay = "10ms", queue = "1p" }
[[path]]
name = "b"
both = { rate = "1Mbit/s", delay = "5ms", queue = "10p", loss = { kind = "packet", probability = 0.5 } }
[[event]]
at = "1s"
link = "a"
set = { rate = "4Mbit/s" }
[[flow]]
name = "f"
from = "terminal"
to = "server"
transport = { kind = "tcp" }
"#;

    fn carrier() -> Carrier {
        let document = Document::parse(TEXT, "test.toml", &[], &Registries::builtin());
        Carrier::new(&document.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario, 1)
    }

    fn ends(path: u8) -> (Interface, Interface) {
        (Interface { node: 0, number: path }, Interface { node: 1, number: path })
    }

    /// 1000 bytes at 8 Mbit/s take 1 ms; one packet waits behind the one on the transmitter, the third is refused.
    #[test]
    fn bytes_arrive_when_the_link_says_and_unchanged() {
        let mut carrier = carrier();
        for byte in 1..=3 {
            assert!(carrier.send(SimTime::ZERO, ends(0), (vec![byte; 980], Multipath::None), Bytes(20)));
        }
        for (byte, at) in [(1, 11), (2, 12)] {
            assert_eq!(carrier.next_due(), SimTime(at * 1_000_000));
            let arrived = carrier.advance(SimTime(at * 1_000_000));
            let (from, to) = ends(0);
            assert_eq!(arrived, [Delivered { from, to, bytes: vec![byte; 980], stripped: false }]);
        }
        assert_eq!(carrier.next_due(), SimTime(1_000_000_000), "the change of the rate");
        assert!(carrier.advance(SimTime(1_000_000_000)).is_empty());
        assert!(carrier.send(SimTime(1_000_000_000), ends(0), (vec![9; 1000], Multipath::None), Bytes::ZERO));
        assert_eq!(carrier.next_due(), SimTime(1_012_000_000), "half the rate");
        let records = carrier.records(SimTime(1_000_000_000));
        assert_eq!([records[0].drops_queue, records[1].drops_queue], [1, 0]);
    }

    #[test]
    fn losses_are_those_of_the_seed_and_give_their_frames_back() {
        let lost = || {
            let mut carrier = carrier();
            let mut arrived = Vec::new();
            for number in 0..100u8 {
                let now = SimTime(u64::from(number) * 10_000_000);
                while carrier.next_due() <= now {
                    let due = carrier.next_due();
                    arrived.extend(carrier.advance(due).into_iter().map(|packet| packet.bytes[0]));
                }
                assert!(carrier.send(now, ends(1), (vec![number; 100], Multipath::None), Bytes::ZERO));
            }
            let frames = carrier.network.tap_and_draft().map(|(frames, _)| frames.kept()).unwrap();
            assert!(frames <= 2, "{frames} frames are kept");
            arrived
        };
        let arrived = lost();
        assert!((30..70).contains(&arrived.len()), "{} of 100", arrived.len());
        assert_eq!(arrived, lost());
    }

    #[test]
    fn addresses_without_a_route_carry_nothing() {
        let mut carrier = carrier();
        let crossed = (Interface { node: 0, number: 0 }, Interface { node: 1, number: 1 });
        assert!(!carrier.send(SimTime::ZERO, crossed, (vec![0; 10], Multipath::None), Bytes::ZERO));
        assert_eq!(carrier.duplex_link(Interface { node: 1, number: 1 }), 1);
    }
}
