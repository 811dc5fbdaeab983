//! Messages and streams of associations: each message arrives once, in order within its stream, and streams do not
//! block each other.

mod common;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::setups::{congestion, scheduler, sctp_end};
use transport::Role;
use transport::packet::Packet;
use transport::sctp::config::{BufferSplit, CmtConfig, InitialWindow, MaxBurst, SctpWindowConfig};
use transport::sctp::lifecycle::State;
use transport::sctp::tsn::StreamId;
use transport::sctp::{Association, AssociationSetup, Delivery, SctpConfig, UserMessage};
use units::{Bytes, Nanos, SimTime};

use common::{any_config, any_control, any_scheduler};

/// Two associations and the packets between them.
struct Pair {
    client: Association,
    server: Association,
    now: SimTime,
    /// Arrival, in the order of sending; true: at the server.
    wire: Vec<(SimTime, bool, Packet)>,
    delivered: Vec<(SimTime, Delivery)>,
    /// When bytes of messages were at the server: place in the concatenation of all messages, time.
    arrived: BTreeMap<u64, (u64, SimTime)>,
    sent: u64,
    /// One-way delays of the paths.
    delays: Vec<Nanos>,
}

/// Fate of a packet of the client that has data.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    Late(Nanos),
}

impl Pair {
    /// Two paths with one-way delays of 10 ms.
    fn new(config: &SctpConfig) -> Self {
        Self::with(config, ("sctp", "roundrobin_window"), &[10, 10])
    }

    /// `delays` of the paths are in ms.
    fn with(config: &SctpConfig, (control, scheduling): (&str, &str), delays: &[u64]) -> Self {
        let end = |role| {
            let scheduler = config.cmt.is_some().then(|| scheduler(scheduling));
            let setup = sctp_end(config, control, delays.len() as u8, role);
            Association::new(AssociationSetup { scheduler, congestion: congestion(control), ..setup })
        };
        let (mut client, server) = (end(Role::Client), end(Role::Server));
        client.open();
        Self {
            client,
            server,
            now: SimTime::ZERO,
            wire: Vec::new(),
            delivered: Vec::new(),
            arrived: BTreeMap::new(),
            sent: 0,
            delays: delays.iter().map(|ms| Nanos::from_millis(*ms)).collect(),
        }
    }

    fn send(&mut self, stream: u16, unordered: bool, size: u64) {
        self.client.send(UserMessage { stream: StreamId(stream), unordered, size: Bytes(size) });
    }

    /// Runs until `end` or until nothing happens. `lost` is asked about the n-th packet with data of the client.
    fn run(&mut self, end: SimTime, mut lost: impl FnMut(u64, &Packet) -> bool) {
        self.run_with(end, |n, packet| if lost(n, packet) { Fate::Lost } else { Fate::Arrives });
    }

    /// The same with all that a wire can do.
    fn run_with(&mut self, end: SimTime, mut fate: impl FnMut(u64, &Packet) -> Fate) {
        loop {
            for to_server in [true, false] {
                self.transmit(to_server, &mut fate);
            }
            while let Some(delivery) = self.server.receive() {
                self.delivered.push((self.now, delivery));
            }
            let arrival = self.wire.iter().map(|(at, ..)| *at).min().unwrap_or(SimTime::NEVER);
            let next = arrival.min(self.client.next_deadline()).min(self.server.next_deadline());
            if next > end {
                return;
            }
            self.now = next.max(self.now);
            if self.client.next_deadline() <= self.now {
                self.client.on_timeout(self.now);
            }
            if self.server.next_deadline() <= self.now {
                self.server.on_timeout(self.now);
            }
            let due = self.now;
            let (arrived, rest): (Vec<_>, Vec<_>) = self.wire.drain(..).partition(|(at, ..)| *at <= due);
            self.wire = rest;
            for (_, to_server, packet) in arrived {
                let to = if to_server { &mut self.server } else { &mut self.client };
                to.on_packet(due, &packet);
                if to_server && packet.payload > 0 {
                    let place = (packet.offset.0 + u64::from(packet.payload), due);
                    let known = self.arrived.entry(packet.offset.0).or_insert(place);
                    known.0 = known.0.max(place.0);
                }
            }
        }
    }

    fn transmit(&mut self, to_server: bool, fate: &mut impl FnMut(u64, &Packet) -> Fate) {
        let mut packet = Packet::default();
        loop {
            let from = if to_server { &mut self.client } else { &mut self.server };
            if !from.poll_transmit(self.now, &mut packet).is_packet() {
                break;
            }
            let mut what = Fate::Arrives;
            if to_server && packet.payload > 0 {
                what = fate(self.sent, &packet);
                self.sent += 1;
            }
            let mut at = self.now + self.delays[packet.path.index()];
            if let Fate::Late(by) = what {
                at += by;
            }
            let copies = [1, 0, 2, 1][match what {
                Fate::Arrives => 0,
                Fate::Lost => 1,
                Fate::Twice => 2,
                Fate::Late(_) => 3,
            }];
            (0..copies).for_each(|_| self.wire.push((at, to_server, packet)));
        }
    }

