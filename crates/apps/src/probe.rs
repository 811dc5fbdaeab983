//! Probes that measure round trips: `sockperf` in its two modes and `ping`.
//!
//! The sender of the flow asks, the receiver answers at once. The delay of a row is half the round trip for `sockperf`,
//! as that tool reports it, and the whole round trip for `ping`. Time in the send buffer counts.

use std::collections::BTreeMap;

use registry::{OptionKind, OptionSpec, Options, at_least};
use units::{Bytes, Nanos, SimTime};

use crate::bounds::message_size;
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

const DURATION: OptionSpec =
    OptionSpec::new("duration", OptionKind::Duration, "unlimited", "stop asking after this long");

pub(crate) const SOCKPERF: Algorithm = Algorithm {
    name: "sockperf",
    summary: "latency probe, one message after the other or under load",
    source: "sockperf (Mellanox), as used by Lantto and Svensson 2025",
    notes: "half the round trip is the latency",
    options: &[
        OptionSpec::new(
            "mode",
            OptionKind::Choice(&["under-load", "ping-pong"]),
            "under-load",
            "messages at a constant rate, or each after the answer to the one before",
        ),
        OptionSpec::new(
            "rate",
            OptionKind::Integer { min: 1, max: 1_000_000 },
            "10000",
            "under load: messages per second; while the send buffer is full none is made",
        ),
        OptionSpec::new("size", OptionKind::Size, "14B", "size of each message, and of each answer"),
        OptionSpec::new(
            "reply_every",
            OptionKind::Integer { min: 1, max: 1_000_000 },
            "100",
            "under load: every n-th message asks for an answer",
        ),
        DURATION,
    ],
    check: |options| message_size("size", Bytes(1), options),
    build: |options| Box::new(Probe::sockperf(options)),
};

pub(crate) const PING: Algorithm = Algorithm {
    name: "ping",
    summary: "echo requests at a constant rate; round-trip time of each",
    source: "RFC 792 (echo and echo reply)",
    notes: "over UDP, whose header is as long as that of ICMP",
    options: &[
        OptionSpec::new("interval", OptionKind::Duration, "1s", "time from a request to the next"),
        OptionSpec::new("size", OptionKind::Size, "56B", "payload of a request and of its reply"),
        OptionSpec::new(
            "requests",
            OptionKind::Integer { min: 1, max: 1_000_000_000 },
            "1000000000",
            "stop after this many",
        ),
        DURATION,
    ],
    check: |options| {
        message_size("size", Bytes(1), options)?;
        at_least("interval", Nanos(1_000), Options::duration, options)
    },
    build: |options| Box::new(Probe::ping(options)),
};

/// When the next request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// This long after the request before, answered or not.
    Every(Nanos),
    /// As soon as the answer has arrived.
    PingPong,
}

/// Both ends of a probe.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    what: &'static str,
    pace: Pace,
    size: Bytes,
    reply_every: u64,
    left: u64,
    duration: Nanos,
    /// The reported delay is the round trip divided by this.
    divide: u64,
    /// Waits for the send buffer, as a program whose `send` call blocks.
    blocks: bool,
    connection: ConnectionId,
    end: SimTime,
    /// When the next request would be made if nothing blocked.
    next: SimTime,
    made: u64,
    /// Requests without an answer so far, and when they were made.
    open: BTreeMap<u64, SimTime>,
    over: bool,
}

impl Probe {
    /// A `sockperf` probe with these options.
    pub fn sockperf(options: &Options) -> Self {
        let ping_pong = options.choice("mode") == "ping-pong";
        let gap = Nanos(1_000_000_000 / options.integer("rate"));
        Self {
            what: "latency",
            pace: if ping_pong { Pace::PingPong } else { Pace::Every(gap) },
            reply_every: if ping_pong { 1 } else { options.integer("reply_every") },
            left: u64::MAX,
            divide: 2,
            blocks: true,
            ..Self::new(options)
        }
    }

    /// A `ping` probe with these options.
    pub fn ping(options: &Options) -> Self {
        Self {
            pace: Pace::Every(options.duration("interval")),
            left: options.integer("requests"),
            ..Self::new(options)
        }
    }

    fn new(options: &Options) -> Self {
        Self {
            what: "round-trip",
            pace: Pace::PingPong,
            size: options.size("size"),
            reply_every: 1,
            left: 0,
            duration: options.duration("duration"),
            divide: 1,
            blocks: false,
            connection: 0,
            end: SimTime::NEVER,
            next: SimTime::ZERO,
            made: 0,
            open: BTreeMap::new(),
            over: false,
        }
    }

    /// True once no further request is made.
    fn is_over(&mut self, ctx: &mut dyn AppContext) -> bool {
        if !self.over && (self.left == 0 || ctx.now() >= self.end) {
            self.over = true;
            self.finish_if_answered(ctx);
        }
        self.over
    }

    fn finish_if_answered(&mut self, ctx: &mut dyn AppContext) {
        if self.over && self.open.is_empty() {
            ctx.close(self.connection, Side::Sender);
            ctx.finish();
        }
    }

