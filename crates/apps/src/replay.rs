//! Messages of a recording, such as that of a game: each is sent at its time, whatever became of the ones before.

use std::sync::Arc;

use registry::{OptionKind, OptionSpec, Options};
use units::{Nanos, SimTime};

use crate::recording::{MESSAGES, Recorded};
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Message, Side};

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
    build: |options| Box::new(Replay::new(options)),
};

/// Both ends.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    messages: Arc<Vec<Recorded>>,
    deadline: Nanos,
    connection: ConnectionId,
    began: SimTime,
    next: usize,
}

impl Replay {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        let (messages, deadline) = (options.file("file").content(), options.duration("deadline"));
        Self { messages, deadline, connection: 0, began: SimTime::ZERO, next: 0 }
    }

    /// Sends what is due and asks to be woken for the next message.
    fn send(&mut self, ctx: &mut dyn AppContext) {
        while let Some(&Recorded { at, size, up }) = self.messages.get(self.next) {
            if self.began + at > ctx.now() {
                return ctx.wake(self.began + at, 0);
            }
            let (from, what) = if up { (Side::Receiver, "up") } else { (Side::Sender, "down") };
            ctx.send(self.connection, from, Message { size, tag: 0, log: Some(what) });
            self.next += 1;
        }
        ctx.close(self.connection, Side::Sender);
        ctx.close(self.connection, Side::Receiver);
        ctx.finish();
    }
}

impl App for Replay {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start => {
                self.began = ctx.now();
                self.connection = ctx.open();
                self.send(ctx);
            }
            Event::Wake(_) => self.send(ctx),
            Event::Arrived { .. } | Event::Accepted { .. } => {}
        }
    }

    fn takes_datagrams(&self) -> bool {
        true
    }

    fn deadline(&self) -> Option<Nanos> {
        Some(self.deadline)
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
        let mut script = Script::new(Replay::new(&options));
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
