//! One end of an association (RFC 9260): no I/O, no clock.
//!
//! May: call its parts in the order that the RFC gives. May not: hold state that belongs to one of them.

mod choice;
mod deadlines;
mod expected;
mod input;
mod limit;
mod output;
mod reader;
mod revoked;

use std::sync::Arc;

use congestion::Setup as CongestionSetup;
use congestion::{CongestionControl, Growth, SsthreshFrom};
use reader::Reader;
use schedulers::Scheduler;
use units::{Bytes, Nanos, SimTime};

use crate::address::AddressPair;
use crate::packet::PathId;
use crate::role::Role;
use crate::sctp::chunk::{AddressList, DATA_HEADER, Init, Promise};
use crate::sctp::config::{Reductions, SctpConfig};
use crate::sctp::fast::FastLane;
use crate::sctp::lifecycle::{Lifecycle, State};
use crate::sctp::outgoing::{Outgoing, UserMessage};
use crate::sctp::outqueue::Outqueue;
use crate::sctp::path::{LossEstimate, Path, PathStats, PathTimer};
use crate::sctp::paths::Paths;
use crate::sctp::placement::Placement;
use crate::sctp::reachability::Reachability;
use crate::sctp::reassembly::Reassembly;
use crate::sctp::reception::{ReceptionMap, SackTimer};
use crate::sctp::tsn::{StreamId, Tag};
use crate::sctp::window::PathWindow;
use crate::setup::NewCongestion;
use crate::stats::{SubflowGauges, SubflowStats};
use crate::tcp::sender::SenderState;

/// SCTP_SWS_SENDER_DEF of FreeBSD: a smaller window is none.
const LEAST_WINDOW: Bytes = Bytes(1420);
/// `sb_lowat` of a send buffer of FreeBSD.
const LOW_WATER: Bytes = Bytes(2048);
/// An IPv6 header without extensions.
const IPV6_HEADER: Bytes = Bytes(40);

/// The parts that an association is made from.
pub struct AssociationSetup {
    /// Settings.
    pub config: Arc<SctpConfig>,
    /// Called once per path.
    pub congestion: NewCongestion,
    /// Chooses the paths of concurrent transfer; `None` without that.
    pub scheduler: Option<Box<dyn Scheduler>>,
    /// Which end this is.
    pub role: Role,
    /// Pairs of addresses, seen from this end: one for each path, the primary path first.
    pub paths: Vec<AddressPair>,
    /// Verification tag of this end; not zero.
    pub tag: Tag,
}

impl std::fmt::Debug for AssociationSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("AssociationSetup");
        debug.field("role", &self.role).field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// Parts of an association that outlive a restart of the peer.
struct Origin {
    role: Role,
    congestion: NewCongestion,
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin").field("role", &self.role).finish_non_exhaustive()
    }
}

/// One end of an association.
#[derive(Debug)]
pub struct Association {
    config: Arc<SctpConfig>,
    origin: Origin,
    life: Lifecycle,
    paths: Paths,
    outgoing: Outgoing,
    outqueue: Outqueue,
    /// The receive window in the last SACK of the peer.
    peer_window: Bytes,
    received: ReceptionMap,
    sack: SackTimer,
    reassembly: Reassembly,
    reader: Reader,
    /// Fast retransmissions that may leave whatever the window is.
    fast: FastLane,
    /// An event has happened since data was sent last.
    opportunity: bool,
    /// Concurrent transfer: which path carries the next chunk.
    placement: Option<Placement>,
}

impl Association {
    /// Waits for `open` (client) or an INIT (server).
    pub fn new(setup: AssociationSetup) -> Self {
        let AssociationSetup { config, congestion, scheduler, role, paths, tag } = setup;
        debug_assert_eq!(scheduler.is_some(), config.cmt.is_some(), "a scheduler for concurrent transfer");
        let own = Init {
            tag,
            window: window_field(config.buffers.receive),
            streams: u16::MAX,
            addresses: AddressList::new(paths.iter().filter_map(|pair| pair.local))
                .over_ipv6(config.packet.ip_header == IPV6_HEADER),
        };
        Self {
            life: Lifecycle::new(own),
            paths: new_paths(&config, &congestion, paths, tag),
            origin: Origin { role, congestion },
            outgoing: Outgoing::default(),
            outqueue: Outqueue::default(),
            peer_window: Bytes::ZERO,
            received: ReceptionMap::default(),
            sack: SackTimer::new(config.sack, config.tick()),
            reassembly: Reassembly::default(),
            reader: Reader::new(&config),
            fast: FastLane::new(config.recovery.fast_retransmit),
            opportunity: true,
            placement: scheduler.map(Placement::new),
            config,
        }
    }

