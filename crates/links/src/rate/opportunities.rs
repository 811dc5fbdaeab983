//! Delivery opportunities recorded on a real link, in the format of mahimahi (R. Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015, and its tool mm-link).
//!
//! Each line is a time in ms at which 1500 bytes may leave. Several packets share an opportunity, a packet that does not
//! fit goes on in the next. Unused capacity is lost. After the last line the trace begins anew, shifted by the time of
//! that line. A packet ends at the instant of the opportunity that carries its last byte.
//!
//! Deviation: the tool takes a packet out of its queue as soon as one is there and nothing is in transit; here the
//! packet stays in the queue until the next opportunity, so that queue disciplines judge it by its whole wait.

use std::fmt::Write;
use std::sync::Arc;

use registry::{OptionKind, OptionSpec};
use units::{Nanos, SimTime};

use super::{Algorithm, RateModel, WORK_PER_BYTE};
use crate::trace_file::{Instants, OPPORTUNITIES};

pub(super) const ROW: Algorithm = Algorithm {
    name: "opportunities",
    summary: "delivery opportunities from a mahimahi trace",
    source: "Netravali et al. 2015 (mahimahi)",
    notes: "",
    options: &[OptionSpec::compulsory(
        "file",
        OptionKind::File(OPPORTUNITIES),
        "path of the trace, from the folder of the scenario",
    )],
    check: registry::independent,
    build: |options, _| Box::new(Opportunities::new(options.file("file").content())),
};

/// Bytes of one opportunity.
const BYTES: u64 = 1500;
const WORK: u128 = BYTES as u128 * WORK_PER_BYTE;

/// The trace, again and again.
#[derive(Clone, Debug)]
pub(super) struct Opportunities {
    times: Arc<Instants>,
    period: Nanos,
    len: u64,
    /// The opportunity in use or next, counted from the start of the run.
    next: u64,
    /// Work left in it.
    left: u128,
    /// First opportunity of the latest transmission, and the work that was left there.
    began: (u64, u128),
}

impl Opportunities {
    pub(super) fn new(times: Arc<Instants>) -> Self {
        debug_assert!(times.is_sorted(), "opportunities are in the order of time");
        let (period, len) = (times.last().copied().unwrap_or(Nanos(1)), times.len() as u64);
        Self { times, period, len, next: 0, left: WORK, began: (0, WORK) }
    }

    fn check(&self) {
        debug_assert!(self.left <= WORK, "more than {BYTES} bytes are left in an opportunity");
        debug_assert!(self.began.0 <= self.next, "a transmission began after its end: {:?}", self.began);
    }

    /// When the opportunity with this number is.
    fn at(&self, number: u64) -> SimTime {
        let offset = self.times.get((number % self.len) as usize).copied().unwrap_or(Nanos::ZERO);
        SimTime::ZERO + self.period.saturating_mul(number / self.len) + offset
    }

    /// How many there are up to `until`, that instant included.
    fn count(&self, until: SimTime) -> u64 {
        // The last line of a round may fall together with lines of the next.
        let round = until.0 / self.period.0.max(1);
        let mut number = round.saturating_sub(1) * self.len;
        loop {
            let start = self.period.saturating_mul(number / self.len);
            let within = until.since(SimTime::ZERO + start);
            if SimTime::ZERO + start > until {
                return number;
            }
            let passed = self.times.partition_point(|time| *time <= within) as u64;
            number += passed;
            if passed < self.len {
                return number;
            }
        }
    }
}

impl RateModel for Opportunities {
    fn ready(&mut self, at: SimTime) -> SimTime {
        if self.left == 0 {
            (self.next, self.left) = (self.next + 1, WORK);
        }
        if self.at(self.next) < at {
            // Opportunities strictly before `at` are lost.
            self.next = self.count(SimTime(at.0 - 1)).max(self.next);
            self.left = WORK;
        }
        self.check();
        debug_assert!(self.at(self.next) >= at, "opportunity {} is over at {at}", self.next);
        self.at(self.next)
    }

    fn end(&mut self, start: SimTime, work: u128) -> SimTime {
        self.ready(start);
        self.began = (self.next, self.left);
        let mut work = work;
        if work > self.left {
            work -= self.left;
            let whole = u64::try_from((work - 1) / WORK).unwrap_or(u64::MAX);
            self.next = self.next.saturating_add(whole).saturating_add(1);
            work -= u128::from(whole) * WORK;
            self.left = WORK;
        }
        debug_assert!(work <= self.left, "an opportunity carries {BYTES} bytes");
        self.left -= work;
        self.check();
        self.at(self.next)
    }

