//! Messages of a recording, such as that of a game: each is sent at its time, even if earlier ones have not arrived.

use std::sync::Arc;

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

use crate::bounds::parts;
use crate::recording::{MESSAGES, Recorded};
use crate::timed::{Schedule, Timed};
use crate::{Algorithm, AppContext, ConnectionId, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "replay",
    summary: "messages of a recording in either direction; delay of each message",
    source: "a file: time, size and direction of each message",
    notes: "",
    options: &[
        OptionSpec::compulsory("file", OptionKind::File(MESSAGES), "the recording"),
        OptionSpec::new(
            "message",
            OptionKind::Size,
            "unlimited",
            "a larger message is sent in parts of at most this size, each with a row of its own",
        ),
        OptionSpec::new("deadline", OptionKind::Duration, "60ms", "a message that takes longer is late"),
    ],
    check: |options| {
        let largest = options.file("file").content::<Vec<Recorded>>().iter().map(|one| one.size).max();
        parts("message", largest.unwrap_or(Bytes::ZERO), options)
    },
    build: |options| Box::new(Timed::new(Replay::new(options))),
};

/// Both ends.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    messages: Arc<Vec<Recorded>>,
    message: Bytes,
    deadline: Nanos,
    next: usize,
}

impl Replay {
    /// From the options of the row.
    pub fn new(options: &Options) -> Self {
        let (messages, message) = (options.file("file").content(), options.size("message"));
        Self { messages, message, deadline: options.duration("deadline"), next: 0 }
    }
}

impl Schedule for Replay {
    fn send(
        &mut self,
        began: SimTime,
        connection: ConnectionId,
        ctx: &mut dyn AppContext,
    ) -> Option<SimTime> {
        while let Some(&Recorded { at, size, up }) = self.messages.get(self.next) {
            if began + at > ctx.now() {
                return Some(began + at);
            }
            debug_assert!(size > Bytes::ZERO, "message {} of the recording is empty", self.next);
            let (from, what) = if up { (Side::Receiver, "up") } else { (Side::Sender, "down") };
            let mut left = size;
            while left > Bytes::ZERO {
                let size = left.min(self.message);
                ctx.send(connection, from, Message { size, tag: 0, log: Some(what) });
                left -= size;
            }
            self.next += 1;
        }
        None
    }

    fn deadline(&self) -> Nanos {
        self.deadline
    }

    fn goes_both_ways(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use registry::{NamedFile, OptionValue};
    use units::Bytes;

    use super::*;
    use crate::testing::{Asked, Script};

    fn script(text: &str, message: Bytes) -> Script<Timed<Replay>> {
        let file = NamedFile::read("game.txt", text, MESSAGES).expect("a good file");
        let deadline = OptionValue::Duration(Nanos::from_millis(60));
        let message = OptionValue::Size(message);
        let options = Options::new(vec![
            ("file", OptionValue::File(file)),
            ("message", message),
            ("deadline", deadline),
        ]);
        let mut script = Script::new(Timed::new(Replay::new(&options)));
        script.start();
        script
    }

    fn sent(from: Side, size: u64, what: &'static str) -> Asked {
        Asked::Send(0, from, Message { size: Bytes(size), tag: 0, log: Some(what) })
    }

    #[test]
    fn each_message_at_its_time_and_in_its_direction() {
        let mut script = script("0 200 down\n0 50 up\n1.5 40 up\n", Bytes::MAX);
        let [down, up] = [sent(Side::Sender, 200, "down"), sent(Side::Receiver, 50, "up")];
        assert_eq!(script.take(), [Asked::Open(0), down, up]);
        assert_eq!(script.next_wake(), Some(SimTime::from_millis(1500)));
        script.wake();
        let last = sent(Side::Receiver, 40, "up");
        let closes = [Asked::Close(0, Side::Sender), Asked::Close(0, Side::Receiver)];
        let [one, other] = closes;
        assert_eq!(script.take(), [last, one, other, Asked::Finish]);
    }

    #[test]
    fn a_message_of_a_million_parts_is_refused() {
        let file = NamedFile::read("game.txt", "0 1 up\n0 1000000 down\n", MESSAGES).expect("a good file");
        let with = |size| {
            let message = OptionValue::Size(Bytes(size));
            Options::new(vec![("file", OptionValue::File(file.clone())), ("message", message)])
        };
        let fault = (ROW.check)(&with(1)).expect_err("a million");
        assert_eq!(fault.message, "found \"1B\", by which a message of 1MB is cut into 1000000 messages");
        assert_eq!((ROW.check)(&with(10)), Ok(()));
    }

    #[test]
    fn a_large_message_is_cut() {
        let mut script = script("0 3000 down\n0 1428 up\n1 1 up\n", Bytes(1428));
        let [first, last] = [sent(Side::Sender, 1428, "down"), sent(Side::Sender, 144, "down")];
        assert_eq!(script.take(), [Asked::Open(0), first, first, last, sent(Side::Receiver, 1428, "up")]);
    }
}
