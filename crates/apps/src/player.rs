//! Adaptive video player: fetches segments of a film in one of several rates and plays them; a stall is what its viewer
//! suffers from.
//!
//! The rate of the next segment is the highest one below a share `safety` of the mean throughput of the last three
//! segments (harmonic mean, Jiang, Sekar and Zhang 2012); the first is fetched at the lowest. Playing begins, and after
//! a stall goes on, when `start_buffer` is filled; no segment is asked for while the buffer holds more than `buffer`.
//! A request waits until the segment before it is complete.

mod ladder;
mod play_buffer;

use registry::{OptionFault, OptionKind, OptionSpec, Options, at_least, in_order};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::bounds::message_size;
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

use ladder::Ladder;
use play_buffer::PlayBuffer;

pub(crate) const ROW: Algorithm = Algorithm {
    name: "player",
    summary: "adaptive video player: rate of each segment, stalls",
    source: "Jiang, Sekar and Zhang 2012 (throughput rule)",
    notes: "the receiver of the data opens the connection and sends the requests",
    options: &[
        OptionSpec::new("low", OptionKind::Rate, "500kbit/s", "lowest rate of the film"),
        OptionSpec::new("high", OptionKind::Rate, "8Mbit/s", "its highest rate"),
        OptionSpec::new(
            "steps",
            OptionKind::Integer { min: 1, max: 20 },
            "5",
            "rates from the lowest to the highest, with a constant factor between them",
        ),
        OptionSpec::new("segment", OptionKind::Duration, "4s", "length of a segment"),
        OptionSpec::new("duration", OptionKind::Duration, "unlimited", "length of the film"),
        OptionSpec::new(
            "start_buffer",
            OptionKind::Duration,
            "8s",
            "buffered before playing starts, and after a stall",
        ),
        OptionSpec::new("buffer", OptionKind::Duration, "30s", "no request while more than this is buffered"),
        OptionSpec::new(
            "safety",
            OptionKind::Number { min: 0.1, max: 2.0 },
            "0.8",
            "share of the measured throughput that a rate may take",
        ),
        OptionSpec::new("request", OptionKind::Size, "350B", "size of each request (D-71)"),
    ],
    check,
    build: |options| Box::new(Player::new(options)),
};

/// Rates rise from more than nothing, and segments take time.
fn check(options: &Options) -> Result<(), OptionFault> {
    message_size("request", Bytes(1), options)?;
    at_least("low", BitsPerSecond(1), Options::rate, options)?;
    at_least("segment", Nanos::from_millis(1), Options::duration, options)?;
    in_order(("low", "high"), Options::rate, options)
}

const REQUEST: u64 = 0;
const SEGMENT: u64 = 1;
/// Tags of wake-ups: the buffer runs dry (with a number, so that earlier ones are stale), or has room again.
const ASK: u64 = 0;
const DRY: u64 = 1;

/// A segment that is being fetched, or the last one.
#[derive(Clone, Copy, Debug)]
struct Segment {
    asked: SimTime,
    size: Bytes,
    /// Film in it.
    length: Nanos,
}

/// Client and server.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    ladder: Ladder,
    buffer: PlayBuffer,
    /// Length of all segments but the last.
    length: Nanos,
    /// Time of the film that has not been requested.
    left: Nanos,
    request: Bytes,
    connection: ConnectionId,
    segment: Segment,
    /// The last segment has arrived.
    complete: bool,
    /// Wake-ups for a dry buffer that were requested; only the last one counts.
    dry_wakes: u64,
}

impl Player {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let rates = [options.rate("low"), options.rate("high")];
        Self {
            ladder: Ladder::new(rates, options.integer("steps"), options.number("safety")),
            buffer: PlayBuffer::new(options.duration("start_buffer"), options.duration("buffer")),
            length: options.duration("segment"),
            left: options.duration("duration"),
            request: options.size("request"),
            connection: 0,
            segment: Segment { asked: SimTime::ZERO, size: Bytes::ZERO, length: Nanos::ZERO },
            complete: false,
            dry_wakes: 0,
        }
    }

    fn ask(&mut self, ctx: &mut dyn AppContext) {
        debug_assert!(self.left > Nanos::ZERO || !self.complete, "the film is over");
        // The last one is shorter.
        let length = self.length.min(self.left);
        self.left = self.left.saturating_sub(length);
        let size = self.ladder.rate().bytes_in(length).max(Bytes(1));
        self.segment = Segment { asked: ctx.now(), size, length };
        ctx.send(self.connection, Side::Receiver, Message { size: self.request, tag: REQUEST, log: None });
    }

    fn arrived(&mut self, ctx: &mut dyn AppContext) {
        let now = ctx.now();
        self.buffer.play(now);
        let Segment { asked, size, length } = self.segment;
        let delay = now.since(asked);
        ctx.log(Measurement { what: "segment", size, start: asked, ended: true, delay: Some(delay) });
        self.ladder.measure(size, delay);
        self.buffer.add(length);
        self.complete = self.left == Nanos::ZERO;
        if self.buffer.is_ready(self.complete) {
            self.log_wait(true, ctx);
            self.buffer.start();
        }
        if self.buffer.is_playing() {
            self.dry_wakes += 1;
            ctx.wake(now + self.buffer.held(), DRY + self.dry_wakes);
        }
        if self.complete {
            ctx.close(self.connection, Side::Receiver);
        } else if let Some(excess) = self.buffer.excess() {
            ctx.wake(now + excess, ASK);
        } else {
            self.ask(ctx);
        }
    }

    /// A wait for the start, or a stall, is over or goes on to the end.
    fn log_wait(&self, ended: bool, ctx: &mut dyn AppContext) {
        let (what, start) = self.buffer.present_wait();
        let delay = Some(ctx.now().since(start));
        ctx.log(Measurement { what, size: Bytes::ZERO, start, ended, delay });
    }

    fn dry(&mut self, ctx: &mut dyn AppContext) {
        self.buffer.run_dry(ctx.now());
        if self.complete {
            ctx.finish();
        }
    }
}

