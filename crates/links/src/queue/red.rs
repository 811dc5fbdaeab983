//! RED: packets are dropped on arrival with a probability that grows with the average length of the queue (S. Floyd, V.
//! Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on Networking 1(4),
//! 1993; `gentle`: S. Floyd 2000; ECN: RFC 3168).
//!
//! Lengths in packets or bytes, as the limit. On each arrival
//!
//! ```text
//! average += weight (length - average)                 queue not empty
//! average *= (1 - weight)^(idle time / service time)   queue empty; service time: of the packet that left last
//! p = max_probability (average - min) / (max - min)    between the thresholds
//! drop with probability p / (1 - n p)                  n packets since the last drop
//! ```
//!
//! From the upper threshold on every packet is dropped; with `gentle` p first rises to 1 at twice the threshold. With `ecn`
//! packets that carry it are marked instead, where p is 1 only without `hard_drop` (RFC 3168 section 7).

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options, in_order};
use units::{Nanos, QueueLimit, SimTime};

use super::single::{Arriving, Policy, SingleQueue};
use super::{Algorithm, Buffer, Context, ECN, Waiting, limit};
use crate::Packet;

const fn share(name: &'static str, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Probability, default, doc)
}

const fn flag(name: &'static str, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Flag, default, doc)
}

pub(super) const ROW: Algorithm = Algorithm {
    name: "red",
    summary: "drops on arrival with a probability that grows with the average length",
    source: "Floyd, Jacobson 1993; Floyd 2000; RFC 3168",
    notes: "",
    options: &[
        limit("100p"),
        share("min_threshold", "0.2", "nothing is dropped early below this average, as a share of the limit"),
        share("max_threshold", "0.6", "upper threshold, as a share of the limit"),
        share("weight", "0.002", "weight of the present length in the average"),
        share("max_probability", "0.1", "drop probability at the upper threshold"),
        flag(
            "gentle",
            "true",
            "the probability rises to 1 at twice the upper threshold; false: it is 1 from the threshold on",
        ),
        flag(
            "hard_drop",
            "true",
            "where the probability is 1 packets are dropped even if they could be marked",
        ),
        ECN,
    ],
    check: |options| in_order(("min_threshold", "max_threshold"), Options::probability, options),
    build: |options, stream| {
        Box::new(SingleQueue::with_policy(options.limit("limit"), Red::new(options, stream)))
    },
};

#[derive(Clone, Debug)]
struct Red {
    /// Lengths are in bytes, otherwise in packets.
    in_bytes: bool,
    /// Thresholds in packets or bytes.
    min: f64,
    max: f64,
    weight: f64,
    max_probability: f64,
    gentle: bool,
    hard_drop: bool,
    ecn: bool,
    stream: Stream,
    average: f64,
    /// Packets since the last drop; none below the lower threshold.
    count: Option<u32>,
    /// When the queue ran empty, and how long a transmission takes.
    idle_since: Option<SimTime>,
    service: Nanos,
}

/// Consequence of the average.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Pass,
    Early,
    /// The probability is 1.
    Forced,
}

impl Red {
    fn new(options: &Options, stream: Stream) -> Self {
        let limit = options.limit("limit");
        let whole = match limit {
            QueueLimit::Packets(n) => n as f64,
            QueueLimit::Bytes(bytes) => bytes.as_f64(),
        };
        Self {
            in_bytes: matches!(limit, QueueLimit::Bytes(_)),
            min: options.probability("min_threshold").get() * whole,
            max: options.probability("max_threshold").get() * whole,
            weight: options.probability("weight").get(),
            max_probability: options.probability("max_probability").get(),
            gentle: options.flag("gentle"),
            hard_drop: options.flag("hard_drop"),
            ecn: options.flag("ecn"),
            stream,
            average: 0.0,
            count: None,
            idle_since: Some(SimTime::ZERO),
            service: Nanos::ZERO,
        }
    }

    fn length_of(&self, queue: &Buffer) -> f64 {
        if self.in_bytes { queue.bytes().as_f64() } else { queue.packets() as f64 }
    }

    fn update(&mut self, now: SimTime, queue: &Buffer) {
        match self.idle_since {
            Some(since) if queue.is_empty() => {
                if self.service > Nanos::ZERO {
                    let missed = now.since(since) / self.service;
                    self.average *= libm::pow(1.0 - self.weight, missed);
                    self.idle_since = Some(now);
                }
            }
            _ => self.average += self.weight * (self.length_of(queue) - self.average),
        }
    }

    fn check(&self, queue: &Buffer) {
        debug_assert!(self.average >= 0.0 && self.average.is_finite(), "average length {}", self.average);
        debug_assert!(self.min <= self.max, "thresholds {} and {}", self.min, self.max);
        debug_assert!(self.idle_since.is_none() || queue.is_empty(), "idle with {} packets", queue.packets());
    }