    fn ask(&mut self, ctx: &mut dyn AppContext) {
        if self.is_over(ctx) {
            return;
        }
        debug_assert!(
            self.pace != Pace::PingPong || self.open.is_empty(),
            "the answer to the request before has not arrived"
        );
        self.left -= 1;
        let tag = self.made;
        self.made += 1;
        if tag.is_multiple_of(self.reply_every) {
            self.open.insert(tag, ctx.now());
        }
        ctx.send(self.connection, Side::Sender, Message { size: self.size, tag, log: None });
        self.check();
        if let Pace::Every(gap) = self.pace {
            self.next += gap;
            if self.blocks {
                ctx.notify(self.connection, Side::Sender);
            } else {
                ctx.wake(self.next, 0);
            }
        }
    }

    fn check(&self) {
        debug_assert!(
            self.open.len() as u64 <= self.made.div_ceil(self.reply_every),
            "more open requests than were made"
        );
        debug_assert!(
            self.open
                .last_key_value()
                .is_none_or(|(tag, _)| *tag < self.made && tag.is_multiple_of(self.reply_every)),
            "a request that asks for no answer is open: {:?}",
            self.open.last_key_value()
        );
    }

    fn log(&self, start: SimTime, ended: bool, ctx: &mut dyn AppContext) {
        let delay = ended.then(|| Nanos(ctx.now().since(start).0 / self.divide));
        ctx.log(Measurement { what: self.what, size: self.size, start, ended, delay });
    }
}

impl App for Probe {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                self.connection = ctx.open();
                self.end = ctx.now() + self.duration;
                self.next = ctx.now();
                self.ask(ctx);
            }
            Event::Wake(_) => self.ask(ctx),
            Event::Accepted { .. } => ctx.wake(self.next, 0),
            Event::Arrived { at: Side::Receiver, tag, .. } => {
                if tag.is_multiple_of(self.reply_every) {
                    ctx.send(self.connection, Side::Receiver, Message { size: self.size, tag, log: None });
                }
            }
            Event::Arrived { tag, .. } => {
                if let Some(start) = self.open.remove(&tag) {
                    self.log(start, true, ctx);
                }
                if self.pace == Pace::PingPong {
                    self.ask(ctx);
                } else {
                    self.finish_if_answered(ctx);
                }
            }
        }
    }

    fn on_end(&mut self, ctx: &mut dyn AppContext) {
        for &start in self.open.values() {
            self.log(start, false, ctx);
        }
    }

    fn takes_datagrams(&self) -> bool {
        // After a loss the next request would never be made.
        self.pace != Pace::PingPong
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{Asked, Script};

    fn rows(asked: Vec<Asked>) -> Vec<(Option<Nanos>, bool)> {
        let logged = asked.into_iter().filter_map(|asked| match asked {
            Asked::Log(row) => Some((row.delay, row.ended)),
            _ => None,
        });
        logged.collect()
    }

    #[test]
    fn ping_pong_reports_half_the_round_trip() {
        let options =
            Options::defaults(SOCKPERF.options).with("mode", OptionValue::Choice("ping-pong".into()));
        let mut script = Script::new(Probe::sockperf(&options));
        script.start();
        script.arrive(SimTime::from_millis(300), 0, Side::Receiver);
        script.take();
        script.arrive(SimTime::from_millis(500), 0, Side::Sender);
        let asked = script.take();
        assert!(matches!(asked[1], Asked::Send(0, Side::Sender, _)), "the next one");
        assert_eq!(rows(asked), [(Some(Nanos::from_millis(250)), true)]);
    }

    #[test]
    fn under_load_every_hundredth_is_answered_and_a_full_buffer_blocks() {
        let mut script = Script::new(Probe::sockperf(&Options::defaults(SOCKPERF.options)));
        script.start();
        for n in 1..=100u64 {
            assert_eq!(script.next_wake(), None, "it waits for the buffer");
            script.accept(0, Side::Sender);
            assert_eq!(script.next_wake(), Some(SimTime(n * 100_000)));
            script.wake();
        }
        assert_eq!(script.app.open.len(), 2, "numbers 0 and 100");
        script.take();
        script.arrive(SimTime::from_secs(1), 1, Side::Receiver);
        assert!(script.take().is_empty(), "number 1 asks for no answer");
        script.arrive(SimTime::from_secs(1), 0, Side::Receiver);
        assert!(matches!(script.take()[..], [Asked::Send(0, Side::Receiver, _)]));
    }

    #[test]
    fn ping_counts_its_requests() {
        let options = Options::defaults(PING.options).with("requests", OptionValue::Integer(2));
        let mut script = Script::new(Probe::ping(&options));
        script.start();
        script.arrive(SimTime::from_millis(20), 0, Side::Receiver);
        script.arrive(SimTime::from_millis(40), 0, Side::Sender);
        assert_eq!(rows(script.take()), [(Some(Nanos::from_millis(40)), true)]);
        script.wake();
        script.wake();
        assert!(!script.take().contains(&Asked::Finish), "one answer is to come");
        script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
        script.arrive(SimTime::from_secs(3), 0, Side::Sender);
        assert_eq!(script.take().last(), Some(&Asked::Finish));
    }
}
