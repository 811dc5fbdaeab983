//! A bare loop: the packets of `benches/two-paths.toml` in a program of their own, without generic parts and without
//! anything but the loss-free case. It stands beside every rate that `make bench` prints, as a measure of the machine.
//!
//! Two paths of 20 Mbit/s, 280 ms and a queue, each full; a data link and an ACK link each. Levels, each with those
//! before it:
//! - L0: links, an event heap, a fixed window, cumulative ACKs;
//! - L1: scoreboard, round-trip times (RFC 6298), RACK's newest delivered segment, retransmission deadline;
//! - L2: data sequence numbers with reassembly over both paths, Data ACKs, LIA;
//! - L3: an application that writes and reads, delays of all bytes in a histogram, held bytes over time.
//!
//! `cargo bench -p lab --bench bare_loop` prints packet-hops and CPU seconds of each level.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cpu_time::ThreadTime;

/// Nanoseconds and bytes.
type Time = u64;
type Size = u64;

const MSS: Size = 1420;
const DATA: Size = 1500;
const ACK: Size = 72;
const RATE: u64 = 20_000_000;
const DELAY: Time = 280_000_000;
/// The bandwidth-delay product and a queue of 400 packets.
const WINDOW: Size = 1_400_000 + 400 * MSS;
const SEND_BUFFER: Size = 32 << 20;
const HOPS: u64 = 6_000_000;

#[derive(Clone, Copy, Default)]
struct Packet {
    arrival: Time,
    seq: Size,
    dsn: Size,
    /// Time stamp of data, echoed by its ACK.
    stamp: Time,
}

/// A transmitter and the packets behind it, in the order of arrival.
#[derive(Default)]
struct Link {
    free: Time,
    ring: VecDeque<Packet>,
}

impl Link {
    /// When the event of the link is due, if the packet is the first.
    fn offer(&mut self, now: Time, size: Size, packet: Packet) -> Option<Time> {
        let depart = self.free.max(now) + (size * 8_000_000_000).div_ceil(RATE);
        self.free = depart;
        let arrival = depart + DELAY;
        self.ring.push_back(Packet { arrival, ..packet });
        (self.ring.len() == 1).then_some(arrival)
    }
}

#[derive(Clone, Copy)]
struct Sent {
    end: Size,
    at: Time,
}

/// Sender and receiver of one path.
#[derive(Default)]
struct Path {
    nxt: Size,
    una: Size,
    cwnd: f64,
    received: Size,
    board: VecDeque<Sent>,
    srtt: f64,
    rttvar: f64,
    deadline: Time,
    /// Transmission time of the segment delivered last, of those sent last.
    rack: Time,
}

impl Path {
    fn measure(&mut self, now: Time, ack: Size, stamp: Time) {
        while self.board.front().is_some_and(|sent| sent.end <= ack) {
            let sent = self.board.pop_front().expect("looked at");
            self.rack = self.rack.max(sent.at);
        }
        let sample = (now - stamp) as f64;
        if self.srtt > 0.0 {
            self.rttvar = 0.75 * self.rttvar + 0.25 * (self.srtt - sample).abs();
            self.srtt = 0.875 * self.srtt + 0.125 * sample;
        } else {
            (self.srtt, self.rttvar) = (sample, sample / 2.0);
        }
        let rto = (self.srtt + (4.0 * self.rttvar).max(1e6)).max(2e8);
        self.deadline = now + rto as Time;
        // Lost would be what was sent a quarter of a round trip before the newest delivered segment.
        let patience = (self.srtt / 4.0) as Time;
        let late = self.board.front().is_some_and(|sent| sent.at + patience < self.rack);
        assert!(!late, "a packet is lost in a loop without losses");
    }
}

/// The connection over both paths, and its application.
#[derive(Default)]
struct Connection {
    next_dsn: Size,
    data_ack: Size,
    /// Received out of order: beginning and end, ascending.
    held: Vec<(Size, Size)>,
    received: Size,
    written: Size,
    /// End and time of each write that has not arrived as a whole.
    writes: VecDeque<(Size, Time)>,
    /// Delays in buckets of a quarter of a power of two, by bytes.
    delays: Vec<u64>,
    /// Bytes held, since when, and their integral.
    level: Size,
    since: Time,
    integral: u128,
}

impl Connection {
    /// LIA: growth of the window of `me` by an acknowledgement of a segment.
    fn increase(paths: &[Path; 2], me: usize) -> f64 {
        let (mut best, mut sum) = (0.0_f64, 0.0);
        for path in paths {
            let rate = path.cwnd / path.srtt;
            best = best.max(rate / path.srtt);
            sum += rate;
        }
        let mss = MSS as f64;
        (mss * mss * best / (sum * sum)).min(mss * mss / paths[me].cwnd)
    }

    fn receive(&mut self, dsn: Size) {
        if dsn != self.received {
            let at = self.held.partition_point(|(begin, _)| *begin < dsn);
            self.held.insert(at, (dsn, dsn + MSS));
            return;
        }
        self.received += MSS;
        let ready = self.held.iter().take_while(|(begin, end)| {
            let next = *begin == self.received;
            self.received = if next { *end } else { self.received };
            next
        });
        let ready = ready.count();
        self.held.drain(..ready);
    }

    /// The application writes as much as the send buffer takes.
    fn write(&mut self, now: Time) {
        let end = self.data_ack + SEND_BUFFER;
        if end > self.written {
            self.written = end;
            self.writes.push_back((end, now));
        }
    }