    fn verdict(&mut self) -> Verdict {
        let (average, min, max) = (self.average, self.min, self.max);
        let ceiling = if self.gentle { 2.0 * max } else { max };
        let p = match average {
            _ if average >= ceiling && average > 0.0 => {
                self.count = Some(0);
                return Verdict::Forced;
            }
            // Thresholds of zero have no slope between them.
            _ if average >= max && average > 0.0 => {
                self.max_probability + (1.0 - self.max_probability) * (average - max) / max
            }
            _ if average > min => self.max_probability * (average - min) / (max - min),
            _ => {
                self.count = None;
                return Verdict::Pass;
            }
        };
        debug_assert!((0.0..=1.0).contains(&p), "drop probability {p} at an average of {average}");
        let count = self.count.map_or(0, |n| n + 1);
        let spread = 1.0 - f64::from(count) * p;
        if spread <= 0.0 || self.stream.uniform() < p / spread {
            self.count = Some(0);
            return Verdict::Early;
        }
        self.count = Some(count);
        Verdict::Pass
    }
}

impl Policy for Red {
    fn arrive(&mut self, packet: Packet, fits: bool, queue: &Buffer, context: &Context<'_>) -> Arriving {
        self.check(queue);
        self.update(context.now, queue);
        let verdict = self.verdict();
        self.check(queue);
        if !fits {
            self.count = Some(0);
            return Arriving::Dropped;
        }
        let hard = verdict == Verdict::Forced && self.hard_drop;
        let marks = self.ecn && packet.ect && !hard;
        if verdict != Verdict::Pass && !marks {
            return Arriving::Dropped;
        }
        self.idle_since = None;
        if verdict == Verdict::Pass { Arriving::Taken } else { Arriving::Marked }
    }

    fn leave(&mut self, queue: &mut Buffer, context: &mut Context<'_>) -> Option<Waiting> {
        let waiting = queue.pop();
        if queue.is_empty() && self.idle_since.is_none() {
            self.idle_since = Some(context.now);
        }
        self.check(queue);
        waiting
    }

    fn adopted(&mut self) {
        self.idle_since = None;
    }

