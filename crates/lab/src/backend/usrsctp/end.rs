//! One end of an association: a process that runs the library, and acts only when it is told to.
//!
//! May: write requests and read replies. May not: know links, or what a message is for.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use units::SimTime;

use crate::backend::compiled::end_of;

/// A request to an end; `crates/lab/usrsctp/end.c` reads it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request<'r> {
    /// Take these settings, lines of a key and a value.
    Configure(&'r str),
    /// Open the association.
    Open,
    /// Run timers `due` times, the first time now; ends after the first that has an effect outside.
    Timers {
        /// Milliseconds since they ran last, and between two of them.
        tick_ms: u32,
        /// How often.
        due: u32,
    },
    /// A packet has arrived: from its IPv4 header on.
    Packet(&'r [u8]),
    /// Send messages, as soon as the socket takes them.
    Send(Messages),
    /// Tell windows and counters.
    State,
}

/// Messages to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Messages {
    /// Number of the first.
    pub(super) first: u64,
    /// How many.
    pub(super) count: u64,
    /// Bytes of each, from 8 on.
    pub(super) size: u32,
    /// Stream of the association.
    pub(super) stream: u16,
    /// Without order.
    pub(super) unordered: bool,
}

/// A record of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A packet leaves, from its IPv4 header on.
    Packet(Vec<u8>),
    /// The socket has taken this message.
    Taken(u64),
    /// This message has been delivered.
    Delivered {
        /// Its number.
        number: u64,
        /// Its bytes.
        size: u32,
    },
    /// The association is established.
    Up,
    /// It is lost, or was not established.
    Lost,
    /// It is closed.
    Closed,
    /// Number of timers that have run.
    Timers(u32),
    /// A path to an address of the peer.
    Path(PathState),
    /// Counters of the end.
    Counters(EndCounters),
}

/// A path as the library tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathState {
    /// Address of the peer.
    pub(super) address: [u8; 4],
    /// Bytes.
    pub(super) cwnd: u32,
    /// Milliseconds; 0 before the first sample.
    pub(super) srtt_ms: u32,
}

/// Counters of the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounters {
    /// Receive window of the peer, in bytes.
    pub peer_window: u32,
    /// DATA chunks sent again by fast retransmission.
    pub fast_retransmissions: u32,
    /// Expiries of T3.
    pub timeouts: u32,
    /// DATA chunks sent again.
    pub retransmitted: u32,
    /// DATA chunks that arrived again.
    pub repeated: u32,
    /// CPU time of the process, in milliseconds.
    pub cpu_ms: u32,
}

/// The process with its two pipes. It ends when they are closed.
#[derive(Debug)]
pub(super) struct End {
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    /// Kept so that it is not allocated for each request.
    buffer: Vec<u8>,
}

impl End {
    /// Starts the program.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let replies = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let requests = process.stdin.take();
        Ok(Self { process, requests, replies: BufReader::new(replies), buffer: Vec::new() })
    }

    /// A request and its reply.
    ///
    /// # Errors
    /// The process has ended: its last line on standard error.
    pub(super) fn call(&mut self, now: SimTime, request: Request<'_>) -> Result<Vec<Told>, String> {
        self.ask(now, request)?;
        self.answer()
    }

    /// A request, whose reply is to be read before the next one: several ends can work at once.
    ///
    /// # Errors
    /// As [`End::call`].
    pub(super) fn ask(&mut self, now: SimTime, request: Request<'_>) -> Result<(), String> {
        self.buffer.clear();
        self.buffer.extend([0; 4]);
        self.buffer.push(request.kind());
        self.buffer.extend(now.0.to_le_bytes());
        request.write(&mut self.buffer);
        let length = (self.buffer.len() - 4) as u32;
        self.buffer[..4].copy_from_slice(&length.to_le_bytes());
        let requests = self.requests.as_mut().ok_or("the end has been stopped")?;
        requests.write_all(&self.buffer).map_err(|_| self.last_words())
    }

    /// The reply to the request before.
    ///
    /// # Errors
    /// As [`End::call`].
    pub(super) fn answer(&mut self) -> Result<Vec<Told>, String> {
        let mut length = [0; 4];
        let read = self.replies.read_exact(&mut length).and_then(|()| {
            self.buffer.resize(u32::from_le_bytes(length) as usize, 0);
            self.replies.read_exact(&mut self.buffer)
        });
        if read.is_err() {
            return Err(self.last_words());
        }
        parse(&self.buffer).ok_or_else(|| "a reply that is no list of records".into())
    }

    /// Why the process has ended.
    fn last_words(&mut self) -> String {
        self.requests = None;
        let mut said = Vec::new();
        if let Some(mut errors) = self.process.stderr.take() {
            // An unreadable line is left out: the status follows.
            let _ = errors.read_to_end(&mut said);
        }
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{} ({status})", end_of(&said))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // It ends when its input does.
        self.requests = None;
        let _ = self.process.wait();
    }
}

