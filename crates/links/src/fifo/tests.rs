//! Simple links: times and drops by hand, changes on the way, conservation under random loads.

use proptest::prelude::*;

use super::Fifo as Link;
use super::*;
use crate::loss::bernoulli::Bernoulli;
use units::Ratio;

const MBIT: u64 = 1_000_000;

fn parameters(rate: u64, delay_ms: u64, queue: u64) -> Parameters {
    Parameters {
        rate: BitsPerSecond(rate),
        delay: Nanos::from_millis(delay_ms),
        queue: QueueLimit::Packets(queue),
    }
}

fn link(rate: u64, delay_ms: u64, queue: u64) -> Link {
    Link::new(parameters(rate, delay_ms, queue), None, Stream::named(1, "link", "loss"))
}

fn bernoulli(p: f64) -> Option<Box<dyn LossModel>> {
    Some(Box::new(Bernoulli::new(Ratio::new(p).unwrap())))
}

/// Takes out everything, with the instants of arrival.
fn drain(link: &mut Link) -> Vec<(SimTime, u32)> {
    let mut arrivals = Vec::new();
    while !link.next_arrival().is_never() {
        let at = link.next_arrival();
        let id = link.take_arrival(at).expect("announced");
        arrivals.push((at, id));
    }
    arrivals
}

#[test]
fn serialisation_and_propagation_to_the_nanosecond() {
    let mut link = link(10 * MBIT, 275, 100);
    let now = SimTime(7);
    // 1500 B at 10 Mbit/s is 1.2 ms, 40 B is 32 us.
    assert_eq!(link.offer(now, Bytes(1500), 1), Offered::Accepted);
    assert_eq!(link.offer(now, Bytes(40), 2), Offered::Accepted);
    let late = SimTime(500_000_000);
    assert_eq!(link.next_arrival(), SimTime(7 + 1_200_000 + 275_000_000));
    assert_eq!(link.take_arrival(SimTime(275_000_000)), None);
    assert_eq!(drain(&mut link), [(SimTime(276_200_007), 1), (SimTime(276_232_007), 2)]);
    let counters = link.counters(late);
    assert_eq!((counters.packets, counters.bytes, counters.queue_max), (2, Bytes(1540), 1));
    assert_eq!((counters.queue_delay_max, counters.queue_delay_mean()), (Nanos(1_200_000), Nanos(600_000)));
    let allowed = 10e6 * late.as_secs_f64();
    assert!((link.utilisation(late) - 1540.0 * 8.0 / allowed).abs() < 1e-12);
}

#[test]
fn the_packet_on_the_transmitter_does_not_count() {
    let mut link = link(8 * MBIT, 0, 2);
    let offers: Vec<_> = (0..4).map(|id| link.offer(SimTime::ZERO, Bytes(1000), id)).collect();
    assert_eq!(offers, [Offered::Accepted, Offered::Accepted, Offered::Accepted, Offered::QueueFull]);
    assert_eq!(link.queue_length(SimTime::ZERO), (2, Bytes(2000)));
    // The first leaves at 1 ms: the second moves up and makes room.
    assert_eq!(link.queue_length(SimTime::from_millis(1)), (1, Bytes(1000)));
    assert_eq!(link.offer(SimTime::from_millis(1), Bytes(1000), 5), Offered::Accepted);
    assert_eq!(link.counters(SimTime::from_millis(1)).drops_queue, 1);
    link.set_queue(QueueLimit::Bytes(Bytes(2500)));
    assert_eq!(link.offer(SimTime::from_millis(1), Bytes(501), 6), Offered::QueueFull);
    assert_eq!(link.offer(SimTime::from_millis(1), Bytes(500), 7), Offered::Accepted);
}

#[test]
fn a_lost_packet_takes_its_place_and_its_time() {
    let mut link = Link::new(parameters(8 * MBIT, 10, 1), bernoulli(1.0), Stream::named(1, "link", "loss"));
    assert_eq!(link.offer(SimTime::ZERO, Bytes(1000), 1), Offered::LostInTransit);
    assert_eq!(link.offer(SimTime::ZERO, Bytes(1000), 2), Offered::LostInTransit);
    assert_eq!(link.offer(SimTime::ZERO, Bytes(1000), 3), Offered::QueueFull);
    assert_eq!(link.next_arrival(), SimTime::NEVER);
    link.set_loss(None);
    let now = SimTime::from_millis(1);
    assert_eq!(link.offer(now, Bytes(1000), 4), Offered::Accepted);
    assert_eq!(drain(&mut link), [(SimTime::from_millis(13), 4)]);
    let counters = link.counters(SimTime::from_millis(13));
    assert_eq!((counters.packets, counters.drops_error, counters.drops_queue), (3, 2, 1));
}