    /// Stream and size of what was delivered, in this order.
    fn seen(&self) -> Vec<(u16, u64)> {
        self.delivered.iter().map(|(_, delivery)| (delivery.stream.0, delivery.size.0)).collect()
    }
}

/// The first message of stream 0 is lost: messages of stream 1 and unordered ones do not wait for it.
#[test]
fn a_loss_blocks_its_own_stream_alone() {
    let mut pair = Pair::new(&SctpConfig::default());
    for (stream, unordered, size) in
        [(0, false, 1400), (1, false, 1401), (0, false, 1402), (0, true, 1403), (1, false, 1404)]
    {
        pair.send(stream, unordered, size);
    }
    pair.run(SimTime::from_secs(10), |n, _| n == 0);
    let order = [(1, 1401), (0, 1403), (1, 1404), (0, 1400), (0, 1402)];
    assert_eq!(pair.seen(), order);
    let retransmitted: u64 = (0..2).map(|path| pair.client.stats(path).segments_retransmitted).sum();
    assert_eq!(retransmitted, 1);
}

/// NR-SACK: data that has arrived behind a loss leaves the send buffer.
#[test]
fn non_renegable_sacks_empty_the_send_buffer() {
    for (nr_sack, held) in [(false, 8 * 1452), (true, 1452)] {
        let mut config = SctpConfig::default();
        config.sack.non_renegable = nr_sack;
        let mut pair = Pair::new(&config);
        pair.run(SimTime::from_secs(1), |_, _| false);
        (0..8).for_each(|_| pair.send(0, false, 1452));
        // The first chunk is lost, whenever it is sent.
        pair.run(SimTime::from_millis(1500), |_, packet| packet.payload > 0 && packet.offset.0 == 0);
        assert_eq!(pair.client.send_buffered(), Bytes(held), "nr_sack = {nr_sack}");
    }
}

/// Small messages share packets, and one that is larger than a packet takes several.
#[test]
fn messages_are_bundled_and_fragmented() {
    let mut pair = Pair::new(&SctpConfig::default());
    pair.run(SimTime::from_secs(1), |_, _| false);
    (0..8).for_each(|_| pair.send(3, false, 100));
    pair.send(3, false, 4000);
    pair.run(SimTime::from_secs(10), |_, _| false);
    assert_eq!(pair.seen(), [vec![(3, 100); 8], vec![(3, 4000)]].concat());
    // Eight chunks of 116 bytes; then 1452, 1452 and 1096.
    assert_eq!(pair.client.stats(0).segments_sent, 4);
}

/// RFC 9260 section 9.2: messages that were accepted before the shutdown are delivered, and both ends know that it is over.
#[test]
fn a_shutdown_waits_for_what_is_outstanding() {
    let mut pair = Pair::new(&SctpConfig::default());
    (0..20).for_each(|_| pair.send(0, false, 1000));
    pair.client.close();
    pair.send(0, false, 1);
    pair.run(SimTime::from_secs(60), |n, _| n % 5 == 2);
    assert_eq!(pair.seen(), vec![(0, 1000); 20]);
    assert_eq!((pair.client.state(), pair.server.state()), (State::Finished, State::Finished));
}

/// An abort ends both ends, and nothing leaves afterwards.
#[test]
fn an_abort_is_told_to_the_peer() {
    let mut pair = Pair::new(&SctpConfig::default());
    pair.run(SimTime::from_secs(1), |_, _| false);
    pair.client.abort();
    pair.run(SimTime::from_secs(100), |_, _| false);
    assert_eq!(pair.client.failure(), Some("the connection was aborted"));
    assert_eq!(pair.server.failure(), Some("the peer has aborted the association"));
    assert!(pair.now < SimTime::from_secs(2), "timers of an association that is over");
}

/// Test vector DP-1 with two chunks in each window: delays of 10 and 30 ms give three blocks to the fast path, and the slow one
/// sends the block that follows them at once, with later TSNs.
#[test]
fn daps_sends_a_later_block_over_the_slow_path_at_once() {
    let cmt = CmtConfig { split: BufferSplit::Off, ..CmtConfig::default() };
    let window = SctpWindowConfig {
        initial: InitialWindow::Bytes(Bytes(2 * 1468)),
        burst: MaxBurst::Unlimited,
        idle_decay: false,
        ..SctpConfig::default().window
    };
    let config = SctpConfig { window, cmt: Some(cmt), ..SctpConfig::default() };
    let mut pair = Pair::with(&config, ("sctp", "daps"), &[10, 30]);
    pair.run(SimTime::from_secs(1), |_, _| false);
    (0..8).for_each(|_| pair.send(0, false, 1452));
    let mut sent = Vec::new();
    pair.run(SimTime::from_secs(2), |_, packet| {
        sent.push((packet.path.index(), packet.offset.0 / 1452));
        false
    });
    assert_eq!(sent, [(0, 0), (0, 1), (1, 6), (1, 7), (0, 2), (0, 3), (0, 4), (0, 5)]);
    assert!(pair.delivered.is_sorted_by_key(|(_, delivery)| delivery.offset));
    // A loss on the fast path is found there, whatever the slow one has delivered.
    (0..40).for_each(|_| pair.send(0, false, 1452));
    pair.run(SimTime::from_secs(4), |n, _| n == 10);
    let again: u64 = (0..2).map(|path| pair.client.stats(path).segments_retransmitted).sum();
    assert_eq!((again, pair.delivered.len()), (1, 48));
}