impl Request<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Configure(_) => b'C',
            Self::Open => b'O',
            Self::Timers { .. } => b'T',
            Self::Packet(_) => b'P',
            Self::Send(_) => b'M',
            Self::State => b'S',
        }
    }

    fn write(&self, buffer: &mut Vec<u8>) {
        match self {
            Self::Configure(text) => buffer.extend(text.as_bytes()),
            Self::Timers { tick_ms, due } => {
                buffer.extend(tick_ms.to_le_bytes());
                buffer.extend(due.to_le_bytes());
            }
            Self::Packet(bytes) => buffer.extend(*bytes),
            Self::Send(messages) => {
                buffer.extend(messages.stream.to_le_bytes());
                buffer.extend(u16::from(messages.unordered).to_le_bytes());
                buffer.extend(messages.size.to_le_bytes());
                buffer.extend(messages.first.to_le_bytes());
                buffer.extend(messages.count.to_le_bytes());
            }
            Self::Open | Self::State => {}
        }
    }
}

/// The records of a reply; `None` if it is malformed.
fn parse(mut reply: &[u8]) -> Option<Vec<Told>> {
    let mut told = Vec::new();
    while let Some((&kind, rest)) = reply.split_first() {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        told.push(record(kind, body)?);
        reply = rest;
    }
    Some(told)
}

fn record(kind: u8, body: &[u8]) -> Option<Told> {
    let number = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*body.get(at..)?.first_chunk()?));
    Some(match kind {
        b'p' => Told::Packet(body.to_vec()),
        b'a' => Told::Taken(long(0)?),
        b'd' => Told::Delivered { number: long(0)?, size: number(8)? },
        b'e' => match body {
            [1] => Told::Up,
            [2] => Told::Lost,
            _ => Told::Closed,
        },
        b't' => Told::Timers(number(0)?),
        b's' => {
            Told::Path(PathState { address: *body.first_chunk()?, cwnd: number(8)?, srtt_ms: number(12)? })
        }
        b'c' => Told::Counters(EndCounters {
            peer_window: number(0)?,
            fast_retransmissions: number(4)?,
            timeouts: number(8)?,
            retransmitted: number(12)?,
            repeated: number(16)?,
            cpu_ms: number(20)?,
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_list_of_records() {
        let mut reply = vec![b'p', 2, 0, 0, 0, 7, 9, b'e', 1, 0, 0, 0, 1, b'a', 8, 0, 0, 0];
        reply.extend(5u64.to_le_bytes());
        assert_eq!(parse(&reply), Some(vec![Told::Packet(vec![7, 9]), Told::Up, Told::Taken(5)]));
        assert_eq!(parse(&reply[..20]), None, "cut off");
        assert_eq!(parse(&[b'?', 0, 0, 0, 0]), None, "an unknown kind");
        assert_eq!(parse(&[]), Some(Vec::new()));
    }

    #[test]
    fn a_process_that_ends_says_why() {
        let mut end = End::start(Path::new("/bin/false")).unwrap();
        let error = end.call(SimTime::ZERO, Request::Open).unwrap_err();
        assert!(error.contains("exit status: 1"), "{error}");
        let again = end.call(SimTime::ZERO, Request::Open).unwrap_err();
        assert_eq!(again, "the end has been stopped");
    }
}
