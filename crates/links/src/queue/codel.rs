//! CoDel: packets are dropped when they leave, if the queue has stood for an interval (RFC 8289 section 5).
//!
//! Times in nanoseconds. Dropping starts when every packet of an interval has waited for the target or longer; the n-th
//! drop in a row follows the one before after interval / sqrt(n). A queue of at most one full packet is not standing; a
//! full packet is the largest seen.
//!
//! With `ecn` a packet that carries ECN is marked where another would be dropped, and leaves (RFC 8289 section 5.8
//! allows it).

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use super::single::{Policy, SingleQueue};
use super::{Algorithm, Buffer, Context, ECN, Waiting, limit};

pub(super) const TARGET: OptionSpec =
    OptionSpec::new("target", OptionKind::Duration, "5ms", "wait that a standing queue may have");

pub(super) const INTERVAL: OptionSpec = OptionSpec::new(
    "interval",
    OptionKind::Duration,
    "100ms",
    "for how long the queue must stand before packets are dropped; about the longest round-trip time of most connections",
);

pub(super) const ROW: Algorithm = Algorithm {
    name: "codel",
    summary: "drops packets when they leave, if the queue has stood for an interval",
    source: "RFC 8289",
    notes: "",
    options: &[limit("1000p"), TARGET, INTERVAL, ECN],
    check: registry::independent,
    build: |options, _| {
        let policy = CoDel { law: ControlLaw::new(options), control: Control::default() };
        Box::new(SingleQueue::with_policy(options.limit("limit"), policy))
    },
};

/// The control law with its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlLaw {
    target: Nanos,
    interval: Nanos,
    ecn: bool,
}

impl ControlLaw {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            target: options.duration("target"),
            interval: options.duration("interval"),
            ecn: options.flag("ecn"),
        }
    }

    /// Section 5.5: the next drop.
    fn next_drop(self, at: SimTime, count: u32) -> SimTime {
        debug_assert!(count > 0, "the first drop is number 1");
        at + Nanos((self.interval.0 as f64 / f64::from(count).sqrt()) as u64)
    }
}

/// The state of one queue; names as in the RFC.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    first_above_time: Option<SimTime>,
    drop_next: SimTime,
    count: u32,
    last_count: u32,
    dropping: bool,
    max_packet: Bytes,
}

impl Control {
    /// The next packet of `buffer`, and whether it has stood too long (`dodequeue` of section 5.6).
    fn pop(&mut self, buffer: &mut Buffer, law: ControlLaw, now: SimTime) -> Option<(Waiting, bool)> {
        let Some(waiting) = buffer.pop() else {
            self.first_above_time = None;
            return None;
        };
        self.max_packet = self.max_packet.max(Bytes(waiting.packet.size.into()));
        if now.since(waiting.since) < law.target || buffer.bytes() <= self.max_packet {
            self.first_above_time = None;
            return Some((waiting, false));
        }
        match self.first_above_time {
            None => self.first_above_time = Some(now + law.interval),
            Some(at) => return Some((waiting, now >= at)),
        }
        Some((waiting, false))
    }

    /// The packet to transmit (`dequeue` of section 5.6).
    pub(super) fn dequeue(
        &mut self,
        buffer: &mut Buffer,
        law: ControlLaw,
        context: &mut Context<'_>,
    ) -> Option<Waiting> {
        let now = context.now;
        let mut next = self.pop(buffer, law, now);
        let standing = |next: &Option<(Waiting, bool)>| next.is_some_and(|(_, standing)| standing);
        if self.dropping {
            self.dropping = standing(&next);
            while self.dropping && now >= self.drop_next {
                let Some((waiting, _)) = next else { break };
                self.count = self.count.saturating_add(1);
                if law.ecn && waiting.packet.ect {
                    context.mark(waiting.packet);
                    self.drop_next = law.next_drop(self.drop_next, self.count);
                    break;
                }
                context.drop(waiting.packet);
                next = self.pop(buffer, law, now);
                self.dropping = standing(&next);
                if self.dropping {
                    self.drop_next = law.next_drop(self.drop_next, self.count);
                }
            }
        } else if let Some((waiting, true)) = next {
            if law.ecn && waiting.packet.ect {
                context.mark(waiting.packet);
            } else {
                context.drop(waiting.packet);
                next = self.pop(buffer, law, now);
            }
            self.dropping = true;
            // Section 5.4: it was dropping not long ago, so it begins near the rate that it had then.
            let delta = self.count - self.last_count;
            let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = law.next_drop(now, self.count);
            self.last_count = self.count;
        }
        self.check(next.map(|(waiting, _)| waiting));
        next.map(|(waiting, _)| waiting)
    }

