//! Bulk transfer: as much as the connections take, by size, by duration, or to the end of the run; once, or again and
//! again with time to think in between.

use registry::{OptionFault, OptionKind, OptionSpec, Options, at_least};
use units::{BitsPerSecond, Bytes, Nanos};

use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "bulk",
    summary: "transfers as fast as it goes, by size, by duration, or to the end of the run",
    source: "iperf-like transfer",
    notes: "",
    options: &[
        OptionSpec::new(
            "size",
            OptionKind::Size,
            "unlimited",
            "bytes to send; the transfer completes when all are delivered",
        ),
        OptionSpec::new(
            "duration",
            OptionKind::Duration,
            "unlimited",
            "stop writing this long after the start",
        ),
        OptionSpec::new(
            "read_rate",
            OptionKind::Rate,
            "unlimited",
            "rate at which the receiving application reads; the rest waits in the receive buffer",
        ),
        OptionSpec::new(
            "write_size",
            OptionKind::Size,
            "unlimited",
            "bytes that the application writes at once; matters to `minratio`, which places what each write leaves",
        ),
        OptionSpec::new(
            "repeat",
            OptionKind::Integer { min: 1, max: 1_000_000 },
            "1",
            "transfers of `size`, one after the other",
        ),
        OptionSpec::new(
            "think",
            OptionKind::Duration,
            "0s",
            "time from the end of a transfer to the start of the next",
        ),
        OptionSpec::new(
            "connections",
            OptionKind::Integer { min: 1, max: 256 },
            "1",
            "parallel connections, among which each transfer is split equally",
        ),
    ],
    check,
    build: |options| Box::new(Bulk::new(options)),
};

/// Rejects a zero `read_rate` or `write_size`, and `repeat > 1` without a finite, non-zero `size`.
fn check(options: &Options) -> Result<(), OptionFault> {
    at_least("read_rate", BitsPerSecond(1), Options::rate, options)?;
    at_least("write_size", Bytes(1), Options::size, options)?;
    let repeat = options.integer("repeat");
    if repeat == 1 {
        return Ok(());
    }
    if options.size("size") < Bytes::MAX {
        return at_least("size", Bytes(1), Options::size, options);
    }
    Err(OptionFault {
        option: "repeat",
        message: format!("repeat = {repeat}, but a transfer of unlimited size never ends"),
        help: "give the transfer a `size`, or remove `repeat`".into(),
    })
}

/// Tag of the wake-up at the end of `duration`.
const OVER: u64 = 0;
/// Tag of the wake-up at the end of a think time.
const NEXT: u64 = 1;

/// Keeps the send buffers full.
#[derive(Clone, Debug)]
pub(crate) struct Bulk {
    size: Bytes,
    duration: Nanos,
    read_rate: BitsPerSecond,
    write_size: Bytes,
    repeat: u64,
    think: Nanos,
    connections: u64,
    opened: Vec<ConnectionId>,
    /// Parts of the present transfer that have not arrived, and when it began.
    missing: u64,
    began: units::SimTime,
}

impl Bulk {
    /// As the options of its row say. `Bytes::MAX`, the longest duration and the largest rate stand for "no limit".
    pub fn new(options: &Options) -> Self {
        Self {
            size: options.size("size"),
            duration: options.duration("duration"),
            read_rate: options.rate("read_rate"),
            write_size: options.size("write_size"),
            repeat: options.integer("repeat"),
            think: options.duration("think"),
            connections: options.integer("connections"),
            opened: Vec::new(),
            missing: 0,
            began: units::SimTime::ZERO,
        }
    }

    /// The part of a transfer that connection `i` carries: parts differ by a byte at most.
    fn part(&self, i: u64) -> Bytes {
        if self.size == Bytes::MAX {
            return Bytes::MAX;
        }
        Bytes(self.size.0 / self.connections + u64::from(i < self.size.0 % self.connections))
    }