impl App for Player {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                self.connection = ctx.open();
                self.buffer.wait(ctx.now());
                self.ask(ctx);
            }
            Event::Arrived { at: Side::Sender, .. } => {
                let message = Message { size: self.segment.size, tag: SEGMENT, log: None };
                ctx.send(self.connection, Side::Sender, message);
            }
            Event::Arrived { .. } => self.arrived(ctx),
            Event::Wake(ASK) => {
                self.buffer.play(ctx.now());
                self.ask(ctx);
            }
            Event::Wake(tag) if tag == DRY + self.dry_wakes => self.dry(ctx),
            Event::Wake(_) | Event::Accepted { .. } => {}
        }
    }

    fn on_end(&mut self, ctx: &mut dyn AppContext) {
        if !self.buffer.is_playing() && !self.complete {
            self.log_wait(false, ctx);
        }
    }

    fn opens(&self) -> Side {
        Side::Receiver
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{Asked, Script};

    fn player(set: &[(&str, OptionValue)]) -> Script<Player> {
        let options = Options::defaults(ROW.options);
        let options = set.iter().fold(options, |options, (name, value)| options.with(name, value.clone()));
        let mut script = Script::new(Player::new(&options));
        script.start();
        script
    }

    /// One segment comes, `seconds` after it was asked for.
    fn fetch(script: &mut Script<Player>, from: u64, to: u64) {
        script.arrive(SimTime::from_secs(from), 0, Side::Sender);
        script.arrive(SimTime::from_secs(to), 0, Side::Receiver);
    }

    fn rows(script: &mut Script<Player>) -> Vec<(&'static str, u64, bool)> {
        let logged = script.take().into_iter().filter_map(|asked| match asked {
            Asked::Log(row) => Some((row.what, row.delay.unwrap().0 / 1_000_000_000, row.ended)),
            _ => None,
        });
        logged.collect()
    }

    #[test]
    fn it_starts_with_a_full_buffer_and_stalls_with_an_empty_one() {
        let mut script = player(&[("duration", OptionValue::Duration(Nanos::from_secs(16)))]);
        fetch(&mut script, 0, 1);
        assert_eq!(rows(&mut script), [("segment", 1, true)]);
        fetch(&mut script, 1, 2);
        assert_eq!(rows(&mut script), [("segment", 1, true), ("startup", 2, true)]);
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(10)), "8 s of film");
        script.wake();
        fetch(&mut script, 11, 13);
        assert_eq!(rows(&mut script), [("segment", 11, true)], "one segment is not enough");
        fetch(&mut script, 13, 14);
        assert_eq!(rows(&mut script), [("segment", 1, true), ("stall", 4, true)]);
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(22)));
        script.wake();
        assert!(script.take().contains(&Asked::Finish), "the film is over");
    }

    /// Ten seconds of film in segments of four: the last one is half as long.
    #[test]
    fn the_film_ends_when_it_is_over() {
        let mut script = player(&[("duration", OptionValue::Duration(Nanos::from_secs(10)))]);
        fetch(&mut script, 0, 1);
        fetch(&mut script, 1, 2);
        fetch(&mut script, 2, 3);
        while !script.take().contains(&Asked::Finish) {
            script.wake();
        }
        assert_eq!(script.now(), SimTime::from_secs(12), "it began at 2 s");
    }

    #[test]
    fn it_asks_no_more_than_the_buffer_holds() {
        let mut script = player(&[("buffer", OptionValue::Duration(Nanos::from_secs(9)))]);
        fetch(&mut script, 0, 1);
        fetch(&mut script, 1, 2);
        fetch(&mut script, 2, 2);
        script.take();
        // 12 s of film at 2 s: down to 9 s at 5 s.
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(5)));
        script.wake();
        assert!(matches!(script.take()[..], [Asked::Send(0, Side::Receiver, _)]));
    }
}