    fn add(&mut self, delay: Time, bytes: Size) {
        let power = u64::from(delay.max(4).ilog2());
        let bucket = (4 * power + (delay.max(4) >> (power - 2) & 3)) as usize;
        if self.delays.len() <= bucket {
            self.delays.resize(bucket + 1, 0);
        }
        self.delays[bucket] += bytes;
    }

    /// Delays of the bytes from `begin` on that have become readable, and the bytes that are held.
    fn record(&mut self, now: Time, mut begin: Size) {
        while begin < self.received {
            let (end, at) = *self.writes.front().expect("bytes were written before they were sent");
            let until = end.min(self.received);
            self.add(now - at, until - begin);
            begin = until;
            if end == until {
                self.writes.pop_front();
            }
        }
        self.integral += u128::from(now - self.since) * u128::from(self.level);
        self.since = now;
        self.level = self.held.len() as Size * MSS;
    }
}

struct Loop<const LEVEL: u8> {
    heap: BinaryHeap<Reverse<(Time, u64, usize)>>,
    inserted: u64,
    /// Data of path i: 2 i; its ACKs: 2 i + 1.
    links: [Link; 4],
    paths: [Path; 2],
    connection: Connection,
}

impl<const LEVEL: u8> Loop<LEVEL> {
    fn new() -> Self {
        let mut all = Self {
            heap: BinaryHeap::new(),
            inserted: 0,
            links: Default::default(),
            paths: Default::default(),
            connection: Connection::default(),
        };
        if LEVEL >= 3 {
            all.connection.write(0);
        }
        for path in 0..2 {
            all.paths[path].cwnd = if LEVEL >= 2 { WINDOW as f64 * 0.9 } else { WINDOW as f64 };
            all.transmit(0, path);
        }
        all
    }

    fn offer(&mut self, now: Time, link: usize, size: Size, packet: Packet) {
        if let Some(at) = self.links[link].offer(now, size, packet) {
            self.heap.push(Reverse((at, self.inserted, link)));
            self.inserted += 1;
        }
    }

    fn transmit(&mut self, now: Time, index: usize) {
        loop {
            let path = &mut self.paths[index];
            if path.nxt + MSS > path.una + path.cwnd as Size {
                return;
            }
            let packet = Packet { arrival: 0, seq: path.nxt, dsn: self.connection.next_dsn, stamp: now };
            path.nxt += MSS;
            if LEVEL >= 1 {
                path.board.push_back(Sent { end: path.nxt, at: now });
            }
            if LEVEL >= 2 {
                self.connection.next_dsn += MSS;
            }
            self.offer(now, 2 * index, DATA, packet);
        }
    }

    fn on_data(&mut self, now: Time, index: usize, packet: Packet) {
        let path = &mut self.paths[index];
        path.received = packet.seq + MSS;
        let seq = path.received;
        let connection = &mut self.connection;
        if LEVEL >= 2 {
            let begin = connection.received;
            connection.receive(packet.dsn);
            if LEVEL >= 3 {
                connection.record(now, begin);
            }
        }
        let ack = Packet { arrival: 0, seq, dsn: connection.received, stamp: packet.stamp };
        self.offer(now, 2 * index + 1, ACK, ack);
    }

    fn on_ack(&mut self, now: Time, index: usize, ack: Packet) {
        self.paths[index].una = ack.seq;
        if LEVEL >= 1 {
            self.paths[index].measure(now, ack.seq, ack.stamp);
        }
        if LEVEL >= 2 {
            self.connection.data_ack = self.connection.data_ack.max(ack.dsn);
            if self.paths.iter().all(|path| path.srtt > 0.0) {
                let grown = self.paths[index].cwnd + Connection::increase(&self.paths, index);
                self.paths[index].cwnd = grown.min(WINDOW as f64);
            }
        }
        if LEVEL >= 3 {
            self.connection.write(now);
        }
        self.transmit(now, index);
    }

    /// Runs for a number of packet-hops. Returns a value that depends on them, so that the compiler keeps the work.
    fn run(mut self, hops: u64) -> u64 {
        for _ in 0..hops {
            let Reverse((now, _, link)) = self.heap.pop().expect("the links are full");
            let packet = self.links[link].ring.pop_front().expect("one event for a busy link");
            if let Some(next) = self.links[link].ring.front() {
                self.heap.push(Reverse((next.arrival, self.inserted, link)));
                self.inserted += 1;
            }
            if link % 2 == 0 {
                self.on_data(now, link / 2, packet);
            } else {
                self.on_ack(now, link / 2, packet);
            }
        }
        let recorded = self.connection.delays.iter().sum::<u64>() + self.connection.integral as u64;
        recorded + self.paths.iter().map(|path| path.una + path.deadline).sum::<u64>()
    }
}

fn print<const LEVEL: u8>(hops: u64) {
    let before = ThreadTime::now();
    let sum = std::hint::black_box(Loop::<LEVEL>::new().run(hops));
    let seconds = before.elapsed().as_secs_f64();
    println!("L{LEVEL} {hops} {seconds:.6} {sum}");
}

/// `--hops N`: another number of packet-hops; a word such as `L3`: that level alone.
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|i| arguments.get(i + 1));
    let hops = after("--hops").map_or(HOPS, |text| text.parse().expect("a number of hops"));
    let wanted = |level: &str| {
        let mut levels = arguments.iter().filter(|argument| argument.starts_with('L')).peekable();
        levels.peek().is_none() || levels.any(|argument| argument == level)
    };
    if wanted("L0") {
        print::<0>(hops);
    }
    if wanted("L1") {
        print::<1>(hops);
    }
    if wanted("L2") {
        print::<2>(hops);
    }
    if wanted("L3") {
        print::<3>(hops);
    }
}
