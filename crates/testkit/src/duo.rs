//! Two connections joined by wires with delay, rate and faults: the smallest world in which a transport lives.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use engine::EventQueue;
use transport::config::{MptcpConfig, TcpConfig};
use transport::packet::Packet;
use transport::sctp::SctpConfig;
use transport::{AddressPair, Connection, Limit, SenderState};
use units::{Bytes, SimTime};

use crate::bytes::ByteCheck;
use crate::faults::{Fault, Way};
use crate::log::Log;
use crate::transfer::{Reading, Transfer};
use crate::wires::{Wire, Wires};

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

/// Counters of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Payload segments sent per wire by the client.
    pub data_segments: Vec<u64>,
    /// When the last byte was delivered.
    pub delivered_at: SimTime,
    /// Largest number of out-of-order bytes seen at the receiver.
    pub max_out_of_order: Bytes,
    /// Segments put on the wires, lost ones included, and segments that arrived.
    pub sent_and_arrived: [u64; 2],
    /// Bytes put on the wires by the client and by the server.
    pub wire_bytes: [u64; 2],
}

/// The world. The client sends a number of bytes to the server, or in a download the server to the client.
#[derive(Debug)]
pub struct Duo {
    /// Opens and sends.
    pub client: Connection,
    /// Accepts and receives.
    pub server: Connection,
    /// Counters of this run.
    pub seen: Seen,
    wires: Wires,
    /// At which end what happens.
    acts: Vec<(Way, Act)>,
    queue: EventQueue<Event>,
    transfer: Transfer,
    /// No congestion window may ever be smaller, except during fast recovery.
    least_window: Bytes,
    log: Log,
    /// A hash of the state of both ends after each event, if asked for.
    states: Option<Vec<u64>>,
    /// Looks at the bytes of each packet, if asked for.
    bytes: Option<ByteCheck>,
}

impl Duo {
    /// A world at time zero; the client opens when `run` is called.
    pub fn new(client: Connection, server: Connection, wires: Vec<Wire>, total: Bytes) -> Self {
        Self {
            client,
            server,
            seen: Seen { data_segments: vec![0; wires.len()], ..Seen::default() },
            wires: Wires::new(wires),
            acts: Vec::new(),
            queue: EventQueue::new(),
            transfer: Transfer::new(total),
            least_window: Bytes(1),
            log: Log::default(),
            states: None,
            bytes: None,
        }
    }

