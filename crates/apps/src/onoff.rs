//! On/off source with the semantics of ns-3's OnOffApplication (ns-3 manual, `OnOffApplication`): a constant bit rate
//! during ON phases, nothing during OFF phases.
//!
//! It begins with an OFF phase. A packet leaves when its last bit is due, the first one a packet time after the phase
//! began. Bits that were due when a phase ended count towards the first packet of the next ON phase. A phase that
//! ends at the instant at which a packet is due ends first, so that this packet leaves with the next phase.
//!
//! Deviation: what the send buffer refuses waits by default; ns-3 throws a packet away that does not fit as a whole
//! (`backlog = "drop"`).

use registry::{OptionFault, OptionKind, OptionSpec, Options, at_least};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::bounds::message_size;
use crate::phases::{PARETO_SHAPE, SHAPES, Shape};
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "onoff",
    summary: "constant bit rate during ON phases, silence during OFF phases",
    source: "ns-3 OnOffApplication",
    notes: "each of several connections has phases of its own and an equal part of the rate",
    options: &[
        OptionSpec::new(
            "rate",
            OptionKind::Rate,
            "500kbit/s",
            "bit rate of the payload during ON phases, all connections together",
        ),
        OptionSpec::new("packet", OptionKind::Size, "512B", "size of each write"),
        OptionSpec::new("on", OptionKind::Duration, "1s", "length of ON phases, the mean of random ones"),
        OptionSpec::new("off", OptionKind::Duration, "1s", "length of OFF phases, the mean of random ones"),
        OptionSpec::new(
            "phases",
            SHAPES,
            "constant",
            "distribution of the lengths of phases; a negative normal length is drawn again, or folded to a positive one",
        ),
        OptionSpec::new("on_sd", OptionKind::Duration, "0s", "standard deviation of normal ON phases"),
        OptionSpec::new("off_sd", OptionKind::Duration, "0s", "standard deviation of normal OFF phases"),
        PARETO_SHAPE,
        OptionSpec::new(
            "max_bytes",
            OptionKind::Size,
            "unlimited",
            "stop after this many bytes, all connections together",
        ),
        OptionSpec::new(
            "backlog",
            OptionKind::Choice(&["queue", "drop"]),
            "queue",
            "what happens to a packet for which the send buffer has no room",
        ),
        OptionSpec::new("log", OptionKind::Flag, "false", "a row in `messages` for each packet"),
        OptionSpec::new(
            "connections",
            OptionKind::Integer { min: 1, max: 256 },
            "1",
            "parallel connections, among which the rate is split equally",
        ),
    ],
    check,
    build: |options| Box::new(OnOff::new(options)),
};

/// Each connection has a rate, but no more than a packet per nanosecond, and a phase in which something is sent takes
/// time: with shorter ones a run would do nothing but begin phases.
fn check(options: &Options) -> Result<(), OptionFault> {
    at_least("rate", BitsPerSecond(options.integer("connections")), Options::rate, options)?;
    let each = options.rate("rate").0 / options.integer("connections");
    message_size("packet", Bytes(each.div_ceil(8_000_000_000)), options)?;
    at_least("on", Nanos(1_000), Options::duration, options)
}

/// One source: the state of one OnOffApplication.
#[derive(Clone, Debug, Default)]
struct Source {
    connection: ConnectionId,
    on: bool,
    /// Number of the present phase: wake-ups of earlier ones are stale.
    phase: u64,
    /// Bits that were due when the last phase ended.
    residual: u64,
    last_start: SimTime,
    sent: u64,
    over: bool,
}

/// One source or several.
#[derive(Clone, Debug)]
pub(crate) struct OnOff {
    rate: BitsPerSecond,
    packet: Bytes,
    phases: [(Nanos, Shape); 2],
    max_bytes: Bytes,
    drops: bool,
    log: Option<&'static str>,
    sources: Vec<Source>,
}

/// Kinds of wake-ups; their tags also hold the source and its phase.
const PHASE: u64 = 0;
const SEND: u64 = 1;

fn tag(kind: u64, source: usize, phase: u64) -> u64 {
    debug_assert!(
        kind <= SEND && source < 1 << 15 && phase < 1 << 48,
        "no room for {source} {phase} in a tag"
    );
    kind | (source as u64) << 1 | phase << 16
}

