//! Two connections joined by wires with delay, rate and faults: the smallest world in which a transport lives.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use engine::{EventQueue, Stream};
use transport::mptcp::option::MptcpOption;
use transport::packet::Packet;
use transport::{AddressPair, Connection, SenderState};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::faults::{Fault, Way, fate, strips};

/// One wire, the same both ways; its queue is endless.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// One-way delay.
    pub delay: Nanos,
    /// Rate; `None`: infinite.
    pub rate: Option<BitsPerSecond>,
}

/// How the server's application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// At once.
    AtOnce,
    /// This many bytes every so often.
    Slowly(Bytes, Nanos),
}

/// Something that happens to the addresses of one end; they are numbered like the wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The address leaves.
    Leave(u8),
    /// It comes back.
    Join(u8),
    /// Its subflows become backups, or are so no longer.
    Backup(u8, bool),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Act(usize),
    Arrival(Way, usize),
    Read,
    Wake,
}

/// The world. The client sends `total` bytes to the server, or in a download the server to the client.
#[derive(Debug)]
pub struct Duo {
    /// Opens and sends.
    pub client: Connection,
    /// Accepts and receives.
    pub server: Connection,
    wires: Vec<Wire>,
    faults: Vec<Fault>,
    /// At which end what happens.
    acts: Vec<(Way, Act)>,
    noise: Stream,
    queue: EventQueue<Event>,
    /// Segments in flight, by event index.
    flying: Vec<Option<Packet>>,
    free: Vec<usize>,
    busy_until: Vec<[SimTime; 2]>,
    counts: Vec<[u64; 2]>,
    reading: Reading,
    /// Which way the data goes.
    data: Way,
    /// No congestion window may ever be smaller, except during fast recovery.
    least_window: Bytes,
    total: Bytes,
    /// Written first; the rest once this is acknowledged.
    page: Bytes,
    written: Bytes,
    /// Segments of the client as they left, as they arrived, and ACKs, if asked for.
    log: Option<String>,
    /// A hash of the state of both ends after each event, if asked for.
    states: Option<Vec<u64>>,
    /// Payload segments sent per wire by the client.
    pub data_segments: Vec<u64>,
    /// When the last byte was delivered.
    pub delivered_at: SimTime,
    /// Largest number of out-of-order bytes seen at the server.
    pub max_out_of_order: Bytes,
    /// Segments put on the wires, lost ones included, and segments that arrived.
    pub sent_and_arrived: [u64; 2],
    /// Bytes put on the wires by the client and by the server.
    pub wire_bytes: [u64; 2],
}

impl Duo {
    /// A world at time zero; the client opens when `run` is called.
    pub fn new(client: Connection, server: Connection, wires: Vec<Wire>, total: Bytes) -> Self {
        let n = wires.len();
        Self {
            client,
            server,
            wires,
            faults: Vec::new(),
            acts: Vec::new(),
            noise: Stream::named(1, "duo", "noise"),
            queue: EventQueue::new(),
            flying: Vec::new(),
            free: Vec::new(),
            busy_until: vec![[SimTime::ZERO; 2]; n],
            counts: vec![[0; 2]; n],
            reading: Reading::AtOnce,
            data: Way::Up,
            least_window: Bytes(1),
            total,
            page: total,
            written: Bytes::ZERO,
            log: None,
            states: None,
            data_segments: vec![0; n],
            delivered_at: SimTime::ZERO,
            max_out_of_order: Bytes::ZERO,
            sent_and_arrived: [0; 2],
            wire_bytes: [0; 2],
        }
    }

