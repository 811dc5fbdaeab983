//! Messages of a recording, such as that of a game: each is sent at its time, whatever became of the ones before.

use std::sync::Arc;

use registry::{OptionKind, OptionSpec, Options};
use units::{Bytes, Nanos, SimTime};

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
        OptionSpec::new("deadline", OptionKind::Duration, "60ms", "what takes longer is late"),
    ],
    check: registry::independent,
    build: |options| Box::new(Timed::new(Replay::new(options))),
};

/// Both ends.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    messages: Arc<Vec<Recorded>>,
    deadline: Nanos,
    next: usize,
}

impl Replay {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let (messages, deadline) = (options.file("file").content(), options.duration("deadline"));
        Self { messages, deadline, next: 0 }
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
            ctx.send(connection, from, Message { size, tag: 0, log: Some(what) });
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

    #[test]
    fn each_message_at_its_time_and_in_its_direction() {
        let file =
            NamedFile::read("game.txt", "0 200 down\n0 50 up\n1.5 40 up\n", MESSAGES).expect("a good file");
        let deadline = OptionValue::Duration(Nanos::from_millis(60));
        let options = Options::new(vec![("file", OptionValue::File(file)), ("deadline", deadline)]);
        let mut script = Script::new(Timed::new(Replay::new(&options)));
        script.start();
        let send =
            |from, size, what| Asked::Send(0, from, Message { size: Bytes(size), tag: 0, log: Some(what) });
        let [down, up, last] =
            [send(Side::Sender, 200, "down"), send(Side::Receiver, 50, "up"), send(Side::Receiver, 40, "up")];
        assert_eq!(script.take(), [Asked::Open(0), down, up]);
        assert_eq!(script.next_wake(), Some(SimTime::from_millis(1500)));
        script.wake();
        let closes = [Asked::Close(0, Side::Sender), Asked::Close(0, Side::Receiver)];
        let [one, other] = closes;
        assert_eq!(script.take(), [last, one, other, Asked::Finish]);
    }
}
