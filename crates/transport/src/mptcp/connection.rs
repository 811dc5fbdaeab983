//! The state of one end of an MPTCP connection, and what applications see of it.

use std::sync::Arc;

use congestion::{PathView, Paths};
use schedulers::{Needs, Scheduler, SubflowView};
use units::{Bytes, Nanos, SimTime};

use super::deadlines::Deadlines;
use super::handshake::{Announcement, Reply};
use super::keys::{Key, Nonce};
use super::meta_timer::MetaTimer;
use super::path_manager::AddressBook;
use super::receive_side::ReceiveSide;
use super::schedule::Head;
use super::send_side::{DataFin, SendSide};
use super::signals::{FastClose, Signal};
use super::subflow::{Join, Subflow};
use crate::address::AddressPair;
use crate::config::{MptcpConfig, PathManager, Reassembly, SendBuffer, TcpConfig};
use crate::role::Role;
use crate::segment::SubflowId;
use crate::setup::{NewCongestion, Setup, new_congestion};
use crate::tcp::buffers::{
    AdvertisedWindow, ExpandedBuffer, ReceiveBuffer, send_buffer, send_buffer_for, send_space,
};
use crate::tcp::endpoint::Endpoint;
use crate::tcp::sender::Sender;
use crate::wire_size::{mapping_size, sack_room};

/// What the two ends have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The handshake is under way.
    Negotiating,
    /// MPTCP.
    Multipath,
    /// Plain TCP on the first subflow: sequence numbers are data sequence numbers.
    Fallback,
}

/// One end of an MPTCP connection.
#[derive(Debug)]
pub struct MptcpConnection {
    pub(super) tcp: Arc<TcpConfig>,
    pub(super) config: Arc<MptcpConfig>,
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) needs: Needs,
    pub(super) new_congestion: Congestion,
    pub(super) role: Role,
    /// Addresses of the first subflow.
    pub(super) first: AddressPair,
    pub(super) mode: Mode,
    /// The peer has shown that it holds both keys: joins are allowed (RFC 8684 section 3.1).
    pub(super) fully_established: bool,
    pub(super) own_key: Key,
    pub(super) peer_key: Key,
    pub(super) nonce_seed: u64,
    pub(super) mss: Bytes,
    pub(super) sack_blocks: [usize; 2],
    /// By subflow index; `None` where the peer has used an index that has not reached this end.
    pub(super) subflows: Vec<Option<Subflow>>,
    /// The same subflows as the scheduler and as the congestion controls see them; those whose bit is set in
    /// `stale_views` and `stale_paths` are brought up to date before anyone looks.
    pub(super) views: Vec<SubflowView>,
    pub(super) paths: Vec<PathView>,
    pub(super) stale_views: u64,
    pub(super) stale_paths: u64,
    pub(super) deadlines: Deadlines,
    /// Bit i: subflow i is usable and has room for a full segment; brought up to date in the same way.
    pub(super) room: u64,
    pub(super) stale_room: u64,
    /// Bit i: subflow i may have something to send of its own (handshake, repairs, acknowledgements).
    pub(super) busy: u64,
    pub(super) book: AddressBook,
    /// Addresses of this end to be announced, and those of the peer to be echoed.
    pub(super) announcements: Vec<Announcement>,
    /// Signals that leave once, in ACKs of their own.
    pub(super) signals: Vec<Signal>,
    /// Answers to SYNs of subflows that do not exist.
    pub(super) replies: Vec<Reply>,
    /// How the application has aborted the connection.
    pub(super) fast_close: Option<FastClose>,
    pub(super) send: SendSide,
    pub(super) meta: MetaTimer,
    pub(super) head: Head,
    /// A subflow has been acknowledged something since the scheduler last thought about its queue.
    pub(super) acked_since: bool,
    pub(super) receive: ReceiveSide,
    /// Bytes out of order on the subflows, all together.
    pub(super) held_by_subflows: u64,
    pub(super) buffer: ReceiveBuffer,
    pub(super) expanded: ExpandedBuffer,
    pub(super) window: AdvertisedWindow,
    /// All subflows are gone since; after a while the connection is given up (choice D-43).
    pub(super) alone_since: SimTime,
    pub(super) failure: Option<&'static str>,
    held_open: bool,
}

/// Wrapper that can be printed.
pub(super) struct Congestion(pub NewCongestion);

impl std::fmt::Debug for Congestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Congestion")
    }
}

/// How long a connection survives without any subflow (choice D-43).
const BREAK_BEFORE_MAKE: Nanos = Nanos::from_secs(60);