    /// After a packet was taken out.
    fn check(&self, next: Option<Waiting>) {
        debug_assert!(!self.dropping || self.count > 0, "dropping without a drop: {self:?}");
        debug_assert!(self.count >= self.last_count, "fewer drops than when dropping began: {self:?}");
        debug_assert!(
            next.is_none_or(|next| Bytes(next.packet.size.into()) <= self.max_packet),
            "{next:?} is larger than the largest, {}",
            self.max_packet
        );
    }
}

/// CoDel decides when packets leave.
#[derive(Clone, Debug)]
struct CoDel {
    law: ControlLaw,
    control: Control,
}

impl Policy for CoDel {
    fn leave(&mut self, queue: &mut Buffer, context: &mut Context<'_>) -> Option<Waiting> {
        self.control.dequeue(queue, self.law, context)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{build, serve, steady};
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    /// Twice the load for a second: the first drop one interval after the wait has passed the target, the next ones
    /// after interval / sqrt(n).
    #[test]
    fn drops_follow_the_control_law() {
        let mut queue = build(&ROW, &[("limit", "100000p")]);
        let log = serve(&mut *queue, steady(Nanos(MS.0 / 2), false), MS, SimTime::from_secs(1));
        // Packet i comes at i/2 ms and leaves at i ms: the wait is 5 ms at 10 ms.
        let first = log.drops[0].0;
        assert_eq!(first, SimTime::from_millis(110));
        let mut expected = first;
        for (n, (at, _)) in log.drops.iter().enumerate().skip(1) {
            expected += Nanos((1e8 / (n as f64).sqrt()) as u64);
            let late = at.since(expected);
            assert!(*at >= expected && late <= MS, "drop {n} at {at:?}, due {expected:?}");
        }
        // sum of 1/sqrt(i) for i below n is 2 sqrt(n) - 1.46: 890 ms make n = 26.
        assert!((25..=27).contains(&log.drops.len()), "{}", log.drops.len());
    }

    #[test]
    fn a_short_burst_is_let_through() {
        let mut queue = build(&ROW, &[]);
        let burst = steady(Nanos(1), false).take(100);
        let log = serve(&mut *queue, burst, MS, SimTime::from_secs(1));
        assert_eq!((log.drops.len(), log.sent.len()), (0, 100));
    }

    /// Packets that come in at the rate of service never make the queue stand, however long it lasts.
    #[test]
    fn a_queue_of_one_packet_is_not_standing() {
        let mut queue = build(&ROW, &[("target", "0s")]);
        let log = serve(&mut *queue, steady(MS, false), MS, SimTime::from_secs(10));
        assert!(log.drops.is_empty());
    }

    #[test]
    fn marks_take_the_place_of_drops() {
        let run = |ect, ecn| {
            let mut queue = build(&ROW, &[("limit", "100000p"), ("ecn", ecn)]);
            serve(&mut *queue, steady(Nanos(MS.0 / 2), ect), MS, SimTime::from_secs(1))
        };
        let (dropped, marked) = (run(false, "true"), run(true, "true"));
        assert!(dropped.marks.is_empty() && marked.drops.is_empty() && dropped.drops.len() > 20);
        assert!((dropped.drops.len() as i64 - marked.marks.len() as i64).abs() <= 1);
        assert_eq!(marked.marks[0].0, dropped.drops[0].0);
        assert!(run(true, "false").marks.is_empty(), "only if the option says so");
    }
}