#[test]
fn nothing_but_lost_packets_needs_no_memory() {
    let mut link =
        Link::new(parameters(8 * MBIT, 1000, 10), bernoulli(1.0), Stream::named(1, "link", "loss"));
    for ms in 0..10_000 {
        assert_eq!(link.offer(SimTime::from_millis(ms), Bytes(1000), 0), Offered::LostInTransit);
    }
    assert!(link.ring.capacity() <= 16, "{}", link.ring.capacity());
}

/// The i-th packet is lost or not, whatever the arrival times are.
#[test]
fn losses_depend_on_the_packet_index_alone() {
    let fates = |gap: u64, queue: u64| -> Vec<bool> {
        let stream = Stream::named(3, "beam1.up", "loss");
        let mut link = Link::new(parameters(10 * MBIT, 250, queue), bernoulli(0.3), stream);
        let offers = (0..2000).map(|i| link.offer(SimTime(i * gap), Bytes(1500), 0));
        offers.filter(|o| *o != Offered::QueueFull).map(|o| o == Offered::LostInTransit).collect()
    };
    let (paced, crowded) = (fates(2_000_000, 100), fates(300_000, 5));
    assert!(crowded.len() < paced.len() && crowded.iter().any(|lost| *lost));
    assert_eq!(crowded, paced[..crowded.len()]);
}

#[test]
fn rate_changes_in_the_middle_of_a_packet_are_exact() {
    let mut link = link(8 * MBIT, 5, 100);
    link.offer(SimTime::ZERO, Bytes(1000), 1);
    link.offer(SimTime::ZERO, Bytes(1000), 2);
    // At 0.25 ms 250 bytes are sent; 500 more at 4 Mbit/s take until 1.25 ms; the last 250 at 1 Mbit/s 2 ms.
    link.set_rate(SimTime(250_000), BitsPerSecond(4 * MBIT));
    assert_eq!(link.next_arrival(), SimTime(250_000 + 1_500_000 + 5_000_000));
    link.set_rate(SimTime(1_250_000), BitsPerSecond(MBIT));
    assert_eq!(drain(&mut link), [(SimTime(8_250_000), 1), (SimTime(16_250_000), 2)]);
    let end = SimTime::from_millis(20);
    let allowed = 8e6 * 0.25e-3 + 4e6 * 1e-3 + 1e6 * 18.75e-3;
    assert!((link.utilisation(end) - 16_000.0 / allowed).abs() < 1e-12);
}

#[test]
fn many_rate_changes_lose_no_bits() {
    let mut link = link(3 * MBIT, 0, 10);
    link.offer(SimTime::ZERO, Bytes(1500), 1);
    // 4 ms at 3 Mbit/s; toggling to 6 Mbit/s and back every 7 ns averages 4.5 Mbit/s.
    for i in 1..=200_000u64 {
        link.set_rate(SimTime(7 * i), BitsPerSecond(if i % 2 == 0 { 3 } else { 6 } * MBIT));
    }
    let sent = 100_000.0 * 7e-9 * 9e6;
    let rest: f64 = (12_000.0 - sent) / 3e6;
    let expected = 1_400_000 + (rest * 1e9).ceil() as u64;
    assert_eq!(link.next_arrival(), SimTime(expected));
}

#[test]
fn delay_changes_reach_unsent_packets_and_keep_the_order() {
    let mut link = link(8 * MBIT, 100, 100);
    for id in 1..=4 {
        link.offer(SimTime::ZERO, Bytes(1000), id);
    }
    // At 1.5 ms the first is in propagation, the second on the transmitter.
    link.set_delay(SimTime(1_500_000), Nanos::from_millis(98));
    let ms = |id, at| (SimTime::from_millis(at), id);
    assert_eq!(drain(&mut link), [ms(1, 101), ms(2, 101), ms(3, 101), ms(4, 102)]);
    link.set_delay(SimTime::from_millis(102), Nanos::from_millis(500));
    link.offer(SimTime::from_millis(102), Bytes(1000), 5);
    assert_eq!(drain(&mut link), [ms(5, 603)]);
}