impl OnOff {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let connections = options.integer("connections");
        Self {
            rate: BitsPerSecond(options.rate("rate").0 / connections),
            packet: options.size("packet"),
            phases: [
                (options.duration("off"), Shape::of(options, "off_sd")),
                (options.duration("on"), Shape::of(options, "on_sd")),
            ],
            max_bytes: options.size("max_bytes"),
            drops: options.choice("backlog") == "drop",
            log: options.flag("log").then_some("packet"),
            sources: vec![Source::default(); connections as usize],
        }
    }

    /// Bits of a source's packets may not exceed its part of the limit.
    fn limit(&self) -> u64 {
        if self.max_bytes == Bytes::MAX { u64::MAX } else { self.max_bytes.0 / self.sources.len() as u64 }
    }

    /// The next phase begins after one of this kind.
    fn schedule_phase(&self, i: usize, ctx: &mut dyn AppContext) {
        let source = &self.sources[i];
        let (mean, shape) = self.phases[usize::from(source.on)];
        let length = shape.draw(mean, ctx);
        ctx.wake(ctx.now() + length, tag(PHASE, i, source.phase));
    }

    fn schedule_packet(&mut self, i: usize, ctx: &mut dyn AppContext) {
        let limit = self.limit();
        let source = &mut self.sources[i];
        if source.sent >= limit {
            source.over = true;
            source.phase += 1;
            ctx.close(source.connection, Side::Sender);
            if self.sources.iter().all(|source| source.over) {
                ctx.finish();
            }
            return;
        }
        debug_assert!(source.on && !source.over, "a packet outside an ON phase: {source:?}");
        let bits = (8 * self.packet.0).saturating_sub(source.residual);
        let after = u128::from(bits) * 1_000_000_000 / u128::from(self.rate.0);
        ctx.wake(ctx.now() + Nanos(after as u64), tag(SEND, i, source.phase));
    }

    fn toggle(&mut self, i: usize, ctx: &mut dyn AppContext) {
        let now = ctx.now();
        let source = &mut self.sources[i];
        source.phase += 1;
        if source.on {
            debug_assert!(now >= source.last_start, "the phase ends before it began");
            let elapsed = u128::from(now.since(source.last_start).0);
            source.residual += (elapsed * u128::from(self.rate.0) / 1_000_000_000) as u64;
            source.on = false;
        } else {
            source.on = true;
            source.last_start = now;
            self.schedule_packet(i, ctx);
        }
        if !self.sources[i].over {
            self.schedule_phase(i, ctx);
        }
    }

    fn send(&mut self, i: usize, ctx: &mut dyn AppContext) {
        let source = &mut self.sources[i];
        debug_assert!(source.on, "source {i} sends in an OFF phase");
        let fits = !self.drops || ctx.space(source.connection, Side::Sender) >= self.packet;
        if fits {
            let message = Message { size: self.packet, tag: 0, log: self.log };
            ctx.send(source.connection, Side::Sender, message);
        }
        source.sent += self.packet.0;
        source.last_start = ctx.now();
        source.residual = 0;
        self.schedule_packet(i, ctx);
    }
}

