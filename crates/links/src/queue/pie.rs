//! PIE: packets are dropped on arrival with a probability that a controller keeps such that the delay meets a target
//! (RFC 8033).
//!
//! Delays in seconds. Every 15 ms
//!
//! ```text
//! p += a(p) (delay - target) + b(p) (delay - old delay)
//! ```
//!
//! with a = 0.125, b = 1.25, both divided by up to 2048 while p is small (section 4.2).
//!
//! Deviation: the delay is the wait of the packet that left last, zero if the queue is empty, not an estimate from
//! departure rates (section 5.2 allows time stamps). With drops spread evenly (section 5.4); PIE is never inactive.

use engine::Stream;
use registry::{OptionKind, OptionSpec, Options, at_least};
use units::{Bytes, Nanos, SimTime};

use super::single::{Arriving, Policy, SingleQueue};
use super::{Algorithm, Buffer, Context, ECN, Waiting, limit};
use crate::Packet;

const fn duration(name: &'static str, default: &'static str, doc: &'static str) -> OptionSpec {
    OptionSpec::new(name, OptionKind::Duration, default, doc)
}

pub(super) const ROW: Algorithm = Algorithm {
    name: "pie",
    summary: "drops on arrival with a probability that keeps the delay at a target",
    source: "RFC 8033",
    notes: "",
    options: &[
        limit("1000p"),
        duration("target", "15ms", "delay that the controller aims at"),
        duration("update", "15ms", "interval of the controller; at least 1ms"),
        duration("burst", "150ms", "for how long a burst after idle time is let through"),
        OptionSpec::new(
            "mark_threshold",
            OptionKind::Probability,
            "0.1",
            "with `ecn`, packets are marked up to this drop probability and dropped above it",
        ),
        ECN,
    ],
    check: |options| at_least("update", Nanos::from_millis(1), Options::duration, options),
    build: |options, stream| {
        Box::new(SingleQueue::with_policy(options.limit("limit"), Pie::new(options, stream)))
    },
};

#[derive(Clone, Debug)]
struct Pie {
    target: f64,
    update: Nanos,
    max_burst: Nanos,
    ecn: bool,
    mark_threshold: f64,
    stream: Stream,
    /// Next turn of the controller.
    next_update: SimTime,
    probability: f64,
    /// Sum of the probabilities since the last drop (section 5.4).
    accumulated: f64,
    burst_allowance: Nanos,
    /// Wait of the packet that left last.
    delay: f64,
    old_delay: f64,
}

impl Pie {
    fn new(options: &Options, stream: Stream) -> Self {
        let update = options.duration("update");
        Self {
            target: options.duration("target").as_secs_f64(),
            update,
            max_burst: options.duration("burst"),
            ecn: options.flag("ecn"),
            mark_threshold: options.probability("mark_threshold").get(),
            stream,
            next_update: SimTime::ZERO + update,
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance: options.duration("burst"),
            delay: 0.0,
            old_delay: 0.0,
        }
    }

    /// The turns of the controller up to `now`. Between two calls nothing changes that it looks at.
    fn catch_up(&mut self, now: SimTime, queue: &Buffer) {
        while self.next_update <= now {
            self.control(queue);
            let rest = self.probability == 0.0
                && self.delay == 0.0
                && self.old_delay == 0.0
                && self.burst_allowance == self.max_burst;
            // At rest nothing more happens; the next turn keeps to the grid.
            let turns = if rest { now.since(self.next_update).0 / self.update.0 + 1 } else { 1 };
            self.next_update += self.update.saturating_mul(turns);
        }
        self.check(now);
    }

    fn check(&self, now: SimTime) {
        debug_assert!(self.next_update > now, "a turn of the controller at {} is missed", self.next_update);
        debug_assert!((0.0..=1.0).contains(&self.probability), "drop probability {}", self.probability);
        debug_assert!(self.burst_allowance <= self.max_burst, "more allowance than a burst: {self:?}");
        debug_assert!(
            self.accumulated >= 0.0 && self.accumulated < 9.5,
            "no run of packets without a drop is that long: {self:?}"
        );
        debug_assert!(self.delay >= 0.0 && self.old_delay >= 0.0, "a delay before its cause: {self:?}");
    }