#[test]
fn down_cuts_off_one_packet_and_keeps_the_others() {
    let mut link = link(8 * MBIT, 100, 3);
    for id in 1..=4 {
        link.offer(SimTime::ZERO, Bytes(1000), id);
    }
    let down = SimTime(1_500_000);
    assert_eq!(link.set_up(down, false), Some(2));
    assert_eq!(link.queue_length(down), (2, Bytes(2000)));
    assert_eq!(link.offer(down, Bytes(1000), 5), Offered::Accepted);
    assert_eq!(link.offer(down, Bytes(1000), 6), Offered::QueueFull);
    assert_eq!(link.take_arrival(SimTime::from_millis(101)), Some(1));
    assert_eq!(link.next_arrival(), SimTime::NEVER);
    link.set_rate(SimTime::from_millis(200), BitsPerSecond(4 * MBIT));
    assert_eq!(link.set_up(SimTime::from_millis(300), true), None);
    let ms = |id, at| (SimTime::from_millis(at), id);
    assert_eq!(drain(&mut link), [ms(3, 402), ms(4, 404), ms(5, 406)]);
    let counters = link.counters(SimTime::from_millis(406));
    assert_eq!((counters.packets, counters.drops_down, counters.drops_queue), (4, 1, 1));
    assert_eq!(counters.queue_delay_max, Nanos(304_000_000 - 1_500_000));
}

#[test]
fn what_was_sent_of_a_packet_that_was_cut_off_is_forgotten() {
    let mut link = link(MBIT, 0, 3);
    link.offer(SimTime::ZERO, Bytes(40), 1);
    link.set_rate(SimTime::ZERO, BitsPerSecond(10_000));
    assert_eq!(link.set_up(SimTime::ZERO, false), Some(1));
    link.set_up(SimTime::ZERO, true);
    link.offer(SimTime::ZERO, Bytes(50), 2);
    link.set_rate(SimTime::ZERO, BitsPerSecond(10_000));
    assert_eq!(drain(&mut link), [(SimTime::from_millis(40), 2)]);
}

#[test]
fn m_d_1_mean_wait() {
    let mut stream = Stream::named(11, "arrivals", "test");
    // Service time 1 ms, load 0.7: mean wait = 0.7 / (2 * 0.3) ms.
    let mut link = link(8 * MBIT, 20, u64::MAX);
    let (mut at, rho) = (0.0, 0.7);
    for _ in 0..1_000_000 {
        at += -libm::log(1.0 - stream.uniform()) * 1e-3 / rho;
        let now = SimTime((at * 1e9) as u64);
        while link.take_arrival(now).is_some() {}
        link.offer(now, Bytes(1000), 0);
    }
    let end = SimTime((at * 1e9) as u64);
    let wait = link.counters(end).queue_delay_mean().as_secs_f64();
    let expected = rho / (2.0 * (1.0 - rho)) * 1e-3;
    assert!((wait / expected - 1.0).abs() < 0.03, "{wait} is not {expected}");
    assert!((link.utilisation(end) - rho).abs() < 0.01);
}

#[derive(Clone, Debug)]
enum Step {
    Offer(u64),
    Wait(u64),
    Rate(u64),
    Delay(u64),
    Queue(QueueLimit),
    Loss(bool),
    Up(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..3000).prop_map(Step::Offer),
        8 => (0u64..2_000_000).prop_map(Step::Wait),
        1 => (10_000u64..20_000_000).prop_map(Step::Rate),
        1 => (0u64..5_000_000).prop_map(Step::Delay),
        1 => (0u64..8).prop_map(|n| Step::Queue(QueueLimit::Packets(n))),
        1 => (0u64..10_000).prop_map(|n| Step::Queue(QueueLimit::Bytes(Bytes(n)))),
        1 => any::<bool>().prop_map(Step::Loss),
        1 => any::<bool>().prop_map(Step::Up),
    ]
}

/// A link under random operations, watched from outside.
struct Watched {
    link: Link,
    now: SimTime,
    rate: u64,
    limit: QueueLimit,
    offered: u64,
    announced: u64,
    /// `(arrival, packet)`, and the announced losses and cuts by packet.
    delivered: Vec<(SimTime, u32)>,
    gone: Vec<u32>,
    sizes: Vec<u64>,
    /// Bit times nanosecond per second that the rates allowed so far, at each operation.
    allowed: u128,
}

impl Watched {
    fn wait(&mut self, until: SimTime) {
        while self.link.next_arrival() <= until {
            let at = self.link.next_arrival();
            assert!(at >= self.now, "an arrival in the past");
            let id = self.link.take_arrival(at).expect("announced");
            self.delivered.push((at, id));
        }
        assert_eq!(self.link.take_arrival(until), None);
        self.allowed += u128::from(self.rate) * u128::from(until.since(self.now).0);
        self.now = until;
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Offer(size) => {
                let id = self.sizes.len() as u32;
                self.sizes.push(size);
                self.offered += 1;
                let before = self.link.queue_length(self.now);
                match self.link.offer(self.now, Bytes(size), id) {
                    Offered::Accepted => {}
                    Offered::LostInTransit => self.announced += 1,
                    Offered::QueueFull => {
                        assert!(!self.limit.admits(before.0, before.1, Bytes(size)));
                    }
                }
                let (packets, bytes) = self.link.queue_length(self.now);
                assert!(packets <= before.0 || self.limit.admits(before.0, before.1, Bytes(size)));
                assert!(packets > 0 || bytes == Bytes::ZERO);
            }
            Step::Wait(time) => self.wait(self.now + Nanos(time)),
            Step::Rate(rate) => {
                self.rate = rate;
                self.link.set_rate(self.now, BitsPerSecond(rate));
            }
            Step::Delay(delay) => self.link.set_delay(self.now, Nanos(delay)),
            Step::Queue(limit) => {
                self.limit = limit;
                self.link.set_queue(limit);
            }
            Step::Loss(some) => self.link.set_loss(if some { bernoulli(0.4) } else { None }),
            Step::Up(up) => self.gone.extend(self.link.set_up(self.now, up)),
        }
    }
}