    fn capacity(&mut self, until: SimTime) -> u128 {
        u128::from(self.count(until)) * WORK
    }

    fn served(&mut self, _start: SimTime, now: SimTime) -> u128 {
        let (first, found) = self.began;
        match self.count(now).saturating_sub(first) {
            0 => 0,
            n => found + u128::from(n - 1) * WORK,
        }
    }
}

/// The text of a trace with these times, each rounded up to a whole millisecond.
pub fn write_opportunities(times: &[SimTime]) -> String {
    let mut text = String::new();
    for at in times {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", at.0.div_ceil(1_000_000));
    }
    text
}

/// The opportunities that a link with the rate of `model` has after `from`, up to `until`, but at most `most` of them: one
/// whenever the rate has allowed 1500 more bytes.
pub fn trace_of(model: &mut dyn RateModel, from: SimTime, until: SimTime, most: usize) -> Vec<SimTime> {
    let mut times = Vec::new();
    let mut at = from;
    loop {
        if times.len() >= most {
            return times;
        }
        let start = model.ready(at);
        if start.is_never() {
            return times;
        }
        at = model.end(start, WORK);
        if at > until {
            return times;
        }
        times.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{ConstantRate, work_of};
    use registry::NamedFile;
    use units::{BitsPerSecond, Bytes};

    fn trace(text: &str) -> Opportunities {
        let file = NamedFile::read("test", text, OPPORTUNITIES).unwrap();
        Opportunities::new(file.content())
    }

    fn ms(at: SimTime) -> u64 {
        assert!(at.0.is_multiple_of(1_000_000));
        at.0 / 1_000_000
    }

    #[test]
    fn a_full_queue_uses_each_opportunity_once_and_the_trace_repeats() {
        let mut trace = trace("0\n2\n2\n5\n");
        let mut at = SimTime::ZERO;
        let mut ends = Vec::new();
        for _ in 0..9 {
            let start = trace.ready(at);
            at = trace.end(start, work_of(Bytes(1500)));
            ends.push(ms(at));
        }
        assert_eq!(ends, [0, 2, 2, 5, 5, 7, 7, 10, 10]);
        assert_eq!(trace.capacity(SimTime::from_millis(5)), 5 * WORK);
        assert_eq!(trace.capacity(SimTime(4_999_999)), 3 * WORK);
        assert_eq!(trace.capacity(SimTime::from_millis(10)), 9 * WORK);
    }

    #[test]
    fn packets_share_and_span_opportunities_and_idle_ones_are_lost() {
        let mut trace = trace("1\n2\n3\n10\n");
        assert_eq!(ms(trace.ready(SimTime::ZERO)), 1);
        assert_eq!(ms(trace.end(SimTime::from_millis(1), work_of(Bytes(1000)))), 1);
        assert_eq!(ms(trace.end(SimTime::from_millis(1), work_of(Bytes(1000)))), 2);
        assert_eq!(trace.served(SimTime::from_millis(1), SimTime::from_millis(1)), work_of(Bytes(500)));
        assert_eq!(trace.served(SimTime::from_millis(1), SimTime::from_millis(2)), work_of(Bytes(2000)));
        // 1000 bytes of the second and the third are lost.
        assert_eq!(ms(trace.ready(SimTime(3_500_000))), 10);
        assert_eq!(ms(trace.end(SimTime::from_millis(10), work_of(Bytes(4000)))), 12);
        assert_eq!(ms(trace.ready(SimTime::from_millis(12))), 12);
        assert_eq!(ms(trace.end(SimTime::from_millis(12), work_of(Bytes(500)))), 12);
        assert_eq!(ms(trace.ready(SimTime::from_millis(12))), 13);
    }

    #[test]
    fn a_packet_at_the_instant_of_an_opportunity_uses_it() {
        let mut trace = trace("1\n2\n3\n4\n10\n");
        assert_eq!(ms(trace.ready(SimTime(2_000_001))), 3);
        assert_eq!(ms(trace.ready(SimTime::from_millis(4))), 4);
        assert_eq!(ms(trace.end(SimTime::from_millis(4), work_of(Bytes(1500)))), 4);
        assert_eq!(ms(trace.ready(SimTime::from_millis(4))), 10);
    }

    #[test]
    fn what_is_written_reads_back() {
        let times = trace_of(
            &mut ConstantRate::new(BitsPerSecond(12_000_000)),
            SimTime::ZERO,
            SimTime::from_millis(5),
            100,
        );
        let text = write_opportunities(&times);
        assert_eq!(text, "1\n2\n3\n4\n5\n");
        assert_eq!(ms(trace(&text).ready(SimTime::ZERO)), 1);
    }
}
