//! Conversations: a scripted peer talks to one connection, one line per segment, with times.
//!
//! ```text
//! #  ms
//!     0  open
//!     0  > S 0..1
//!   100  < S. 0..1 ack 1 win 65535
//!   100  > . ack 1
//!   100  write s10              # ten full segments
//!   100  > . s0..s10            # all ten, in order
//!   200  < . ack 1 sack s1..s3
//!   200  = cwnd 14600 pipe 11680
//! ```
//! `snack 0+2/1001`, `scps`, `poll 1`, `stat 1 sack ..` and `ustat sack ..` are those of SCPS-TP and STP, `dummy` and
//! `answer` those of TCP-Peach, `bare` none.
//! `s4` is where the fifth full segment begins, `s4+10` ten bytes on. The peer's sequence number, acknowledgement
//! and window stay what they were unless a line changes them. Every segment that leaves must be announced by a
//! line at the very nanosecond, with `P` and `p` among its flags if PSH must be set or must not; `skip` drops what has left until then. `[1]` before the flags: subflow 1.

mod line;
mod options;

use std::collections::VecDeque;

use transport::packet::{Body, Packet, PathId};
use transport::seq::Seq;
use transport::space::SpaceSegment;
use transport::tcp::ranges::Range;
use transport::tcp::segment::{Flags, TcpSegment, Timestamps};
use transport::{AbortForm, Connection, Role};
use units::{Bytes, SimTime};

use line::{Line, Pattern};
use options::Secrets;

/// Numbers and window of the peer on a subflow, unless a line changes them.
#[derive(Clone, Copy, Debug)]
struct Habits {
    seq: Seq,
    ack: Seq,
    window: u64,
}

/// A connection and its scripted peer.
#[derive(Debug)]
pub struct Talk {
    /// The connection under test.
    pub end: Connection,
    now: SimTime,
    mss: u64,
    out: VecDeque<(SimTime, Packet)>,
    habits: Vec<Habits>,
    secrets: Secrets,
}

impl Talk {
    /// `end` at time zero; lines count segments of `mss` bytes.
    pub fn new(end: Connection, mss: u64) -> Self {
        let secrets = Secrets::new(end.role() == Role::Client);
        let habits = vec![Habits { seq: Seq::SYN, ack: Seq::SYN, window: 10_000_000 }; 64];
        Self { end, now: SimTime::ZERO, mss, out: VecDeque::new(), habits, secrets }
    }

    /// Plays `script` and compares; may be called again to go on. Packets that `script` does not
    /// expect by the time the conversation is dropped are a failure.
    ///
    /// # Panics
    /// At the first difference, with the line.
    pub fn play(&mut self, script: &str) -> &mut Self {
        for (n, text) in script.lines().enumerate() {
            let Some((at, line)) = line::parse(text, self.mss) else { continue };
            let place = format!("line {}: {}", n + 1, text.trim());
            assert!(at >= self.now, "{place}: time goes back");
            self.advance(at);
            self.perform(at, line, &place);
        }
        self
    }

    fn perform(&mut self, at: SimTime, line: Line, place: &str) {
        match line {
            Line::Out(pattern) => {
                for pattern in pattern.split(self.mss) {
                    self.expect(at, &pattern, place);
                }
                return;
            }
            Line::Do(what, _) if what == "skip" => {
                self.out.clear();
                return;
            }
            _ => self.nothing_left(place),
        }
        match line {
            Line::In(pattern) => {
                let packet = self.packet(&pattern);
                self.end.on_packet(at, &packet);
            }
            Line::Do(what, n) => self.act(at, &what, n, place),
            Line::Check(subflow, pairs) => self.check(subflow, &pairs, place),
            Line::Out(_) => unreachable!("handled above"),
        }
        self.poll();
    }

    fn act(&mut self, at: SimTime, what: &str, n: u64, place: &str) {
        match what {
            "open" => self.end.open(),
            "write" => self.end.write(Bytes(n)),
            "read" => self.end.read(at, Bytes(n)),
            "close" => self.end.close(),
            "abort" => self.end.abort(at, AbortForm::Ack),
            "abort-reset" => self.end.abort(at, AbortForm::Reset),
            "leave" => self.end.remove_address(at, n as u8),
            "join" => self.end.add_address(n as u8),
            "backup" => self.end.set_backup(n as u8, true),
            "regular" => self.end.set_backup(n as u8, false),
            _ => panic!("{place}: unknown action"),
        }
    }

    fn nothing_left(&self, place: &str) {
        if let Some((at, packet)) = self.out.front() {
            panic!("{place}: before that, at {at}, an unexpected > {}", line::show(packet));
        }
    }

    /// Lets time pass; deadlines are acted on when they are due.
    fn advance(&mut self, to: SimTime) {
        let mut steps = 0;
        while self.end.next_deadline() <= to {
            self.now = self.now.max(self.end.next_deadline());
            self.end.on_timeout(self.now);
            self.poll();
            steps += 1;
            assert!(steps < 10_000, "live-lock at {}: {:?}", self.now, self.end);
        }
        self.now = to;
    }

    fn poll(&mut self) {
        for n in 0.. {
            assert!(n < 100_000, "it never stops sending at {}", self.now);
            let Some(packet) = self.end.poll_transmit(self.now) else { break };
            self.secrets.learn_nonce(&packet);
            self.out.push_back((self.now, packet));
        }
    }