/// Where a path fails before it could send what was planned for it, the other path does.
#[test]
fn what_was_planned_for_a_path_that_fails_leaves_by_another() {
    let mut config = SctpConfig { cmt: Some(CmtConfig::default()), ..SctpConfig::default() };
    config.recovery.limits.path = 0;
    let mut pair = Pair::with(&config, ("sctp", "daps"), &[10, 30]);
    pair.run(SimTime::from_secs(1), |_, _| false);
    (0..200).for_each(|_| pair.send(0, false, 1452));
    pair.run(SimTime::from_secs(60), |_, packet| packet.path.index() == 1);
    assert_eq!(pair.delivered.len(), 200);
    assert!(pair.delivered.is_sorted_by_key(|(_, delivery)| delivery.offset));
}

/// Messages by stream, as far as they are ordered; sizes tell them apart.
fn by_stream(seen: &[(u16, u64)], messages: &[(u16, bool, u64)]) -> BTreeMap<u16, Vec<u64>> {
    let mut streams: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for (stream, size) in seen {
        if messages.iter().any(|(_, unordered, other)| other == size && !unordered) {
            streams.entry(*stream).or_default().push(*size);
        }
    }
    streams
}

/// Every message is delivered once, with those of its stream in order, and at the instant at which it and all before it
/// in its stream have arrived: no stream waits for another. Places of messages among all of their sender identify them.
fn check_deliveries(pair: &mut Pair, messages: &[(u16, bool, u64)]) -> Result<(), TestCaseError> {
    let mut seen = pair.seen();
    let mut sent: Vec<_> = messages.iter().map(|(stream, _, size)| (*stream, *size)).collect();
    prop_assert_eq!(by_stream(&seen, messages), by_stream(&sent, messages));
    seen.sort_unstable();
    sent.sort_unstable();
    prop_assert_eq!(seen, sent);
    // When all bytes before a place, from another one on, were at the server.
    let complete = |from: u64, until: u64| {
        let pieces = pair.arrived.range(..until).filter(|(_, (end, _))| *end > from);
        pieces.map(|(_, (_, at))| *at).max().unwrap_or(SimTime::ZERO)
    };
    let delivered: BTreeMap<u64, SimTime> = pair.delivered.iter().map(|(at, d)| (d.offset.0, *at)).collect();
    let (mut start, mut free) = (0, BTreeMap::new());
    let mut starts = BTreeMap::new();
    for (stream, unordered, size) in messages {
        let here = complete(start, start + size);
        let before = free.entry(*stream).or_insert(SimTime::ZERO);
        let due = if *unordered { here } else { here.max(*before) };
        prop_assert_eq!(delivered[&start], due, "the message at {} of stream {}", start, stream);
        if !unordered {
            *before = due;
        }
        starts.insert(start, *size);
        start += size;
    }
    let announced: Vec<_> = std::iter::from_fn(|| pair.server.announce()).collect();
    prop_assert_eq!(announced.len(), messages.len());
    let identities: BTreeMap<_, _> = announced.iter().map(|known| (known.offset.0, known.size.0)).collect();
    prop_assert_eq!(identities, starts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_and_in_order_within_its_stream(
        config in any_config(), (control, scheduling) in (any_control(), any_scheduler()),
        messages in vec((0u16..4, any::<bool>(), 1u64..200), 1..60), delays in vec(1u64..80, 1..4),
        faults in vec((0u64..200, 0u8..4, 1u64..400), 0..40), burst_of_losses in 0u64..60,
    ) {
        // The server discards nothing.
        let mut config = config;
        config.buffers.receive = Bytes(10_000_000);
        let mut pair = Pair::with(&config, (control, scheduling), &delays);
        // The size tells messages apart.
        let messages: Vec<_> =
            messages.iter().zip(0..).map(|((stream, unordered, size), i)| (*stream, *unordered, size * 64 + i)).collect();
        messages.iter().for_each(|(stream, unordered, size)| pair.send(*stream, *unordered, *size));
        pair.run_with(SimTime::from_secs(2000), |n, _| {
            let fault = faults.iter().find(|(at, ..)| *at == n);
            match fault {
                _ if (burst_of_losses..burst_of_losses + 9).contains(&n) => Fate::Lost,
                Some((_, 0, _)) => Fate::Twice,
                Some((_, 1, ms)) => Fate::Late(Nanos::from_millis(*ms)),
                Some(_) => Fate::Lost,
                None => Fate::Arrives,
            }
        });
        check_deliveries(&mut pair, &messages)?;
    }
}
