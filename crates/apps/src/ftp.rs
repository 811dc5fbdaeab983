//! Files fetched one after the other: a request goes to the server, the file comes back.

use registry::{OptionFault, OptionKind, OptionSpec, Options, at_least};
use units::{Bytes, Nanos, SimTime};

use crate::bounds::message_size;
use crate::{Algorithm, App, AppContext, ConnectionId, Event, Measurement, Message, Side};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "ftp",
    summary: "files fetched one after the other; response time from the request to the last byte",
    source: "Omueti and Trajkovic 2007",
    notes: "the receiver of the data opens the connections and sends the requests",
    options: &[
        OptionSpec::new("size", OptionKind::Size, "50MB", "size of each file (D-74)"),
        OptionSpec::new("request", OptionKind::Size, "350B", "size of each request (D-71)"),
        OptionSpec::new("files", OptionKind::Integer { min: 1, max: 1_000_000 }, "1", "how many"),
        OptionSpec::new(
            "interval",
            OptionKind::Duration,
            "0s",
            "time from a request to the next, which also waits for the end of the file",
        ),
        OptionSpec::new(
            "persistent",
            OptionKind::Flag,
            "false",
            "all files over one connection; otherwise each has one of its own, whose handshake counts",
        ),
    ],
    check,
    build: |options| Box::new(Ftp::new(options)),
};

/// A file and the request for it are messages.
fn check(options: &Options) -> Result<(), OptionFault> {
    at_least("size", Bytes(1), Options::size, options)?;
    message_size("request", Bytes(1), options)
}

const REQUEST: u64 = 0;
const FILE: u64 = 1;

/// Client and server.
#[derive(Clone, Debug)]
pub(crate) struct Ftp {
    size: Bytes,
    request: Bytes,
    left: u64,
    interval: Nanos,
    persistent: bool,
    connection: Option<ConnectionId>,
    asked: SimTime,
    waiting: bool,
}

impl Ftp {
    /// As the options of its row say.
    pub fn new(options: &Options) -> Self {
        Self {
            size: options.size("size"),
            request: options.size("request"),
            left: options.integer("files"),
            interval: options.duration("interval"),
            persistent: options.flag("persistent"),
            connection: None,
            asked: SimTime::ZERO,
            waiting: false,
        }
    }

    fn ask(&mut self, ctx: &mut dyn AppContext) {
        debug_assert!(!self.waiting, "a request while a file is on its way");
        self.left -= 1;
        self.asked = ctx.now();
        self.waiting = true;
        let connection = self.connection.unwrap_or_else(|| ctx.open());
        self.connection = Some(connection);
        ctx.send(connection, Side::Receiver, Message { size: self.request, tag: REQUEST, log: None });
    }

    fn log(&self, ended: bool, ctx: &mut dyn AppContext) {
        let delay = ended.then(|| ctx.now().since(self.asked));
        ctx.log(Measurement { what: "file", size: self.size, start: self.asked, ended, delay });
    }
}

impl App for Ftp {
    fn on_event(&mut self, event: Event, ctx: &mut dyn AppContext) {
        match event {
            Event::Start | Event::Wake(_) => self.ask(ctx),
            Event::Arrived { connection, tag: REQUEST, .. } => {
                ctx.send(connection, Side::Sender, Message { size: self.size, tag: FILE, log: None });
            }
            Event::Arrived { connection, .. } => {
                debug_assert!(
                    self.waiting && self.connection == Some(connection),
                    "a file without a request"
                );
                self.waiting = false;
                self.log(true, ctx);
                if !self.persistent || self.left == 0 {
                    self.connection = None;
                    ctx.close(connection, Side::Receiver);
                }
                if self.left > 0 {
                    ctx.wake(self.asked + self.interval, 0);
                } else {
                    ctx.finish();
                }
            }
            Event::Accepted { .. } => {}
        }
    }

    fn on_end(&mut self, ctx: &mut dyn AppContext) {
        if self.waiting {
            self.log(false, ctx);
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

    #[test]
    fn each_file_is_asked_for_and_measured_from_its_request() {
        let options = Options::defaults(ROW.options)
            .with("files", OptionValue::Integer(2))
            .with("interval", OptionValue::Duration(Nanos::from_secs(10)));
        let mut script = Script::new(Ftp::new(&options));
        script.start();
        let request = Message { size: Bytes(350), tag: REQUEST, log: None };
        assert_eq!(script.take(), [Asked::Open(0), Asked::Send(0, Side::Receiver, request)]);
        script.arrive(SimTime::from_secs(1), 0, Side::Sender);
        let file = Message { size: Bytes(50_000_000), tag: FILE, log: None };
        assert_eq!(script.take(), [Asked::Send(0, Side::Sender, file)]);
        script.arrive(SimTime::from_secs(4), 0, Side::Receiver);
        let [Asked::Log(row), Asked::Close(0, Side::Receiver)] = script.take()[..] else { panic!() };
        assert_eq!((row.delay, row.size), (Some(Nanos::from_secs(4)), Bytes(50_000_000)));
        assert_eq!(script.next_wake(), Some(SimTime::from_secs(10)));
        script.wake();
        assert_eq!(script.take()[0], Asked::Open(1), "a connection of its own");
        script.arrive(SimTime::from_secs(11), 0, Side::Sender);
        script.arrive(SimTime::from_secs(12), 0, Side::Receiver);
        assert!(script.take().contains(&Asked::Finish), "nothing is sent after the last file");
    }

    /// A file that takes longer than the interval is followed by the next at once.
    #[test]
    fn a_persistent_connection_is_closed_after_the_last_file() {
        let options = Options::defaults(ROW.options)
            .with("files", OptionValue::Integer(3))
            .with("interval", OptionValue::Duration(Nanos::from_secs(1)))
            .with("persistent", OptionValue::Flag(true));
        let mut script = Script::new(Ftp::new(&options));
        script.start();
        for file in 1..=3 {
            assert_eq!(script.take().contains(&Asked::Open(0)), file == 1);
            script.arrive(SimTime::from_secs(10 * file), 0, Side::Sender);
            script.arrive(SimTime::from_secs(10 * file + 5), 0, Side::Receiver);
            let asked = script.take();
            assert_eq!(asked.contains(&Asked::Close(0, Side::Receiver)), file == 3);
            assert_eq!(asked.contains(&Asked::Finish), file == 3);
            assert_eq!(script.next_wake().is_none(), file == 3);
            if file < 3 {
                script.wake();
            }
        }
    }
}