    fn packet(&mut self, pattern: &Pattern) -> Packet {
        let habits = &mut self.habits[usize::from(pattern.subflow)];
        let flags = pattern.flags;
        let range = pattern.range.unwrap_or_else(|| {
            let len = u64::from(flags.syn) + u64::from(flags.fin);
            Range::new(habits.seq, habits.seq + Bytes(len))
        });
        habits.seq = habits.seq.max(range.end);
        habits.ack = pattern.ack.unwrap_or(habits.ack);
        habits.window = pattern.window.unwrap_or(habits.window);
        let segment = TcpSegment {
            flags,
            len: (range.len() - u64::from(flags.syn) - u64::from(flags.fin)) as u32,
            seq: range.start,
            ack: habits.ack,
            window: Bytes(habits.window),
            timestamps: pattern.stamps.map(|(value, echo)| Timestamps { value, echo }),
            sack: pattern.sack.unwrap_or_default(),
            mptcp: self.secrets.said(pattern),
        };
        let body = match pattern.signal.flatten() {
            Some(signal) => Body::Space(SpaceSegment { segment, signal }),
            None => Body::Tcp(segment),
        };
        Packet {
            path: PathId(pattern.subflow),
            ecn: pattern.ecn.unwrap_or_default(),
            size: Bytes(40),
            payload: segment.len,
            body,
            ..Packet::default()
        }
    }

    fn expect(&mut self, at: SimTime, want: &Pattern, place: &str) {
        let Some((when, got)) = self.out.pop_front() else {
            panic!("{place}: nothing was sent, next deadline {}", self.end.next_deadline());
        };
        let shown = line::show(&got);
        let Some(segment) = got.segment() else { panic!("{place}: no segment: > {shown}") };
        assert_eq!(when, at, "{place}: sent at another time: > {shown}");
        let same = |holds: bool, what: &str| assert!(holds, "{place}: {what} differs: > {shown}");
        same(want.subflow == got.path.0, "subflow");
        let psh = false;
        same(Flags { psh, ..want.flags } == Flags { psh, ..segment.flags }, "flags");
        same(want.psh.is_none_or(|psh| psh == segment.flags.psh), "PSH");
        same(want.again == got.retransmission, "again");
        match want.range {
            Some(range) => same(range == Range::new(segment.seq, segment.end()), "range"),
            None => same(segment.len == 0, "payload"),
        }
        same(want.ack.is_none_or(|ack| ack == segment.ack), "ack");
        same(want.window.is_none_or(|window| window == segment.window.0), "window");
        same(want.size.is_none_or(|size| size == got.size.0), "size");
        same(want.sack.is_none_or(|sack| sack == segment.sack), "sack");
        same(want.ecn.is_none_or(|ecn| ecn == got.ecn), "ecn");
        same(want.signal.is_none_or(|signal| signal.as_ref() == got.signal()), "signal");
        let stamps = segment.timestamps.map(|t| (t.value, t.echo));
        same(want.stamps.is_none_or(|s| stamps == Some(s)), "ts");
        if let Some(option) = self.secrets.expected(want, segment) {
            assert_eq!(option, segment.mptcp, "{place}: the MPTCP option differs: > {shown}");
        }
    }

    fn check(&self, subflow: usize, pairs: &[(String, String)], place: &str) {
        for (name, wanted) in pairs {
            let got = self.read_off(subflow, name);
            assert_eq!(&got, wanted, "{place}: {name}");
        }
    }

    fn read_off(&self, subflow: usize, name: &str) -> String {
        let ms = |ns: u64| (ns as f64 / 1e6).to_string();
        let yes = |holds: bool| if holds { "yes" } else { "no" }.to_owned();
        match name {
            "space" => return self.end.send_space().0.to_string(),
            "readable" => return self.end.readable().0.to_string(),
            "delivered" => return self.end.delivered().0.to_string(),
            "acked" => return self.end.acked().0.to_string(),
            "unordered" => return self.end.out_of_order().0.to_string(),
            "rwnd" => return self.end.receive_window().0.to_string(),
            "subflows" => return self.end.subflow_count().to_string(),
            "closed" => return yes(self.end.is_closed()),
            "fallback" => return yes(self.end.fell_back()),
            "failure" => return self.end.failure().unwrap_or("none").to_owned(),
            "reinjected" => return self.end.stats(subflow).reinjected_bytes.to_string(),
            "timeouts" => return self.end.stats(subflow).timeouts.to_string(),
            "recoveries" => return self.end.stats(subflow).fast_recoveries.to_string(),
            // `paths`: each subflow has a limit of its own. `more`: the application has more to write.
            "limit" | "limit-of-more" => {
                let limit = self.end.limit(name == "limit-of-more");
                return limit.map_or("paths".to_owned(), |limit| limit.to_string());
            }
            "subflow-limit" => return self.end.subflow_limit(subflow, false).to_string(),
            _ => {}
        }
        let gauges = self.end.gauges(subflow).expect("the subflow exists");
        match name {
            "cwnd" => gauges.cwnd.0.to_string(),
            "ssthresh" if gauges.ssthresh == Bytes::MAX => "inf".to_owned(),
            "ssthresh" => gauges.ssthresh.0.to_string(),
            "pipe" => gauges.inflight.0.to_string(),
            "state" => gauges.state.to_string(),
            "rto" => ms(gauges.rto.0),
            "srtt" => gauges.srtt.map_or("none".to_owned(), |srtt| ms(srtt.0)),
            "rttvar" => ms(gauges.rttvar.0),
            "window" => gauges.send_window.0.to_string(),
            _ => panic!("nothing is called {name:?}"),
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.nothing_left("the end");
        }
    }
}