    /// Section 4.2.
    fn control(&mut self, queue: &Buffer) {
        let delay = if queue.is_empty() { 0.0 } else { self.delay };
        self.delay = delay;
        let scale = match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut step = (0.125 * (delay - self.target) + 1.25 * (delay - self.old_delay)) / scale;
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        // Section 4.4.
        self.burst_allowance = self.burst_allowance.saturating_sub(self.update);
        let calm = delay < self.target / 2.0 && self.old_delay < self.target / 2.0;
        if self.probability == 0.0 && calm {
            self.burst_allowance = self.max_burst;
        }
        self.old_delay = delay;
    }

    /// Sections 4.1, 4.4 and 5.4.
    fn drops(&mut self, packet: Packet, queue: &Buffer) -> bool {
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        let calm = self.old_delay < self.target / 2.0 && self.probability < 0.2;
        let short = queue.bytes() <= Bytes(2 * u64::from(packet.size));
        if self.burst_allowance > Nanos::ZERO || calm || short {
            return false;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        self.accumulated >= 8.5 || self.stream.uniform() < self.probability
    }
}

impl Policy for Pie {
    fn arrive(&mut self, packet: Packet, fits: bool, queue: &Buffer, context: &Context<'_>) -> Arriving {
        self.catch_up(context.now, queue);
        if !fits {
            self.accumulated = 0.0;
            return Arriving::Dropped;
        }
        if !self.drops(packet, queue) {
            return Arriving::Taken;
        }
        self.accumulated = 0.0;
        // Section 5.1.
        let marks = self.ecn && packet.ect && self.probability <= self.mark_threshold;
        if marks { Arriving::Marked } else { Arriving::Dropped }
    }

