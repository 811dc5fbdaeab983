//! Messages and streams of associations: each message arrives once, in order within its stream, and streams do not
//! block each other.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::setups::sctp_end;
use transport::packet::Packet;
use transport::sctp::lifecycle::State;
use transport::sctp::tsn::StreamId;
use transport::sctp::{Association, Delivery, SctpConfig, UserMessage};
use transport::{Departure, Role};
use units::{Bytes, Nanos, SimTime};

/// One-way delay of both paths.
const DELAY: Nanos = Nanos::from_millis(10);

/// Two associations and the packets between them.
struct Pair {
    client: Association,
    server: Association,
    now: SimTime,
    /// Arrival, in the order of sending; true: at the server.
    wire: Vec<(SimTime, bool, Packet)>,
    delivered: Vec<(SimTime, Delivery)>,
    sent: u64,
}

impl Pair {
    fn new(config: &SctpConfig) -> Self {
        let end = |role| Association::new(sctp_end(config, "sctp", 2, role));
        let (mut client, server) = (end(Role::Client), end(Role::Server));
        client.open();
        Self { client, server, now: SimTime::ZERO, wire: Vec::new(), delivered: Vec::new(), sent: 0 }
    }

    fn send(&mut self, stream: u16, unordered: bool, size: u64) {
        self.client.send(UserMessage { stream: StreamId(stream), unordered, size: Bytes(size) });
    }

    /// Runs until `end` or until nothing happens. `lost` is asked about the n-th packet with data of the client.
    fn run(&mut self, end: SimTime, mut lost: impl FnMut(u64, &Packet) -> bool) {
        loop {
            for to_server in [true, false] {
                let mut packet = Packet::default();
                loop {
                    let from = if to_server { &mut self.client } else { &mut self.server };
                    if from.poll_transmit(self.now, &mut packet) == Departure::Nothing {
                        break;
                    }
                    let mut drop = false;
                    if to_server && packet.payload > 0 {
                        drop = lost(self.sent, &packet);
                        self.sent += 1;
                    }
                    if !drop {
                        self.wire.push((self.now + DELAY, to_server, packet));
                    }
                }
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
            }
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
        let mut pair = Pair::new(&SctpConfig { nr_sack, ..SctpConfig::default() });
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_once_and_in_order_within_its_stream(
        messages in vec((0u16..4, any::<bool>(), 1u64..5000), 1..60), losses in vec(0u64..200, 0..40),
        burst_of_losses in 0u64..60,
    ) {
        let mut pair = Pair::new(&SctpConfig::default());
        // The size tells messages of a stream apart.
        let messages: Vec<_> =
            messages.iter().zip(0..).map(|((stream, unordered, size), i)| (*stream, *unordered, size * 64 + i)).collect();
        messages.iter().for_each(|(stream, unordered, size)| pair.send(*stream, *unordered, *size));
        let lost = |n: u64| losses.contains(&n) || (burst_of_losses..burst_of_losses + 9).contains(&n);
        pair.run(SimTime::from_secs(2000), |n, _| lost(n));
        let mut seen: Vec<_> = pair.seen();
        let ordered = |of: &[(u16, u64)]| {
            let mut streams: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
            for (stream, size) in of {
                let in_order = messages.iter().any(|(_, unordered, other)| other == size && !unordered);
                if in_order {
                    streams.entry(*stream).or_default().push(*size);
                }
            }
            streams
        };
        let mut sent: Vec<_> = messages.iter().map(|(stream, _, size)| (*stream, *size)).collect();
        prop_assert_eq!(ordered(&seen), ordered(&sent));
        seen.sort_unstable();
        sent.sort_unstable();
        prop_assert_eq!(seen, sent);
        // The place of a message among those of its sender identifies it, and each is announced once.
        let mut starts: BTreeMap<u64, u64> = BTreeMap::new();
        messages.iter().fold(0, |start, (_, _, size)| {
            starts.insert(start, *size);
            start + size
        });
        let announced = std::iter::from_fn(|| pair.server.announce());
        let identities: Vec<_> = announced.map(|known| (known.offset.0, known.size.0)).collect();
        prop_assert_eq!(identities.len(), messages.len());
        prop_assert_eq!(identities.into_iter().collect::<BTreeMap<_, _>>(), starts);
    }
}