    /// Client: INIT becomes ready.
    pub fn open(&mut self) {
        self.life.open();
    }

    /// Sends a message.
    pub fn send(&mut self, message: UserMessage) {
        if !self.life.is_closing() && !self.life.is_over() {
            self.outgoing.push(message);
            self.fast.on_opportunity();
            self.opportunity = true;
            self.check();
        }
    }

    /// Appends `bytes` of a byte stream: messages on the first stream.
    pub fn write(&mut self, bytes: Bytes) {
        self.write_on(StreamId(0), bytes);
    }

    /// Appends `bytes` of one of the streams, as messages that are ordered or not as the settings say.
    pub fn write_on(&mut self, stream: StreamId, bytes: Bytes) {
        debug_assert!(
            stream.0 < self.config.streams.count,
            "stream {} of {}",
            stream.0,
            self.config.streams.count
        );
        let mut left = bytes;
        while left > Bytes::ZERO {
            let size = left.min(self.config.streams.message);
            self.send(UserMessage { stream, unordered: self.config.streams.unordered, size });
            left -= size;
        }
    }

    /// Size of the user messages that a byte stream is cut into.
    pub fn message_size(&self) -> Bytes {
        self.config.streams.message
    }

    /// No more messages.
    pub fn close(&mut self) {
        self.life.close();
    }

    /// The association is given up.
    pub fn abort(&mut self) {
        self.life.abort("the connection was aborted");
    }

    /// This end closes only when its application does.
    pub fn hold_open(&mut self) {
        self.life.hold_open();
    }

    /// The peer has closed and everything is read.
    pub fn peer_finished(&self) -> bool {
        self.life.peer_finished() && self.reassembly.buffered() == Bytes::ZERO
    }

    /// User data that the send buffer accepts, in whole messages; none before the handshake.
    pub fn send_space(&self) -> Bytes {
        if !self.life.may_write() {
            return Bytes::ZERO;
        }
        let free = self.config.buffers.send.saturating_sub(self.send_buffered());
        let message = self.config.streams.message;
        // A message larger than the buffer waits until that is empty.
        if self.send_buffered() == Bytes::ZERO {
            free.max(message)
        } else {
            let whole = Bytes(free.0 - free.0 % message.0);
            if self.config.recovers_as_freebsd() { whole.min(self.woken_space(free)) } else { whole }
        }
    }

    /// A program that waits for room is woken by 2 kB of it, and writes message by message until there is less (`sowriteable`). Chunks
    /// count with their headers.
    fn woken_space(&self, free: Bytes) -> Bytes {
        let message = self.config.streams.message;
        let headers = DATA_HEADER * (self.outqueue.next().0 - self.outqueue.first().0);
        let spare = free.0.checked_sub(headers.0 + LOW_WATER.0);
        spare.map_or(Bytes::ZERO, |spare| message * (spare / message.0 + 1))
    }

    /// User data written and not cumulatively acknowledged; without what NR-SACKs have acknowledged.
    pub fn send_buffered(&self) -> Bytes {
        let kept = if self.config.promise() == Promise::Kept { self.outqueue.arrived() } else { Bytes::ZERO };
        self.outgoing.bytes() + self.outqueue.bytes() - kept
    }

    /// The part of the window of the peer that nothing in flight uses.
    fn peer_free(&self) -> Bytes {
        let overhead = self.config.buffers.charge() * self.outqueue.chunks_in_flight();
        let free = self.peer_window.saturating_sub(self.outqueue.in_flight() + overhead);
        if self.config.recovers_as_freebsd() && free < LEAST_WINDOW { Bytes::ZERO } else { free }
    }

    /// The same without what planned chunks will use.
    fn peer_unplanned(&self) -> Bytes {
        let planned = self.outqueue.planned();
        self.peer_free().saturating_sub(planned.bytes() + self.config.buffers.charge() * planned.chunks())
    }

    /// User data cumulatively acknowledged.
    pub fn acked(&self) -> Bytes {
        Bytes(self.outgoing.offset().0) - self.outqueue.bytes()
    }

    /// When `on_timeout` is due.
    #[inline(never)]
    pub fn next_deadline(&self) -> SimTime {
        // Paths are asked while data may leave.
        let asks = self.life.may_send();
        let heartbeat = |path: &Path| if asks { path.reach.deadline() } else { SimTime::NEVER };
        let blocked = |path: &Path| {
            if path.blocked_until > SimTime::ZERO { path.blocked_until } else { SimTime::NEVER }
        };
        let of_path = |path: &Path| path.timer.expires().min(heartbeat(path)).min(blocked(path));
        let paths = self.paths.iter().map(of_path).min().unwrap_or(SimTime::NEVER);
        paths.min(self.life.deadline()).min(self.sack.due())
    }