    fn leave(&mut self, queue: &mut Buffer, context: &mut Context<'_>) -> Option<Waiting> {
        self.catch_up(context.now, queue);
        let waiting = queue.pop()?;
        self.delay = context.now.since(waiting.since).as_secs_f64();
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{build, options, packet, serve, steady};
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    /// Load 1.25 that does not react: in the long run a fifth must be dropped and the delay stays near the target.
    #[test]
    fn the_drop_probability_and_the_delay_settle() {
        let mut queue = build(&ROW, &[]);
        let log = serve(&mut *queue, steady(Nanos(MS.0 * 4 / 5), false), MS, SimTime::from_secs(120));
        let late = |at: SimTime| at > SimTime::from_secs(60);
        let drops = log.drops.iter().filter(|(at, _)| late(*at)).count() as f64;
        assert!((drops / (60_000.0 * 1.25) - 0.2).abs() < 0.005, "{drops}");
        let waits: Vec<f64> = log.sent.iter().filter(|s| late(s.0)).map(|s| s.2.as_secs_f64()).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((mean - 0.015).abs() < 0.0015, "mean wait {mean}");
    }

    /// 100 ms of twice the load after idle time is a burst.
    #[test]
    fn a_burst_after_idle_time_is_let_through() {
        let mut queue = build(&ROW, &[]);
        let start = SimTime::from_secs(5);
        let burst = (0..200u32).map(|i| (start + Nanos(u64::from(i) * MS.0 / 2), packet(i)));
        let log = serve(&mut *queue, burst, MS, SimTime::from_secs(6));
        assert_eq!((log.drops.len(), log.sent.len()), (0, 200));
    }

    /// A queue with this number of packets.
    fn waiting(packets: u32) -> Buffer {
        let mut queue = Buffer::default();
        (0..packets).for_each(|id| queue.push(Waiting { packet: packet(id), since: SimTime::ZERO }));
        queue
    }

    /// Worked out by hand: p = 0 and a delay that has risen from 0 to 40 ms in one turn.
    #[test]
    fn one_turn_of_the_controller() {
        let mut pie = Pie::new(&options(&ROW, &[]), Stream::named(1, "link", "queue"));
        let mut queue = waiting(1);
        pie.delay = 0.040;
        pie.control(&queue);
        // (0.125 * 0.025 + 1.25 * 0.040) / 2048.
        assert!((pie.probability - 0.053_125 / 2048.0).abs() < 1e-15);
        pie.probability = 0.05;
        pie.control(&queue);
        // Between 0.01 and 0.1: halved; the delay has not changed.
        assert!((pie.probability - (0.05 + 0.003_125 / 2.0)).abs() < 1e-15);
        (pie.probability, pie.delay, pie.old_delay) = (0.5, 0.3, 0.0);
        pie.control(&queue);
        assert!((pie.probability - 0.52).abs() < 1e-15, "a step is at most 0.02");
        queue.pop();
        pie.old_delay = 0.0;
        pie.control(&queue);
        // An empty queue: -0.125 * 0.015, then 0.98.
        assert!((pie.probability - (0.52 - 0.001_875) * 0.98).abs() < 1e-15);
    }

    /// Section 5.4: none before the sum of the probabilities is 0.85, one at 8.5 at the latest. Section 4.1: none while
    /// the queue is calm or short. Section 4.4: none in a burst.
    #[test]
    fn chance_is_bounded_on_both_sides() {
        let pie = || {
            let mut pie = Pie::new(&options(&ROW, &[]), Stream::named(1, "link", "queue"));
            (pie.probability, pie.old_delay, pie.burst_allowance) = (0.125, 0.008, Nanos::ZERO);
            pie
        };
        let asked_until_drop = |pie: &mut Pie, queue: &Buffer| {
            pie.accumulated = 0.0;
            (1..=100).find(|_| pie.drops(packet(9), queue))
        };
        let mut all = pie();
        // Three in ten thousand come through 61 times, and are dropped at the sum of 8.5.
        let gaps: Vec<_> = (0..100_000).map(|_| asked_until_drop(&mut all, &waiting(3))).collect();
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&Some(7)), Some(&Some(68))));
        let never = |packets: u32, change: fn(&mut Pie)| {
            let mut pie = pie();
            change(&mut pie);
            assert_eq!(asked_until_drop(&mut pie, &waiting(packets)), None, "{pie:?}");
        };
        never(3, |pie| pie.old_delay = 0.007);
        never(3, |pie| pie.burst_allowance = Nanos(1));
        never(2, |_| {});
        let mut harsh = pie();
        (harsh.old_delay, harsh.probability) = (0.007, 0.2);
        assert!(asked_until_drop(&mut harsh, &waiting(3)).is_some(), "calm no more");
    }

    #[test]
    fn marks_up_to_the_threshold_and_drops_above_it() {
        let run = |load: u64| {
            let mut queue = build(&ROW, &[("ecn", "true")]);
            serve(&mut *queue, steady(Nanos(MS.0 * 100 / load), true), MS, SimTime::from_secs(60))
        };
        // Marks do not reduce the load, so the probability passes the threshold, and then packets are dropped.
        let log = run(150);
        assert!(!log.marks.is_empty() && !log.drops.is_empty());
        assert!(log.marks[0].0 < log.drops[0].0);
        assert!(run(95).marks.is_empty());
    }

    #[test]
    fn idle_turns_are_skipped_on_the_grid() {
        let mut pie = Pie::new(&options(&ROW, &[]), Stream::named(1, "link", "queue"));
        pie.catch_up(SimTime::from_secs(1_000_000), &Buffer::default());
        assert_eq!(pie.next_update.0 % pie.update.0, 0);
        assert!(pie.next_update > SimTime::from_secs(1_000_000));
        assert!(pie.next_update <= SimTime::from_secs(1_000_000) + pie.update);
    }
}