impl App for OnOff {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                for i in 0..self.sources.len() {
                    self.sources[i].connection = ctx.open();
                    self.schedule_phase(i, ctx);
                }
            }
            Event::Wake(tag) => {
                let (i, phase) = ((tag >> 1 & 0x7fff) as usize, tag >> 16);
                if self.sources[i].phase != phase {
                    return;
                }
                if tag & 1 == SEND { self.send(i, ctx) } else { self.toggle(i, ctx) }
            }
            Event::Arrived { .. } | Event::Accepted { .. } => {}
        }
    }

    fn takes_datagrams(&self) -> bool {
        true
    }

    fn talks_both_ways(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{Asked, Script};

    fn source(set: &[(&str, OptionValue)]) -> Script<OnOff> {
        let options = Options::defaults(ROW.options);
        let options = set.iter().fold(options, |options, (name, value)| options.with(name, value.clone()));
        let mut script = Script::new(OnOff::new(&options));
        script.start();
        script
    }

    /// When packets were sent until `end`.
    fn sends(script: &mut Script<OnOff>, end: SimTime) -> Vec<u64> {
        let mut at = Vec::new();
        while let Some(next) = script.next_wake().filter(|next| *next <= end) {
            script.wake();
            let sent = script.take().into_iter().filter(|asked| matches!(asked, Asked::Send(..)));
            at.extend(sent.map(|_| next.0));
        }
        at
    }

    fn pedrazzi() -> Script<OnOff> {
        source(&[
            ("rate", OptionValue::Rate(BitsPerSecond(20_000_000))),
            ("packet", OptionValue::Size(Bytes(1000))),
            ("on", OptionValue::Duration(Nanos::from_millis(500))),
            ("off", OptionValue::Duration(Nanos::from_secs(2))),
        ])
    }

    /// 0.5 s at 20 Mbit/s are 1250 packets of 1000 bytes. The phase ends when the last one is due: it leaves at the
    /// very start of the next phase, and its successors follow from there.
    #[test]
    fn off_first_then_a_packet_whenever_its_last_bit_is_due() {
        let mut script = pedrazzi();
        let sent = sends(&mut script, SimTime::from_secs(5));
        assert_eq!(sent[..2], [2_000_400_000, 2_000_800_000]);
        let first: Vec<_> = sent.iter().filter(|at| **at < 3_000_000_000).collect();
        assert_eq!((first.len(), *first[1248]), (1249, 2_499_600_000));
        assert_eq!(sent[1249..1251], [4_500_000_000, 4_500_400_000]);
        assert_eq!(sent.len(), 1249 + 1250, "with the one that was left over");
    }

    /// 2.5 packets fit into an ON phase: the half that is left counts towards the next.
    #[test]
    fn bits_that_were_due_are_not_lost() {
        let mut script = source(&[
            ("rate", OptionValue::Rate(BitsPerSecond(8000))),
            ("packet", OptionValue::Size(Bytes(1000))),
            ("on", OptionValue::Duration(Nanos::from_millis(2500))),
        ]);
        let sent = sends(&mut script, SimTime::from_secs(8));
        let expected = [2000, 3000, 5000, 6000, 8000].map(|ms| ms * 1_000_000);
        assert_eq!(sent, expected);
    }

    #[test]
    fn it_ends_with_its_bytes() {
        let connections = ("connections", OptionValue::Integer(2));
        let mut script = source(&[("max_bytes", OptionValue::Size(Bytes(4096))), connections]);
        let mut asked = Vec::new();
        while script.next_wake().is_some() {
            script.wake();
            asked.extend(script.take());
        }
        let count = |fits: fn(&Asked) -> bool| asked.iter().filter(|asked| fits(asked)).count();
        assert_eq!(count(|asked| matches!(asked, Asked::Send(..))), 8);
        assert_eq!(count(|asked| matches!(asked, Asked::Close(_, Side::Sender))), 2);
        assert_eq!(count(|asked| matches!(asked, Asked::Finish)), 1);
        assert_eq!(asked.last(), Some(&Asked::Finish), "of the last source");
    }

    #[test]
    fn parallel_connections_share_the_rate() {
        let rate = OptionValue::Rate(BitsPerSecond(8_000_000));
        let mut script = source(&[("connections", OptionValue::Integer(4)), ("rate", rate.clone())]);
        let four = sends(&mut script, SimTime::from_secs(2)).len();
        let one = sends(&mut source(&[("rate", rate)]), SimTime::from_secs(2)).len();
        assert!(one.abs_diff(four) <= 4, "{one} and {four}");
    }

    /// The background of NetPerfMeter: 25 frames per second of 5000 B while ON, ON and OFF Pareto with shape 1.5 and mean
    /// 0.5 s. 500 kbit/s per flow, 2 Mbit/s for four; a fifth of it with frames of 1000 B.
    #[test]
    fn netperfmeter_flows_have_their_mean() {
        for (frame, rate, mean) in [(5000, 1_000_000, 500e3), (1000, 200_000, 100e3)] {
            let flows = 4;
            let mut script = source(&[
                ("rate", OptionValue::Rate(BitsPerSecond(flows * rate))),
                ("packet", OptionValue::Size(Bytes(frame))),
                ("on", OptionValue::Duration(Nanos::from_millis(500))),
                ("off", OptionValue::Duration(Nanos::from_millis(500))),
                ("phases", OptionValue::Choice("pareto".into())),
                ("connections", OptionValue::Integer(flows)),
            ]);
            // The variance of Pareto phases is infinite, so means come slowly: the error falls with time^(-1/3).
            let seconds = 20_000;
            let (mut sent, mut fastest, mut last) = ([0u64; 4], Nanos(u64::MAX), [SimTime::ZERO; 4]);
            while let Some(at) = script.next_wake().filter(|at| *at <= SimTime::from_secs(seconds)) {
                script.wake();
                for asked in script.take() {
                    if let Asked::Send(flow, _, message) = asked {
                        let flow = flow as usize;
                        assert_eq!(message.size, Bytes(frame));
                        sent[flow] += frame * 8;
                        fastest = fastest.min(at.since(last[flow]));
                        last[flow] = at;
                    }
                }
            }
            let rates = sent.map(|bits| bits as f64 / seconds as f64);
            for found in rates {
                assert!((found / mean - 1.0).abs() < 0.1, "{found} bit/s, not {mean}");
            }
            let all = rates.iter().sum::<f64>();
            assert!((all / (4.0 * mean) - 1.0).abs() < 0.05, "{all} bit/s");
            // 25 frames per second.
            assert!(fastest >= Nanos(39_999_990), "{fastest:?}");
        }
    }
}