    /// Addresses of a path.
    pub fn address_pair(&self, path: PathId) -> AddressPair {
        let path = if self.paths.contains(path) { path } else { PathId::FIRST };
        self.paths.get(path).pair
    }

    /// The handshake is complete.
    pub fn is_established(&self) -> bool {
        self.life.established_at().is_some()
    }

    /// Both ends know that it is over.
    pub fn is_closed(&self) -> bool {
        self.life.state() == State::Finished
    }

    /// Why it was given up.
    pub fn failure(&self) -> Option<&'static str> {
        match self.life.state() {
            State::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// State (RFC 9260 section 4).
    pub fn state(&self) -> State {
        self.life.state()
    }

    /// Number of paths.
    pub fn path_count(&self) -> usize {
        self.paths.len()
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.origin.role
    }

    /// State of a path.
    pub fn gauges(&self, index: usize) -> Option<SubflowGauges> {
        let path = self.paths.iter().nth(index)?;
        let window = &path.window;
        let state = match self.life.state() {
            State::Closed | State::CookieWait | State::CookieEchoed => SenderState::Handshake,
            State::Finished | State::Failed(_) => SenderState::Closed,
            _ if !path.reach.is_confirmed() => SenderState::Handshake,
            _ if window.in_recovery() => SenderState::Recovery,
            _ if window.has_timed_out() => SenderState::Loss,
            _ if window.in_slow_start() => SenderState::SlowStart,
            _ => SenderState::Avoidance,
        };
        Some(SubflowGauges {
            cwnd: window.cwnd(),
            ssthresh: window.ssthresh(),
            srtt: path.timer.rtt().srtt(),
            rttvar: path.timer.rtt().rttvar(),
            rto: path.timer.rto(),
            inflight: window.flight(),
            state,
            send_window: self.peer_window,
            pacing_rate: None,
            out_of_order: if index == 0 { self.out_of_order() } else { Bytes::ZERO },
        })
    }

    /// Estimates of the congestion control of a path.
    pub fn congestion_gauges(&self, index: usize, report: &mut dyn FnMut(&'static str, f64)) {
        let views = self.paths.views();
        if let Some(path) = self.paths.iter().nth(index) {
            path.window.gauges(congestion::Paths { all: &views, me: index }, report);
        }
    }

    /// Congestion window of a path that data can use.
    pub fn cwnd(&self, index: usize) -> Option<Bytes> {
        let path = self.paths.iter().nth(index)?;
        path.usable_since.map(|_| path.window.cwnd())
    }

    /// Counters of a path.
    pub fn stats(&self, index: usize) -> SubflowStats {
        let Some(path) = self.paths.iter().nth(index) else { return SubflowStats::default() };
        let stats = &path.stats;
        SubflowStats {
            segments_sent: stats.packets_sent,
            segments_retransmitted: stats.packets_retransmitted,
            bytes_sent: stats.bytes_sent.0,
            timeouts: stats.timeouts,
            fast_recoveries: stats.fast_recoveries,
            bytes_received: stats.bytes_received.0,
            segments_received: stats.packets_received,
            duplicates_received: stats.packets_repeated,
            late_received: stats.packets_late,
            reinjected_bytes: stats.moved.0,
            rtt_mean: path.timer.rtt().mean(),
            established_at: path.usable_since,
            beyond_window_received: 0,
            overflow_received: 0,
        }
    }

    /// `sctp_handle_cookie_ack`, `sctp_process_cookie_new`: the cookie gives either end a round trip.
    fn sample_handshake(&mut self, now: SimTime, path: PathId, sample: Option<Nanos>) {
        if let Some(sample) = sample.filter(|_| self.config.recovers_as_freebsd()) {
            self.paths.get_mut(path).timer.sample(now, sample);
        }
    }

    /// The handshake is complete: paths can be tried, and what the peer has told holds.
    fn establish(&mut self, now: SimTime, sample: Option<Nanos>) {
        let Some(peer) = self.life.peer() else { return };
        self.peer_window = Bytes(u64::from(peer.window));
        self.paths.get_mut(PathId::FIRST).usable_since.get_or_insert(now);
        if self.config.window.initial_ssthresh.is_none() {
            let window = self.peer_window;
            self.paths.iter_mut().for_each(|path| path.window.limit_slow_start(window));
        }
        for path in self.paths.iter_mut() {
            let rto = path.timer.rto();
            path.reach.start(now, rto);
            if path.reach.is_confirmed() {
                path.usable_since.get_or_insert(now);
            }
        }
        self.paths.get_mut(PathId::FIRST).window.on_established(now, sample);
        self.opportunity = true;
    }

    /// The peer has restarted: everything but settings and counters of packets begins anew, and messages on their way are lost.
    fn restart(&mut self, now: SimTime) {
        let pairs = self.paths.iter().map(|path| path.pair).collect();
        let mut paths = new_paths(&self.config, &self.origin.congestion, pairs, self.life.tag());
        for (path, before) in paths.iter_mut().zip(self.paths.iter()) {
            path.stats = before.stats;
        }
        self.paths = paths;
        (self.outgoing, self.outqueue) = (Outgoing::default(), Outqueue::default());
        (self.received, self.reassembly) = (ReceptionMap::default(), Reassembly::default());
        self.sack = SackTimer::new(self.config.sack, self.config.tick());
        self.reader = Reader::new(&self.config);
        self.fast = FastLane::new(self.config.recovery.fast_retransmit);
        self.establish(now, None);
        self.check();
    }

    /// How often the peer has restarted (RFC 9260 section 5.2.4): then messages that were not delivered are lost, and counters of data begin anew.
    pub fn restarts(&self) -> u32 {
        self.life.restarts()
    }

    fn check(&self) {
        if cfg!(debug_assertions) {
            debug_assert_eq!(
                self.outgoing.offset().0 - self.outqueue.bytes().0,
                self.acked().0,
                "what is neither waiting nor outstanding is acknowledged"
            );
            let flight: Bytes = self.paths.iter().map(|path| path.window.flight()).sum();
            debug_assert_eq!(
                flight == Bytes::ZERO,
                self.outqueue.in_flight() == Bytes::ZERO,
                "flight of the paths and of the queue"
            );
            debug_assert!(self.outqueue.in_flight() <= flight, "windows count headers too");
            let freebsd = self.config.recovers_as_freebsd();
            for path in self.paths.iter() {
                debug_assert!(
                    path.window.flight() == Bytes::ZERO
                        || !path.timer.expires().is_never()
                        || self.life.is_over()
                        || freebsd,
                    "data in flight that no timer guards"
                );
            }
        }
    }
}

/// Paths of which nothing is known yet.
fn new_paths(config: &SctpConfig, congestion: &NewCongestion, paths: Vec<AddressPair>, tag: Tag) -> Paths {
    let chunk = config.largest_chunk();
    let control = CongestionSetup {
        mss: chunk,
        initial_window: config.initial_window(),
        initial_ssthresh: config.window.initial_ssthresh.unwrap_or(Bytes::MAX),
        growth: Growth { slow_start_limit: 1, byte_counting: true },
        ssthresh_from: SsthreshFrom::Cwnd,
        paced: false,
        offload: false,
    };
    let count = paths.len();
    let path = |(index, pair): (usize, AddressPair)| Path {
        pair,
        window: PathWindow::new(
            new_congestion(congestion, &control, (index, count)),
            (chunk, config.burst_unit()),
            (config.cmt.map_or(Reductions::Once, |cmt| cmt.reductions), config.recovers_as_freebsd()),
        ),
        timer: PathTimer::new(config.recovery.rto, config.recovers_as_freebsd()),
        reach: Reachability::new(
            config.heartbeat,
            config.recovery.limits.path,
            index == 0,
            u64::from(tag.0) ^ (index as u64) << 32,
        ),
        stats: PathStats::default(),
        losses: LossEstimate::default(),
        expected: Default::default(),
        blocked_until: SimTime::ZERO,
        last_sent: None,
        usable_since: None,
    };
    let list = paths.into_iter().enumerate().map(path).collect();
    Paths::new(list, chunk, u64::from(tag.0))
}

/// The congestion control of one of `paths`, some of which share the initial window.
fn new_congestion(
    make: &NewCongestion,
    setup: &CongestionSetup,
    (index, paths): (usize, usize),
) -> Box<dyn CongestionControl> {
    let control = make(setup);
    let divisor = control.needs().initial_share.divisor(index, paths);
    if divisor == 1 {
        return control;
    }
    let initial_window = Bytes(setup.initial_window.0 / divisor).max(setup.mss);
    make(&CongestionSetup { initial_window, ..setup.clone() })
}

/// A receive buffer as the 32 bits of a chunk tell it.
fn window_field(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}