    /// With these faults, and this seed for the noise among them.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>, seed: u64) -> Self {
        self.faults = faults;
        self.noise = Stream::named(seed, "duo", "noise");
        self
    }

    /// With things that happen to the addresses of the end that sends this way.
    #[must_use]
    pub fn with_acts(mut self, acts: Vec<(SimTime, Way, Act)>) -> Self {
        for (at, way, act) in acts {
            self.queue.push(at, Event::Act(self.acts.len()));
            self.acts.push((way, act));
        }
        self
    }

    /// With an application that reads like this.
    #[must_use]
    pub fn with_reading(mut self, reading: Reading) -> Self {
        self.reading = reading;
        self
    }

    /// With an application that writes the rest only when the first `page` bytes are acknowledged.
    #[must_use]
    pub fn with_page(mut self, page: Bytes) -> Self {
        self.page = page;
        self
    }

    /// With data from the server to the client.
    #[must_use]
    pub fn download(mut self) -> Self {
        self.data = Way::Down;
        self
    }

    /// Checks at every step that congestion windows and thresholds are at least `mss`.
    #[must_use]
    pub fn watching(mut self, mss: Bytes) -> Self {
        self.least_window = mss;
        self
    }

    /// The end that sends the data, and the one that receives it.
    fn ends(&mut self) -> (&mut Connection, &mut Connection) {
        match self.data {
            Way::Up => (&mut self.client, &mut self.server),
            Way::Down => (&mut self.server, &mut self.client),
        }
    }

    /// The end that receives the data.
    pub fn receiver(&self) -> &Connection {
        if self.data == Way::Up { &self.server } else { &self.client }
    }

    /// Keeps a readable trace of what the client sends and receives.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        let head = "#   t_ms  sub event    seq..end       ack     cwnd ssthresh    pipe state      notes\n";
        self.log = Some(head.to_owned());
        self
    }

    /// Keeps a hash of the whole state of both ends after each event.
    #[must_use]
    pub fn with_states(mut self) -> Self {
        self.states = Some(Vec::new());
        self
    }

    /// The hashes so far.
    pub fn states(&self) -> &[u64] {
        self.states.as_deref().unwrap_or_default()
    }

    fn note_state(&mut self) {
        if let Some(states) = &mut self.states {
            let mut hasher = DefaultHasher::new();
            format!("{:?} {:?}", self.client, self.server).hash(&mut hasher);
            states.push(hasher.finish());
        }
    }

    /// The trace so far.
    pub fn log(&self) -> &str {
        self.log.as_deref().unwrap_or_default()
    }

    /// The clock.
    pub fn now(&self) -> SimTime {
        self.queue.now()
    }

    /// Everything sent has been delivered and read.
    pub fn delivered_all(&self) -> bool {
        self.receiver().delivered() == self.total
    }

    /// Runs until everything is delivered and both ends are closed, until `end`, or until nothing can happen any
    /// more. Returns true if everything was delivered.
    pub fn run(&mut self, end: SimTime) -> bool {
        self.client.open();
        if let Reading::Slowly(_, every) = self.reading {
            self.queue.push(SimTime::ZERO + every, Event::Read);
        }
        self.settle();
        self.resume(end)
    }

    /// Goes on until `end`.
    ///
    /// # Panics
    /// If the two ends keep each other busy without end.
    pub fn resume(&mut self, end: SimTime) -> bool {
        let mut steps = 0u64;
        while !(self.delivered_all() && self.client.is_closed() && self.server.is_closed()) {
            let next = self.queue.next_time().unwrap_or(SimTime::NEVER);
            let deadline = self.client.next_deadline().min(self.server.next_deadline());
            if next.min(deadline) > end || next.min(deadline).is_never() {
                break;
            }
            if deadline < next {
                // Moves the clock.
                self.queue.push(deadline.max(self.now()), Event::Wake);
            }
            steps += 1;
            assert!(
                steps < 300_000,
                "live-lock at {}: {:?} {:?}",
                self.now(),
                self.client.gauges(0),
                self.server
            );
            let (now, event) = self.queue.pop().expect("an event was found");
            self.handle(now, event);
            self.settle();
            self.note_state();
            self.check_windows();
        }
        self.delivered_all()
    }

    fn handle(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Arrival(way, slot) => {
                let packet = self.flying[slot].take().expect("a packet arrives once");
                self.free.push(slot);
                self.sent_and_arrived[1] += 1;
                match way {
                    Way::Up => self.server.on_packet(now, &packet),
                    Way::Down => {
                        self.client.on_packet(now, &packet);
                        self.note("recv", &packet);
                    }
                }
            }
            Event::Act(n) => {
                let (way, act) = self.acts[n];
                let end = if way == Way::Up { &mut self.client } else { &mut self.server };
                match act {
                    Act::Leave(address) => end.remove_address(now, address),
                    Act::Join(address) => end.add_address(address),
                    Act::Backup(address, backup) => end.set_backup(address, backup),
                }
            }
            Event::Read => {
                if let Reading::Slowly(bytes, every) = self.reading {
                    let (_, reader) = self.ends();
                    reader.read(now, bytes.min(reader.readable()));
                    self.queue.push(now + every, Event::Read);
                }
            }
            Event::Wake => {
                if self.client.next_deadline() <= now {
                    let before: u64 = self.timeouts();
                    self.client.on_timeout(now);
                    if self.timeouts() > before {
                        self.note("timeout", &Packet::default());
                    }
                }
                if self.server.next_deadline() <= now {
                    self.server.on_timeout(now);
                }
            }
        }
    }

    fn timeouts(&self) -> u64 {
        (0..self.client.subflow_count()).map(|i| self.client.stats(i).timeouts).sum()
    }

    /// Applications act and both ends send until nobody has anything to do at this instant.
    fn settle(&mut self) {
        let now = self.now();
        for round in 0.. {
            assert!(round < 100_000, "live-lock at {now}: {:?}", self.client.gauges(0));
            let mut quiet = true;
            quiet &= !self.write();
            if self.reading == Reading::AtOnce && self.receiver().readable() > Bytes::ZERO {
                let (_, reader) = self.ends();
                reader.read(now, reader.readable());
                self.delivered_at = now;
            }
            while let Some(packet) = self.client.poll_transmit(now) {
                self.send(Way::Up, packet);
                quiet = false;
            }
            while let Some(packet) = self.server.poll_transmit(now) {
                self.send(Way::Down, packet);
                quiet = false;
            }
            self.max_out_of_order = self.max_out_of_order.max(self.receiver().out_of_order());
            if quiet {
                break;
            }
        }
    }

    /// The sending application writes what it may. True if it wrote.
    fn write(&mut self) -> bool {
        let (total, page, written) = (self.total, self.page, self.written);
        let (writer, _) = self.ends();
        let wanted = if writer.acked() >= page { total } else { page };
        let write = writer.send_space().min(Bytes(wanted.0 - written.0));
        if write > Bytes::ZERO {
            writer.write(write);
        }
        if written + write == total {
            writer.close();
        }
        self.written = written + write;
        write > Bytes::ZERO
    }

    fn check_windows(&self) {
        for end in [&self.client, &self.server] {
            for gauges in (0..end.subflow_count()).filter_map(|i| end.gauges(i)) {
                let recovering = gauges.state == SenderState::Recovery;
                assert!(recovering || gauges.cwnd >= self.least_window, "at {}: {gauges:?}", self.now());
                assert!(gauges.ssthresh >= self.least_window, "at {}: {gauges:?}", self.now());
                assert!(gauges.cwnd < Bytes(1 << 40), "at {}: {gauges:?}", self.now());
            }
        }
    }

    fn wire_of(&self, way: Way, packet: &Packet) -> usize {
        let pair: AddressPair = match way {
            Way::Up => self.client.address_pair(packet.path),
            Way::Down => self.server.address_pair(packet.path),
        };
        usize::from(pair.local.unwrap_or(0))
    }

    fn send(&mut self, way: Way, mut packet: Packet) {
        let now = self.now();
        let wire = self.wire_of(way, &packet);
        let direction = usize::from(way == Way::Down);
        let n = self.counts[wire][direction];
        self.counts[wire][direction] += 1;
        self.sent_and_arrived[0] += 1;
        self.wire_bytes[direction] += packet.size.0;
        if way == Way::Up {
            self.data_segments[wire] += u64::from(packet.payload > 0);
            self.note(if packet.retransmission { "resend" } else { "send" }, &packet);
        }
        if strips(&self.faults, wire, way, n, packet.is_syn()) {
            packet.body.strip_multipath();
        }
        let start = now.max(self.busy_until[wire][direction]);
        let model = self.wires[wire];
        let departure = start + model.rate.map_or(Nanos::ZERO, |rate| rate.time_to_send(packet.size));
        self.busy_until[wire][direction] = departure;
        let draw = self.noise.below(1_000_000) as u32;
        let fate = fate(&self.faults, wire, way, n, now, draw);
        if fate.copies == 0 && way == Way::Up {
            self.note("  lost", &packet);
        }
        for copy in 0..fate.copies {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.flying.push(None);
                self.flying.len() - 1
            });
            self.flying[slot] = Some(packet);
            let extra = fate.late + Nanos::from_millis(u64::from(copy));
            self.queue.push(departure + model.delay + extra, Event::Arrival(way, slot));
        }
    }

    fn note(&mut self, event: &str, packet: &Packet) {
        let Some(log) = self.log.as_mut() else { return };
        let Some(gauges) = self.client.gauges(packet.path.index()) else { return };
        let Some(segment) = packet.segment() else { return };
        let mut notes = String::new();
        for block in segment.sack.as_slice() {
            let _ = write!(notes, " sack {}..{}", block.start, block.end);
        }
        if let MptcpOption::Dss(dss) = segment.mptcp {
            if let Some(dsn) = dss.dsn {
                let _ = write!(notes, " {} {dsn}", if dss.data_fin { "data_fin" } else { "dsn" });
            }
            if let Some(data_ack) = dss.data_ack {
                let _ = write!(notes, " data_ack {data_ack}");
            }
        }
        let ssthresh =
            if gauges.ssthresh == Bytes::MAX { "inf".into() } else { gauges.ssthresh.0.to_string() };
        let _ = writeln!(
            log,
            "{:>8}  {:>3} {:<8} {:>6}..{:<6} {:>6} {:>8} {:>8} {:>7} {}{}",
            self.queue.now().0 / 1_000_000,
            packet.path.0,
            event,
            segment.seq,
            segment.end(),
            segment.ack,
            gauges.cwnd.0,
            ssthresh,
            gauges.inflight.0,
            gauges.state,
            notes,
        );
    }
}
