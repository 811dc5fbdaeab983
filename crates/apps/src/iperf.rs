//! Saturating transfer with reports: bytes that arrived in each interval, and in total after a warm-up that does not count.

use registry::{OptionKind, OptionSpec, Options, at_least};
use units::{Bytes, Nanos, SimTime};

use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "iperf",
    summary: "saturating transfer; bytes per interval and after a warm-up that is left out",
    source: "iperf3 (ESnet)",
    notes: "rows `interval` and `total` in `messages`: size_bytes * 8 / delay_s is the throughput of the application",
    options: &[
        OptionSpec::new("duration", OptionKind::Duration, "10s", "time that counts, after the warm-up"),
        OptionSpec::new("omit", OptionKind::Duration, "0s", "warm-up that is left out"),
        OptionSpec::new("interval", OptionKind::Duration, "1s", "time between reports"),
        OptionSpec::new("connections", OptionKind::Integer { min: 1, max: 256 }, "1", "parallel connections"),
    ],
    check: |options| at_least("interval", Nanos::from_millis(1), Options::duration, options),
    build: |options| Box::new(Iperf::new(options)),
};

const REPORT: u64 = 0;
const END: u64 = 1;

/// Client and server.
#[derive(Clone, Debug)]
pub(crate) struct Iperf {
    duration: Nanos,
    omit: Nanos,
    interval: Nanos,
    connections: u64,
    opened: Vec<ConnectionId>,
    /// When counting began, and the bytes that had arrived by then; the same for the present interval.
    total: (SimTime, Bytes),
    present: (SimTime, Bytes),
}

impl Iperf {
    /// From the options of the row.
    pub fn new(options: &Options) -> Self {
        Self {
            duration: options.duration("duration"),
            omit: options.duration("omit"),
            interval: options.duration("interval"),
            connections: options.integer("connections"),
            opened: Vec::new(),
            total: (SimTime::NEVER, Bytes::ZERO),
            present: (SimTime::ZERO, Bytes::ZERO),
        }
    }

    fn log(what: &'static str, (start, before): (SimTime, Bytes), ctx: &mut dyn AppContext) {
        debug_assert!(ctx.delivered() >= before, "{} bytes had arrived before", before.0);
        let (size, delay) = (ctx.delivered() - before, ctx.now().since(start));
        if delay > Nanos::ZERO {
            ctx.log(Measurement { what, size, start, ended: true, delay: Some(delay) });
        }
    }

    fn report(&mut self, ctx: &mut dyn AppContext) {
        if self.total.0.is_never() {
            // The warm-up is over.
            self.total = (ctx.now(), ctx.delivered());
        } else {
            Self::log("interval", self.present, ctx);
        }
        self.present = (ctx.now(), ctx.delivered());
        debug_assert!(
            self.present.0 >= self.total.0 && self.present.1 >= self.total.1,
            "an interval begins within the time that counts"
        );
        ctx.wake(ctx.now() + self.interval, REPORT);
    }

    fn conclude(&mut self, ctx: &mut dyn AppContext) {
        if !self.total.0.is_never() {
            Self::log("interval", self.present, ctx);
            Self::log("total", self.total, ctx);
        }
    }
}

impl App for Iperf {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                self.opened = (0..self.connections).map(|_| ctx.open()).collect();
                for &connection in &self.opened {
                    let endless = Message { size: Bytes::MAX, tag: 0, log: None };
                    ctx.send(connection, Side::Sender, endless);
                }
                ctx.wake(ctx.now() + self.omit, REPORT);
                ctx.wake(ctx.now() + self.omit + self.duration, END);
            }
            Event::Wake(END) => {
                self.conclude(ctx);
                ctx.stop();
            }
            Event::Wake(_) => self.report(ctx),
            Event::Arrived { .. } | Event::Accepted { .. } => {}
        }
    }

    fn on_end(&mut self, ctx: &mut dyn AppContext) {
        self.conclude(ctx);
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

    #[test]
    fn the_warm_up_does_not_count() {
        let options = Options::defaults(ROW.options)
            .with("omit", OptionValue::Duration(Nanos::from_secs(5)))
            .with("duration", OptionValue::Duration(Nanos::from_millis(2500)));
        let mut script = Script::new(Iperf::new(&options));
        script.start();
        script.deliver(Bytes(1000));
        script.wake();
        for _ in 0..2 {
            script.deliver(Bytes(500));
            script.wake();
        }
        script.deliver(Bytes(100));
        script.wake();
        let rows = script.take().into_iter().filter_map(|asked| match asked {
            Asked::Log(row) => Some((row.what, row.size.0, row.delay.unwrap().0 / 1_000_000)),
            _ => None,
        });
        let expected =
            [("interval", 500, 1000), ("interval", 500, 1000), ("interval", 100, 500), ("total", 1100, 2500)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }
}