    fn transfer(&mut self, ctx: &mut dyn AppContext) {
        debug_assert!(self.repeat > 0, "all transfers are done");
        debug_assert_eq!(self.missing, 0, "the transfer before has not arrived");
        debug_assert!(
            self.size == Bytes::MAX
                || (0..self.connections).map(|i| self.part(i)).sum::<Bytes>() == self.size,
            "the parts of {} add up to something else",
            self.size
        );
        self.repeat -= 1;
        self.began = ctx.now();
        for (i, &connection) in (0..).zip(&self.opened) {
            let size = self.part(i);
            if size > Bytes::ZERO {
                ctx.send(connection, Side::Sender, Message { size, tag: i, log: None });
                self.missing += 1;
            }
            if self.repeat == 0 {
                ctx.close(connection, Side::Sender);
            }
        }
        if self.repeat == 0 {
            ctx.finish();
        }
    }
}

impl App for Bulk {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                self.opened = (0..self.connections).map(|_| ctx.open()).collect();
                if self.duration != Nanos(u64::MAX) {
                    ctx.wake(ctx.now() + self.duration, OVER);
                }
                self.transfer(ctx);
            }
            Event::Wake(OVER) => ctx.stop(),
            Event::Wake(_) => self.transfer(ctx),
            Event::Arrived { .. } => {
                debug_assert!(self.missing > 0, "a part that was not sent has arrived");
                self.missing -= 1;
                if self.missing > 0 {
                    return;
                }
                let delay = Some(ctx.now().since(self.began));
                ctx.log(Measurement {
                    what: "transfer",
                    size: self.size,
                    start: self.began,
                    ended: true,
                    delay,
                });
                if self.repeat > 0 {
                    ctx.wake(ctx.now() + self.think, NEXT);
                }
            }
            Event::Accepted { .. } => {}
        }
    }

    fn read_rate(&self) -> Option<BitsPerSecond> {
        (self.read_rate.0 != u64::MAX).then_some(self.read_rate)
    }

    fn write_size(&self) -> Option<Bytes> {
        (self.write_size != Bytes::MAX).then_some(self.write_size)
    }

    fn talks_both_ways(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;
    use units::SimTime;

    use super::*;
    use crate::testing::{Asked, Script};

    fn bulk(set: &[(&str, OptionValue)]) -> Bulk {
        let options = Options::defaults(ROW.options);
        Bulk::new(&set.iter().fold(options, |options, (name, value)| options.with(name, value.clone())))
    }

    #[test]
    fn by_size_it_closes_behind_the_last_byte() {
        let mut script = Script::new(bulk(&[("size", OptionValue::Size(Bytes(1000)))]));
        script.start();
        let sent = Asked::Send(0, Side::Sender, Message { size: Bytes(1000), tag: 0, log: None });
        assert_eq!(script.take(), [Asked::Open(0), sent, Asked::Close(0, Side::Sender), Asked::Finish]);
        script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
        let [Asked::Log(row)] = script.take()[..] else { panic!() };
        assert_eq!((row.size, row.delay), (Bytes(1000), Some(Nanos::from_secs(2))));
    }

    #[test]
    fn by_duration_it_stops_on_time() {
        let duration = OptionValue::Duration(Nanos::from_secs(5));
        let mut script = Script::new(bulk(&[("duration", duration)]));
        script.start();
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(5)));
        script.take();
        script.wake();
        assert_eq!(script.take(), [Asked::Stop]);
    }

    #[test]
    fn repeated_and_split_equally() {
        let mut script = Script::new(bulk(&[
            ("size", OptionValue::Size(Bytes(1001))),
            ("repeat", OptionValue::Integer(2)),
            ("think", OptionValue::Duration(Nanos::from_secs(3))),
            ("connections", OptionValue::Integer(2)),
        ]));
        script.start();
        let send = |i, size| {
            let message = Message { size: Bytes(size), tag: u64::from(i), log: None };
            Asked::Send(i, Side::Sender, message)
        };
        assert_eq!(script.take(), [Asked::Open(0), Asked::Open(1), send(0, 501), send(1, 500)]);
        script.arrive(SimTime::from_secs(1), 0, Side::Receiver);
        assert!(script.take().is_empty(), "the other half is missing");
        script.arrive(SimTime::from_secs(2), 0, Side::Receiver);
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(5)));
        script.take();
        script.wake();
        let closes = [Asked::Close(0, Side::Sender), Asked::Close(1, Side::Sender)];
        let [second, third] = closes;
        assert_eq!(script.take(), [send(0, 501), second, send(1, 500), third, Asked::Finish]);
    }
}
