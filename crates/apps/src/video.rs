//! Live video at a constant bit rate: a frame per interval, whether or not the one before has arrived.

use registry::{OptionFault, OptionKind, OptionSpec, Options, at_least, at_most};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::bounds::{LARGEST, parts};
use crate::timed::{Schedule, Timed};
use crate::{Algorithm, AppContext, ConnectionId, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "video",
    summary: "live video at a constant bit rate; delay of each frame",
    source: "Yedugundla et al. 2016",
    notes: "",
    options: &[
        OptionSpec::new("rate", OptionKind::Rate, "950kbit/s", "bit rate of the payload"),
        OptionSpec::new("frames", OptionKind::Integer { min: 1, max: 1000 }, "30", "frames per second"),
        OptionSpec::new(
            "message",
            OptionKind::Size,
            "unlimited",
            "a frame is sent in messages of at most this size, each with a row of its own",
        ),
        OptionSpec::new(
            "duration",
            OptionKind::Duration,
            "unlimited",
            "length of the video, `omit` included",
        ),
        OptionSpec::new("omit", OptionKind::Duration, "0s", "warm-up whose frames have no rows"),
        OptionSpec::new("deadline", OptionKind::Duration, "150ms", "what takes longer is late"),
    ],
    check,
    build: |options| Box::new(Timed::new(Video::new(options))),
};

fn check(options: &Options) -> Result<(), OptionFault> {
    at_least("rate", BitsPerSecond(1), Options::rate, options)?;
    let largest = BitsPerSecond(8 * LARGEST.0 * options.integer("frames"));
    at_most("rate", largest, Options::rate, options)?;
    let frame = options.rate("rate").0.div_ceil(8 * options.integer("frames"));
    parts("frame", Bytes(frame), options)?;
    if options.duration("omit") >= options.duration("duration") {
        let message = "the video is over before its warm-up is".into();
        return Err(OptionFault { option: "omit", message, help: "set it below `duration`".into() });
    }
    Ok(())
}

/// The camera.
#[derive(Clone, Debug)]
pub(crate) struct Video {
    rate: BitsPerSecond,
    per_second: u64,
    message: Bytes,
    duration: Nanos,
    omit: Nanos,
    deadline: Nanos,
    frame: u64,
}

impl Video {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        Self {
            rate: options.rate("rate"),
            per_second: options.integer("frames"),
            message: options.size("message"),
            duration: options.duration("duration"),
            omit: options.duration("omit"),
            deadline: options.duration("deadline"),
            frame: 0,
        }
    }

    /// Bytes of the first `n` frames: sizes differ by a byte, so that the rate is met.
    fn until(&self, n: u64) -> u64 {
        (u128::from(n) * u128::from(self.rate.0) / (8 * u128::from(self.per_second))) as u64
    }

    fn time_of(&self, frame: u64) -> Nanos {
        Nanos((u128::from(frame) * 1_000_000_000 / u128::from(self.per_second)) as u64)
    }
}

impl Schedule for Video {
    fn send(
        &mut self,
        began: SimTime,
        connection: ConnectionId,
        ctx: &mut dyn AppContext,
    ) -> Option<SimTime> {
        if self.time_of(self.frame) >= self.duration {
            return None;
        }
        let mut left = Bytes(self.until(self.frame + 1) - self.until(self.frame));
        let what = if self.message == Bytes::MAX { "frame" } else { "message" };
        let log = (self.time_of(self.frame) >= self.omit).then_some(what);
        while left > Bytes::ZERO {
            let size = left.min(self.message);
            ctx.send(connection, Side::Sender, Message { size, tag: self.frame, log });
            left -= size;
        }
        self.frame += 1;
        debug_assert!(self.time_of(self.frame) > self.time_of(self.frame - 1), "frames take time");
        Some(began + self.time_of(self.frame))
    }

    fn deadline(&self) -> Nanos {
        self.deadline
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;
    use crate::testing::{Asked, Script};

    fn sizes(set: &[(&str, OptionValue)], frames: usize) -> Vec<u64> {
        let options = Options::defaults(ROW.options);
        let options = set.iter().fold(options, |options, (name, value)| options.with(name, value.clone()));
        let mut script = Script::new(Timed::new(Video::new(&options)));
        script.start();
        (1..frames).for_each(|_| script.wake());
        let sent = script.take().into_iter().filter_map(|asked| match asked {
            Asked::Send(_, _, message) => Some(message.size.0),
            _ => None,
        });
        sent.collect()
    }

    /// 950 kbit/s at 30 frames per second are 3958.333 bytes per frame.
    #[test]
    fn a_frame_ends() {
        let with = |rate| {
            let options = Options::defaults(ROW.options).with("frames", OptionValue::Integer(2));
            (ROW.check)(&options.with("rate", OptionValue::Rate(BitsPerSecond(rate))))
        };
        assert_eq!(with(16_000_000_000), Ok(()));
        let fault = with(u64::MAX).expect_err("endless");
        assert_eq!((fault.option, fault.help.as_str()), ("rate", "at most \"16Gbit/s\""));
    }

    #[test]
    fn frames_alternate_to_meet_the_rate() {
        let sizes = sizes(&[], 30);
        assert_eq!(sizes[..3], [3958, 3958, 3959]);
        assert_eq!(sizes.iter().sum::<u64>(), 950_000 / 8);
    }

    #[test]
    fn a_frame_of_millions_of_messages_is_refused() {
        let options =
            Options::defaults(ROW.options).with("rate", OptionValue::Rate(BitsPerSecond(10_000_000_000)));
        let cut = |message| check(&options.clone().with("message", OptionValue::Size(Bytes(message))));
        let fault = cut(1).expect_err("41,666,667 messages");
        assert_eq!(fault.option, "message");
        assert_eq!(
            fault.message,
            "found \"1B\", by which a frame of 41666667B is cut into 41666667 messages"
        );
        assert_eq!(fault.help, "at least \"417B\"");
        assert_eq!(cut(417), Ok(()));
    }

    #[test]
    fn a_frame_is_cut_into_messages() {
        assert_eq!(sizes(&[("message", OptionValue::Size(Bytes(1428)))], 1), [1428, 1428, 1102]);
    }

    #[test]
    fn frames_of_the_warm_up_have_no_rows() {
        let options = Options::defaults(ROW.options)
            .with("omit", OptionValue::Duration(Nanos::from_millis(50)))
            .with("duration", OptionValue::Duration(Nanos::from_millis(120)));
        assert_eq!((ROW.check)(&options), Ok(()));
        let fault = (ROW.check)(&options.clone().with("omit", OptionValue::Duration(Nanos::from_secs(1))));
        assert_eq!(fault.expect_err("nothing is left").option, "omit");
        let mut script = Script::new(Timed::new(Video::new(&options)));
        script.start();
        (0..3).for_each(|_| script.wake());
        let logs = script.take().into_iter().filter_map(|asked| match asked {
            Asked::Send(_, _, message) => Some(message.log),
            _ => None,
        });
        assert_eq!(logs.collect::<Vec<_>>(), [None, None, Some("frame"), Some("frame")]);
    }

    #[test]
    fn it_lasts_as_long_as_it_should() {
        let duration = OptionValue::Duration(Nanos::from_millis(100));
        let options = Options::defaults(ROW.options).with("duration", duration);
        let mut script = Script::new(Timed::new(Video::new(&options)));
        script.start();
        (0..3).for_each(|_| script.wake());
        let asked = script.take();
        assert_eq!(asked.iter().filter(|a| matches!(a, Asked::Send(..))).count(), 3);
        assert_eq!(asked.last(), Some(&Asked::Finish));
    }
}