impl MptcpConnection {
    /// A client that waits for `open`, or a server that waits for a SYN.
    ///
    /// # Panics
    /// If `setup` has no MPTCP part.
    pub fn new(setup: Setup) -> Self {
        let (config, scheduler) = setup.mptcp.expect("an MPTCP connection needs MPTCP parameters");
        // The DSS option comes out of the segment, so that packets keep the size they have with TCP (RFC 6691).
        let mss = Bytes(setup.tcp.mss.0.saturating_sub(mapping_size(&config)).max(1));
        let needs_address =
            !matches!(config.path_manager, PathManager::Passive | PathManager::NdiffPorts { .. });
        let first = match setup.pairs.first() {
            Some(pair) if needs_address && setup.first.local.is_none() => *pair,
            _ => setup.first,
        };
        let book = AddressBook::new((setup.pairs, setup.own), setup.absent, &config.path_manager);
        let mut connection = Self {
            sack_blocks: sack_room(&setup.tcp, Some(&config)),
            buffer: ReceiveBuffer::new(&setup.tcp),
            expanded: ExpandedBuffer::default(),
            tcp: setup.tcp,
            config,
            needs: scheduler.needs(),
            scheduler,
            new_congestion: Congestion(setup.congestion),
            role: setup.role,
            first,
            mode: Mode::Negotiating,
            fully_established: false,
            own_key: setup.key,
            peer_key: Key::default(),
            nonce_seed: setup.nonce_seed,
            mss,
            subflows: Vec::new(),
            views: Vec::new(),
            paths: Vec::new(),
            stale_views: 0,
            stale_paths: 0,
            deadlines: Deadlines::default(),
            room: 0,
            stale_room: 0,
            busy: 0,
            book,
            announcements: Vec::new(),
            signals: Vec::new(),
            replies: Vec::new(),
            fast_close: None,
            send: SendSide::new(),
            meta: MetaTimer::default(),
            head: Head::default(),
            acked_since: false,
            receive: ReceiveSide::new(),
            held_by_subflows: 0,
            window: AdvertisedWindow::default(),
            alone_since: SimTime::NEVER,
            failure: None,
            held_open: false,
        };
        connection.add_subflow(0, first, Join::First);
        connection
    }

    pub(super) fn add_subflow(&mut self, id: SubflowId, pair: AddressPair, join: Join) {
        let congestion = new_congestion(&self.tcp, &self.new_congestion.0, self.mss);
        let mut endpoint = Endpoint::new(Arc::clone(&self.tcp), id, self.mss, congestion, true);
        if self.config.reassembly == Reassembly::Joint {
            endpoint.receiver_mut().hold_back();
        }
        let i = usize::from(id);
        while self.subflows.len() <= i {
            self.subflows.push(None);
            self.views.push(SubflowView::default());
            self.paths.push(PathView::default());
        }
        self.subflows[i] = Some(Subflow::new(pair, endpoint, join));
        self.touch(i);
    }

    /// Something happened to subflow `i`: its views are out of date, its deadline may have moved.
    pub(super) fn touch(&mut self, i: usize) {
        self.stale_views |= 1 << i;
        self.stale_paths |= 1 << i;
        self.deadlines.touch(i);
        self.stale_room |= 1 << i;
    }

    /// Brings what the scheduler sees up to date.
    pub(super) fn freshen_views(&mut self) {
        if self.stale_views == 0 {
            return;
        }
        let needs = self.needs.look_further().then_some(self.needs);
        let quantum = self.send.quantum(self.mss.0);
        for i in take_bits(&mut self.stale_views) {
            if let Some(subflow) = &self.subflows[i] {
                subflow.show(&mut self.views[i], quantum, needs);
                self.views[i].send_buffer = match self.tcp.send_buffer {
                    SendBuffer::Expand { .. } => send_buffer(&self.tcp, || 0, subflow.expanded),
                    SendBuffer::Fixed(_) | SendBuffer::Auto { .. } => send_buffer_for(self.views[i].cwnd),
                };
            }
        }
    }

    /// Brings what the congestion controls see up to date.
    pub(super) fn freshen_paths(&mut self) {
        for i in take_bits(&mut self.stale_paths) {
            if let Some(subflow) = &self.subflows[i] {
                self.paths[i] = subflow.endpoint.path_view(!subflow.potentially_failed);
            }
        }
    }