proptest! {
    #[test]
    fn packets_are_conserved_and_keep_their_order(steps in prop::collection::vec(step(), 1..200), seed: u64) {
        let link = Link::new(parameters(MBIT, 2, 5), bernoulli(0.2), Stream::named(seed, "link", "loss"));
        let mut watched = Watched {
            link, now: SimTime::ZERO, rate: MBIT, limit: QueueLimit::Packets(5), offered: 0, announced: 0,
            delivered: Vec::new(), gone: Vec::new(), sizes: Vec::new(), allowed: 0,
        };
        for step in &steps {
            watched.apply(step);
            let counters = watched.link.counters(watched.now);
            let live = watched.link.ring.iter().filter(|e| !e.lost).count() as u64;
            let delivered = watched.delivered.len() as u64;
            let dropped = counters.drops_queue + watched.announced + watched.gone.len() as u64;
            prop_assert_eq!(watched.offered, delivered + dropped + live);
            prop_assert!(counters.packets >= delivered + counters.drops_error);
            prop_assert!(u128::from(counters.bytes.0) * WORK_PER_BYTE <= watched.allowed, "over capacity");
        }
        watched.link.set_up(watched.now, true);
        watched.wait(SimTime::from_secs(1_000_000));
        let counters = watched.link.counters(watched.now);
        let delivered = watched.delivered.len() as u64;
        let dropped = counters.drops_queue + counters.drops_error + counters.drops_down;
        prop_assert_eq!(watched.offered, delivered + dropped, "everything has an end");
        prop_assert_eq!(counters.packets, delivered + counters.drops_error);
        prop_assert!(watched.delivered.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1), "overtaken");
        prop_assert_eq!(watched.link.queue_length(watched.now), (0, Bytes::ZERO));
        prop_assert_eq!(watched.link.ring.len(), 0);
    }

    #[test]
    fn no_window_of_time_carries_more_than_the_rate(
        gaps in prop::collection::vec((0u64..1_500_000, 40u64..3000), 2..120),
        queue in 0u64..20,
    ) {
        let mut link = link(10 * MBIT, 3, queue);
        let mut now = SimTime::ZERO;
        for (id, (gap, size)) in gaps.iter().enumerate() {
            now += Nanos(*gap);
            link.offer(now, Bytes(*size), id as u32);
        }
        let arrivals = drain(&mut link);
        for (i, (first, _)) in arrivals.iter().enumerate() {
            let mut bytes = 0;
            // A packet that arrives after packet i was serialised after it.
            for (at, id) in &arrivals[i + 1..] {
                bytes += gaps[*id as usize].1;
                prop_assert!(Bytes(bytes) <= BitsPerSecond(10 * MBIT).bytes_in(at.since(*first)));
            }
        }
    }

    /// Looking at a link is not an event of it.
    #[test]
    fn sampling_changes_nothing(
        gaps in prop::collection::vec((0u64..1_500_000, 40u64..3000), 2..80),
        looks in prop::collection::vec(0u64..100_000_000, 0..50),
    ) {
        let run = |looks: &[u64]| {
            let mut link = Link::new(parameters(10 * MBIT, 3, 4), bernoulli(0.1), Stream::named(5, "link", "loss"));
            let mut looks: Vec<u64> = looks.to_vec();
            looks.sort_unstable();
            let mut looks = looks.into_iter().peekable();
            let mut now = SimTime::ZERO;
            for (id, (gap, size)) in gaps.iter().enumerate() {
                let next = now + Nanos(*gap);
                while let Some(at) = looks.next_if(|at| *at < next.0) {
                    link.counters(SimTime(at).max(now));
                }
                now = next;
                link.offer(now, Bytes(*size), id as u32);
            }
            let end = now + Nanos::from_secs(1);
            (drain(&mut link), link.counters(end))
        };
        prop_assert_eq!(run(&looks), run(&[]));
    }
}