    fn transmitted(&mut self, time: Nanos) {
        self.service = time;
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueueDiscipline;
    use super::super::testing::{build, options, packet, serve, steady};
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn queue_of(changes: &[(&str, &str)]) -> SingleQueue<Red> {
        SingleQueue::with_policy(options(&ROW, changes).limit("limit"), red(changes))
    }

    fn red(changes: &[(&str, &str)]) -> Red {
        Red::new(&options(&ROW, changes), Stream::named(1, "link", "queue"))
    }

    /// Marking instead of dropping at a constant average: the share is that of the formula, and gaps between marks are
    /// uniform on 1..1/p and not geometric.
    #[test]
    fn early_drops_are_spread_evenly() {
        let mut red = red(&[("max_probability", "0.02")]);
        red.average = 40.0; // Half way between 20 and 60: p = 0.01.
        let verdicts: Vec<Verdict> = (0..1_000_000).map(|_| red.verdict()).collect();
        let marks = verdicts.iter().filter(|v| **v == Verdict::Early).count() as f64;
        // Uniform on 1..=100 has the mean 50.5 (Floyd and Jacobson 1993, section 7).
        assert!((1e6 / marks - 50.5).abs() < 1.0, "mean gap {}", 1e6 / marks);
        let longest = verdicts.split(|v| *v == Verdict::Early).map(<[_]>::len).max().unwrap();
        assert!(longest < 100, "{longest}");
    }

    /// Packets from one drop to the next at the probability `p`, by the formula.
    fn mean_gap(p: f64) -> f64 {
        let (mut mean, mut left) = (0.0, 1.0);
        for n in 1.. {
            mean += left;
            let spread = 1.0 - f64::from(n) * p;
            if spread <= p {
                break;
            }
            left *= 1.0 - p / spread;
        }
        mean
    }

    /// From the upper threshold to twice that p rises on to 1.
    #[test]
    fn gentle_is_a_slope_where_others_have_a_step() {
        for (average, p) in [(60.0, 0.1), (75.0, 0.325), (90.0, 0.55), (119.99, 0.999_85)] {
            let mut red = red(&[("max_probability", "0.1"), ("gentle", "true")]);
            red.average = average;
            let early = (0..100_000).filter(|_| red.verdict() == Verdict::Early).count() as f64;
            assert!((1e5 / early / mean_gap(p) - 1.0).abs() < 0.01, "{average}: {early} of 100000");
        }
        let mut red = red(&[("gentle", "true")]);
        red.average = 120.0;
        assert_eq!(red.verdict(), Verdict::Forced);
    }

    /// More than the link carries, for 200 s: the average settles between the thresholds where the drops take the
    /// surplus away. The share of drops follows from p = max_probability (average - min)/(max - min) and p/(1 - n p).
    #[test]
    fn a_steady_overload_settles_between_the_thresholds() {
        for (max_probability, surplus) in [("0.3", 0.3), ("0.2", 0.2), ("0.5", 0.25)] {
            let changes = [("limit", "1000p"), ("max_probability", max_probability)];
            let mut queue = queue_of(&changes);
            let gap = Nanos((MS.0 as f64 / (1.0 + surplus)) as u64);
            let until =
                |seconds| steady(gap, false).take_while(move |(at, _)| *at < SimTime::from_secs(seconds));
            // The first 20 s fill the queue.
            let warm = until(20).count();
            let log = serve(&mut queue, until(200), MS, SimTime::from_secs(200));
            let offered = until(200).count() - warm;
            let dropped = log.drops.iter().filter(|(at, _)| *at >= SimTime::from_secs(20)).count();
            let share = dropped as f64 / offered as f64;
            let expected = surplus / (1.0 + surplus);
            assert!((share / expected - 1.0).abs() < 0.01, "{share} is not {expected}");

            let highest: f64 = max_probability.parse().unwrap();
            let (mut p, mut high) = (0.0, 1.0);
            while high - p > 1e-9 {
                let middle = 0.5 * (p + high);
                if 1.0 / mean_gap(middle) < expected { p = middle } else { high = middle }
            }
            let settled = 200.0 + 400.0 * p / highest;
            assert!(settled < 600.0);
            // The queue is steady too, and so the wait of each packet in ms is the length that the average follows.
            let late: Vec<f64> = log
                .sent
                .iter()
                .filter(|(at, ..)| *at >= SimTime::from_secs(20))
                .map(|(.., wait)| wait.as_secs_f64() * 1e3)
                .collect();
            let length = late.iter().sum::<f64>() / late.len() as f64;
            assert!((length / settled - 1.0).abs() < 0.03, "{length} packets, not {settled}");
            let average = queue.policy().average;
            assert!((average / settled - 1.0).abs() < 0.1, "{average} is not {settled}");
            assert!(late.iter().all(|length| (200.0..600.0).contains(length)), "between the thresholds");
        }
    }

    #[test]
    fn the_average_follows_and_decays_by_idle_service_times() {
        let mut queue = queue_of(&[("weight", "0.2"), ("limit", "1000p")]);
        let mut fates = Vec::new();
        let mut context = Context { now: SimTime::ZERO, idle: false, fates: &mut fates };
        for id in 0..5 {
            queue.enqueue(packet(id), &mut context);
        }
        // Lengths met: empty, 1, 2, 3, 4.
        let expected = [1.0, 2.0, 3.0, 4.0].iter().fold(0.0, |average, q| average + 0.2 * (q - average));
        assert!((queue.policy().average - expected).abs() < 1e-12);
        queue.transmitted(MS);
        while queue.dequeue(&mut context).is_some() {}
        context.now = SimTime::from_millis(10);
        queue.enqueue(packet(9), &mut context);
        assert!((queue.policy().average - expected * 0.8f64.powi(10)).abs() < 1e-12);
    }

    /// Thresholds of zero: an empty queue passes a packet, any other drops it.
    #[test]
    fn thresholds_of_zero_leave_an_idle_link_alone() {
        for changes in
            [[("limit", "0p"), ("gentle", "true")], [("max_threshold", "0"), ("min_threshold", "0")]]
        {
            let mut red = red(&changes);
            assert_eq!(red.verdict(), Verdict::Pass);
            red.average = 1e-9;
            assert_eq!(red.verdict(), Verdict::Forced);
        }
    }

    /// Every packet is marked while the average is above half the buffer, none below (D-21).
    #[test]
    fn a_threshold_at_half_the_buffer() {
        let changes = [
            ("min_threshold", "0.5"),
            ("max_threshold", "0.5"),
            ("weight", "0.2"),
            ("gentle", "false"),
            ("hard_drop", "false"),
            ("ecn", "true"),
            ("limit", "40p"),
        ];
        let mut red = red(&changes);
        red.average = 19.999;
        assert_eq!(red.verdict(), Verdict::Pass);
        red.average = 20.001;
        assert_eq!(red.verdict(), Verdict::Forced);
        let mut queue = build(&ROW, &changes);
        let log = serve(&mut *queue, steady(Nanos(MS.0 / 2), true), MS, SimTime::from_secs(1));
        // Once the queue is full every packet that gets in is marked.
        let late = |at: &SimTime| *at > SimTime::from_millis(500);
        let sent = log.sent.iter().filter(|(at, ..)| late(at)).count();
        let marked = log.marks.iter().filter(|(at, _)| late(at)).count();
        assert!(sent > 400 && marked.abs_diff(sent) <= 1, "{sent} {marked}");
    }

    /// RFC 3168 section 7: above the upper threshold packets are dropped even if they carry ECN.
    #[test]
    fn hard_drops() {
        let changes = [("ecn", "true"), ("gentle", "false"), ("weight", "1")];
        let mut queue = build(&ROW, &changes);
        let log = serve(&mut *queue, steady(Nanos(MS.0 / 10), true), MS, SimTime::from_secs(1));
        assert!(!log.marks.is_empty());
        assert!(queue.length().0 <= 61, "{:?}", queue.length());
    }
}