    /// What the congestion controls would see now; for those who only look.
    pub fn path_views(&self) -> Vec<PathView> {
        let view = |s: &Option<Subflow>| {
            s.as_ref().map_or(PathView::default(), |s| s.endpoint.path_view(!s.potentially_failed))
        };
        self.subflows.iter().map(view).collect()
    }

    pub(super) fn subflow(&mut self, i: usize) -> Option<&mut Subflow> {
        self.subflows.get_mut(i).and_then(Option::as_mut)
    }

    /// The subflow and what its congestion control may see, borrowed side by side.
    pub(super) fn subflow_and_paths(&mut self, i: usize) -> Option<(&mut Subflow, Paths<'_>)> {
        let subflow = self.subflows.get_mut(i).and_then(Option::as_mut)?;
        Some((subflow, Paths { all: &self.paths, me: i }))
    }

    /// Deterministic random number for the n-th use by this end.
    pub(super) fn nonce(&self, n: usize) -> Nonce {
        // SplitMix64's finaliser: any function that mixes well will do, nobody attacks a simulation.
        let mut x = self.nonce_seed.wrapping_add((n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Nonce((x >> 32) as u32)
    }

    /// Active open of the first subflow.
    pub fn open(&mut self) {
        if let Some(first) = self.subflow(0) {
            first.endpoint.open();
        }
        self.busy |= 1;
    }

    /// The application appends to the stream.
    pub fn write(&mut self, bytes: u64) {
        self.send.written += bytes;
    }

    /// No more data.
    pub fn close(&mut self) {
        if self.send.fin == DataFin::Open {
            self.send.fin = DataFin::Wanted;
        }
    }

    /// Free bytes of the send buffer, which is sized by the sum of the congestion windows.
    pub fn send_space(&self) -> Bytes {
        if !self.is_established() || self.failure.is_some() {
            return Bytes::ZERO;
        }
        let senders = || self.subflows.iter().flatten().filter(|s| s.may_send()).map(|s| s.endpoint.sender());
        let size = send_buffer(&self.tcp, || senders().map(Sender::controlled_cwnd).sum(), self.expanded);
        let unsent = || self.send.written - self.send.next + senders().map(Sender::unsent).sum::<u64>();
        send_space(&self.tcp, size, self.send.written - self.send.una, unsent)
    }

    /// The application waits for room for a segment.
    pub(super) fn is_blocked(&self) -> bool {
        let expands = matches!(self.tcp.send_buffer, SendBuffer::Expand { .. });
        expands && self.is_established() && self.send_space() < self.mss
    }

    /// The application waits, and subflow `i` has been acknowledged something.
    pub(super) fn expand_send_buffer(&mut self, i: usize) {
        let Self { subflows, expanded, tcp, .. } = self;
        let Some(subflow) = subflows[i].as_mut() else { return };
        let cwnd = subflow.endpoint.sender().controlled_cwnd();
        subflow.expanded.expand(tcp, cwnd);
        expanded.expand(tcp, cwnd);
    }

    /// In-order bytes not read.
    pub fn readable(&self) -> u64 {
        self.receive.delivered() - self.receive.read
    }

    /// The application takes bytes out of the receive buffer.
    pub fn read(&mut self, now: SimTime, bytes: u64) {
        debug_assert!(bytes <= self.readable());
        self.receive.read += bytes;
        let slowest = || self.subflows.iter().flatten().filter_map(|s| s.endpoint.receive_rtt()).max();
        self.buffer.on_read(now, bytes, slowest);
        if self.window.deserves_update(&self.tcp, self.receive.next, self.free(), self.buffer.size()) {
            self.acknowledge_everywhere();
        }
        self.follow_the_peer();
    }

    /// The window has opened: every subflow's sender must learn it.
    fn acknowledge_everywhere(&mut self) {
        for i in 0..self.subflows.len() {
            let Some(subflow) = self.subflow(i).filter(|s| s.may_send()) else { continue };
            subflow.endpoint.acknowledge_now();
            self.busy |= 1 << i;
            self.touch(i);
        }
    }

    /// This end closes only when told to.
    pub fn hold_open(&mut self) {
        self.held_open = true;
    }

    /// The peer has closed and everything is read.
    pub fn peer_finished(&self) -> bool {
        self.receive.finished() && self.readable() == 0
    }

    /// When the peer has finished and everything is read, this end finishes too, unless it is held open.
    pub(super) fn follow_the_peer(&mut self) {
        if !self.held_open && self.peer_finished() {
            self.close();
        }
    }

    /// Free bytes of the receive buffer: connection and subflows together hold the rest.
    pub(super) fn free(&self) -> u64 {
        let held = self.readable() + self.receive.out_of_order() + self.held_by_subflows;
        self.buffer.size().saturating_sub(held)
    }

    /// Window that it would advertise.
    pub fn receive_window(&self) -> Bytes {
        self.window.peek(&self.tcp, self.receive.next, self.free())
    }

    /// The next deadline.
    pub fn next_deadline(&mut self) -> SimTime {
        let subflows = self.deadlines.first(&self.subflows);
        self.earliest(subflows)
    }

    /// No deadline is earlier; exact after `next_deadline`.
    pub fn wake_at(&mut self) -> SimTime {
        let subflows = self.deadlines.bound(&self.subflows);
        self.earliest(subflows)
    }

    /// The next deadline, if that of the subflows is this.
    #[inline]
    fn earliest(&self, subflows: SimTime) -> SimTime {
        if self.failure.is_some() {
            return self.fast_close.map_or(SimTime::NEVER, |close| close.resend_at);
        }
        let fin = match self.send.fin {
            DataFin::Sent(resend_at) => resend_at,
            _ => SimTime::NEVER,
        };
        let alone =
            if self.alone_since.is_never() { SimTime::NEVER } else { self.alone_since + BREAK_BEFORE_MAKE };
        let mut next = fin.min(self.send.persist_at).min(alone).min(self.meta.at);
        for announcement in &self.announcements {
            next = next.min(announcement.resend_at);
        }
        next.min(subflows)
    }

    /// When the connection without subflows is given up.
    pub(super) fn given_up(&self, now: SimTime) -> bool {
        !self.alone_since.is_never() && self.alone_since + BREAK_BEFORE_MAKE <= now
    }

    /// True once the first handshake is complete.
    pub fn is_established(&self) -> bool {
        self.subflows.iter().flatten().any(|s| s.endpoint.established_at().is_some())
    }

    /// Both directions are finished and acknowledged.
    pub fn is_closed(&self) -> bool {
        let sent = match self.mode {
            Mode::Fallback => self.subflows[0].as_ref().is_some_and(|s| s.endpoint.sender().finished()),
            Mode::Negotiating | Mode::Multipath => self.send.finished(),
        };
        sent && self.receive.finished()
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&'static str> {
        self.failure
    }

    /// The connection is plain TCP.
    pub fn fell_back(&self) -> bool {
        self.mode == Mode::Fallback
    }

    /// In-order bytes so far.
    pub fn delivered(&self) -> u64 {
        self.receive.delivered()
    }

    /// Bytes acknowledged at connection level.
    pub fn acked(&self) -> u64 {
        self.send.una - 1
    }

    /// Bytes held because of gaps: at connection level, and on subflows that are out of order themselves.
    pub fn out_of_order(&self) -> u64 {
        self.receive.out_of_order() + self.held_by_subflows
    }

    /// The part of `out_of_order` at connection level.
    pub fn waiting_for_others(&self) -> u64 {
        self.receive.out_of_order()
    }

    /// The part of `out_of_order` on a subflow; nothing once it is dead.
    pub fn held_by_subflow(&self, subflow: usize) -> u64 {
        let alive = self.subflows.get(subflow).and_then(Option::as_ref).filter(|s| !s.buried);
        alive.map_or(0, |s| s.endpoint.receiver().out_of_order())
    }

    /// Subflow indices in use are below this.
    pub fn subflow_count(&self) -> usize {
        self.subflows.len()
    }

    /// The endpoint of a subflow and the bytes reinjected on it.
    pub fn endpoint(&self, subflow: usize) -> Option<(&Endpoint, u64)> {
        let subflow = self.subflows.get(subflow)?.as_ref()?;
        Some((&subflow.endpoint, subflow.reinjected_bytes))
    }

    /// Addresses of a subflow.
    pub fn address_pair(&self, subflow: SubflowId) -> AddressPair {
        let known = self.subflows.get(usize::from(subflow)).and_then(Option::as_ref);
        known.or(self.subflows[0].as_ref()).expect("the first subflow exists").pair
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.role
    }
}

/// The set bits of `set`, which is empty afterwards.
pub(super) fn take_bits(set: &mut u64) -> impl Iterator<Item = usize> + use<> {
    let mut left = std::mem::take(set);
    std::iter::from_fn(move || {
        let i = left.trailing_zeros() as usize;
        (left != 0).then(|| {
            left &= left - 1;
            i
        })
    })
}