    /// With these faults, and this seed for the noise among them.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>, seed: u64) -> Self {
        self.wires.set_faults(faults, seed);
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
        self.transfer.reading = reading;
        self
    }

    /// With an application that writes the rest only when the first `page` bytes are acknowledged.
    #[must_use]
    pub fn with_page(mut self, page: Bytes) -> Self {
        self.transfer.set_page(page);
        self
    }

    /// With data from the server to the client.
    #[must_use]
    pub fn download(mut self) -> Self {
        self.transfer.way = Way::Down;
        self
    }

    /// Checks at every step that congestion windows and thresholds are at least `mss`.
    #[must_use]
    pub fn watching(mut self, mss: Bytes) -> Self {
        self.least_window = mss;
        self
    }

    /// Keeps a readable trace of what the client sends and receives.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log.start();
        self
    }

    /// Keeps a hash of the whole state of both ends after each event.
    #[must_use]
    pub fn with_states(mut self) -> Self {
        self.states = Some(Vec::new());
        self
    }

    /// The same for associations.
    #[must_use]
    pub fn with_chunks(mut self, config: &SctpConfig) -> Self {
        self.bytes = Some(ByteCheck::associations(config));
        self
    }

    /// Checks that the bytes of each packet are as long as the packet and mean it. Both ends have this configuration.
    #[must_use]
    pub fn with_bytes(mut self, tcp: &TcpConfig, mptcp: Option<&MptcpConfig>) -> Self {
        self.bytes = Some(ByteCheck::new(tcp, mptcp));
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
        self.log.text()
    }

    /// The clock.
    pub fn now(&self) -> SimTime {
        self.queue.now()
    }

    /// The end that receives the data.
    pub fn receiver(&self) -> &Connection {
        if self.transfer.way == Way::Up { &self.server } else { &self.client }
    }

    fn end_mut(&mut self, sends: Way) -> &mut Connection {
        if sends == Way::Up { &mut self.client } else { &mut self.server }
    }

    /// Everything sent has been delivered and read.
    pub fn delivered_all(&self) -> bool {
        self.receiver().delivered() == self.transfer.total()
    }

    /// Runs until everything is delivered and both ends are closed, until `end`, or until nothing can happen any
    /// more. Returns true if everything was delivered.
    pub fn run(&mut self, end: SimTime) -> bool {
        self.client.open();
        if let Reading::Slowly(_, every) = self.transfer.reading {
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
            self.check();
        }
        self.delivered_all()
    }

    fn handle(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Arrival(way, slot) => {
                let packet = self.wires.take(slot);
                self.seen.sent_and_arrived[1] += 1;
                self.end_mut(way.other()).on_packet(now, &packet);
                if way == Way::Down {
                    self.log.note(now, "recv", &packet, &self.client);
                }
            }
            Event::Act(n) => {
                let (way, act) = self.acts[n];
                let end = self.end_mut(way);
                match act {
                    Act::Leave(address) => end.remove_address(now, address),
                    Act::Join(address) => end.add_address(address),
                    Act::Backup(address, backup) => end.set_backup(address, backup),
                }
            }
            Event::Read => {
                if let Reading::Slowly(bytes, every) = self.transfer.reading {
                    let reader = self.end_mut(self.transfer.way.other());
                    reader.read(now, bytes.min(reader.readable()));
                    self.queue.push(now + every, Event::Read);
                }
            }
            Event::Wake => {
                if self.client.next_deadline() <= now {
                    let before = self.timeouts();
                    self.client.on_timeout(now);
                    if self.timeouts() > before {
                        self.log.note(now, "timeout", &Packet::default(), &self.client);
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

    /// Applications act and both ends send until neither has anything to do at this instant.
    fn settle(&mut self) {
        let now = self.now();
        for round in 0.. {
            assert!(round < 100_000, "live-lock at {now}: {:?}", self.client.gauges(0));
            let (writer, reader) = match self.transfer.way {
                Way::Up => (&mut self.client, &mut self.server),
                Way::Down => (&mut self.server, &mut self.client),
            };
            let mut quiet = !self.transfer.write(writer);
            if self.transfer.read_at_once(now, reader) {
                self.seen.delivered_at = now;
            }
            for way in [Way::Up, Way::Down] {
                while let Some(packet) = self.next_packet(now, way) {
                    self.send(way, packet);
                    quiet = false;
                }
            }
            self.seen.max_out_of_order = self.seen.max_out_of_order.max(self.receiver().out_of_order());
            if quiet {
                break;
            }
        }
    }

    /// The next packet of one end.
    ///
    /// # Panics
    /// If states are kept, and to ask again after the last packet changes the connection.
    fn next_packet(&mut self, now: SimTime, way: Way) -> Option<Packet> {
        let watched = self.states.is_some();
        let end = self.end_mut(way);
        let mut packet = Packet::default();
        let departure = end.poll_transmit_into(now, &mut packet);
        if departure.is_last() && watched {
            if departure.is_filled() {
                let of_subflow = end.subflow_limit(packet.path.index(), true);
                assert_eq!(of_subflow, Limit::CongestionWindow, "of subflow {}", packet.path);
                let none_or_that = end.limit(true).is_none_or(|limit| limit == of_subflow);
                assert!(none_or_that, "{:?}", end.limit(true));
            }
            let before = format!("{end:?}");
            assert_eq!(end.poll_transmit(now), None, "a packet after the last");
            assert_eq!(format!("{end:?}"), before, "nothing was sent, and the connection has changed");
        }
        departure.is_packet().then_some(packet)
    }

    fn send(&mut self, way: Way, packet: Packet) {
        let now = self.now();
        let pair: AddressPair = self.end_mut(way).address_pair(packet.path);
        let wire = usize::from(pair.local.unwrap_or(0));
        if let Some(bytes) = &mut self.bytes {
            let pair = if way == Way::Up { pair } else { pair.reversed() };
            bytes.packet(way, pair, &packet);
        }
        self.seen.sent_and_arrived[0] += 1;
        self.seen.wire_bytes[way.index()] += packet.size.0;
        if way == Way::Up {
            self.seen.data_segments[wire] += u64::from(packet.payload > 0);
            let event = if packet.retransmission { "resend" } else { "send" };
            self.log.note(now, event, &packet, &self.client);
        }
        let arrivals = self.wires.send(now, wire, way, packet);
        if arrivals.is_empty() && way == Way::Up {
            self.log.note(now, "  lost", &packet, &self.client);
        }
        for (at, slot) in arrivals {
            self.queue.push(at, Event::Arrival(way, slot));
        }
    }

    fn check(&self) {
        for end in [&self.client, &self.server] {
            for gauges in (0..end.subflow_count()).filter_map(|i| end.gauges(i)) {
                let recovering = gauges.state == SenderState::Recovery;
                assert!(recovering || gauges.cwnd >= self.least_window, "at {}: {gauges:?}", self.now());
                assert!(gauges.ssthresh >= self.least_window, "at {}: {gauges:?}", self.now());
                assert!(gauges.cwnd < Bytes(1 << 40), "at {}: {gauges:?}", self.now());
            }
        }
        assert!(self.receiver().delivered() <= self.transfer.total(), "more delivered than sent");
        debug_assert_eq!(self.seen.data_segments.len(), self.wires.len(), "a counter for each wire");
        debug_assert!(self.seen.delivered_at <= self.now(), "delivered in the future");
    }
}
