//! One end of an MPTCP connection as applications and hosts see it. It composes the parts, each of which keeps its own
//! state; `input.rs` is what a segment or a deadline does to them, `output.rs` how the next segment is made,
//! `limit.rs` why there is none. `usual.rs` is the
//! way of most segments.

mod input;
mod limit;
mod output;
mod usual;

use std::sync::Arc;

use congestion::PathView;
use schedulers::Report;
use units::{Bytes, SimTime};

use super::fragments::Fragments;
use super::lifetime::Lifetime;
use super::meta_timer::MetaTimer;
use super::negotiation::Negotiation;
use super::option::ResetReason;
use super::path_manager::AddressBook;
use super::placement::Placement;
use super::receive_side::ReceiveSide;
use super::send_side::SendSide;
use super::signals::Signals;
use super::subflow::{Join, Subflow};
use super::subflows::{MAX_SUBFLOWS, Subflows};
use super::views::Views;
use crate::address::AddressPair;
use crate::config::{AckPushed, MptcpConfig, PathManager, Reassembly, Reinjection, TcpConfig};
use crate::convert::ConvertMessage;
use crate::packet::PathId;
use crate::role::{AbortForm, Role};
use crate::setup::Setup;
use crate::tcp::endpoint::Endpoint;
use crate::usual::UsualWay;
use crate::wire_size::{DssForm, PacketSizes, sack_room};

use usual::permits_usual_way;

const ADDRESS_LEFT: &str = "its address has left";
const PEER_ADDRESS_LEFT: &str = "the peer's address has left";
const ABORTED: &str = "aborted by the application";
const PEER_ABORTED: &str = "aborted by the peer";
/// Ends of subflows that say nothing of their handshakes.
const ENDED_FROM_ABOVE: [&str; 4] = [ADDRESS_LEFT, PEER_ADDRESS_LEFT, ABORTED, PEER_ABORTED];

/// It lives, has joined or tries to, and has had no data.
fn awaits_data(subflow: &Subflow) -> bool {
    let receiver = subflow.endpoint().receiver();
    subflow.is_alive()
        && !matches!(subflow.join(), Join::AwaitingThirdAck { .. })
        && receiver.delivered() == Bytes::ZERO
        && receiver.out_of_order() == 0
}

/// One end of an MPTCP connection.
#[derive(Debug)]
pub struct MptcpConnection {
    tcp: Arc<TcpConfig>,
    config: Arc<MptcpConfig>,
    negotiation: Negotiation,
    addresses: AddressBook,
    subflows: Subflows,
    send: SendSide,
    receive: ReceiveSide,
    placement: Placement,
    meta: MetaTimer,
    signals: Signals,
    lifetime: Lifetime,
    sizes: PacketSizes,
    usual: UsualWay,
    /// The next deadline, or a bound of it, as last told.
    woken: SimTime,
}

impl MptcpConnection {
    /// A client that waits for `open`, or a server that waits for a SYN.
    ///
    /// # Panics
    /// If `setup` has no MPTCP part.
    pub fn new(setup: Setup) -> Self {
        let (config, scheduler) = setup.mptcp.expect("an MPTCP connection needs MPTCP parameters");
        let tcp = setup.tcp;
        let form = DssForm::new(&tcp, &config);
        let mss = form.payload(tcp.segment.mss);
        let needs_address =
            !matches!(config.path_manager, PathManager::Passive | PathManager::NdiffPorts { .. });
        let first = match setup.pairs.first() {
            Some(pair) if needs_address && setup.first.local.is_none() => *pair,
            _ => setup.first,
        };
        let placement = Placement::new(Arc::clone(&config), scheduler);
        let needs = placement.needs();
        let fragments = needs.fragments.then(|| Fragments::new(config.reinjects_as_new()));
        let mut subflows = Subflows::new(
            Arc::clone(&tcp),
            setup.congestion,
            Views::new(needs, config.subflow_unsent_limit),
            config.reassembly == Reassembly::Joint,
            mss,
            sack_room(&tcp, Some(&form)),
        );
        subflows.add(PathId::FIRST, first, Join::First);
        // Where every subflow carries everything there is nothing to send elsewhere.
        let meta = MetaTimer::new(config.reinjection == Reinjection::Upstream && !needs.copies);
        Self {
            negotiation: Negotiation::new(setup.role, setup.key, setup.nonce_seed),
            addresses: AddressBook::new(Arc::clone(&config), first, (setup.pairs, setup.own), setup.absent),
            subflows,
            send: SendSide::new(Arc::clone(&tcp), mss, fragments),
            receive: ReceiveSide::new(Arc::clone(&tcp), mss),
            placement,
            meta,
            signals: Signals::default(),
            lifetime: Lifetime::default(),
            sizes: PacketSizes::new(&tcp, Some(form)),
            usual: UsualWay::new(permits_usual_way(needs)),
            woken: SimTime::NEVER,
            tcp,
            config,
        }
    }

    /// Every segment takes the general way; for tests.
    pub fn close_usual_way(&mut self) {
        self.usual = UsualWay::CLOSED;
        self.subflows.close_usual_way();
    }

    /// The first SYN or SYN/ACK has this payload.
    pub fn say(&mut self, message: ConvertMessage) {
        self.subflows.activate(0).into_iter().for_each(|first| first.say(message));
    }

    /// Active open of the first subflow.
    pub fn open(&mut self) {
        self.subflows.activate(0).into_iter().for_each(Subflow::open);
        self.check();
    }

    /// The application appends to the stream.
    #[inline(always)]
    pub fn write(&mut self, bytes: u64) {
        self.send.write(bytes, &self.subflows);
    }

    /// No more data.
    pub fn close(&mut self) {
        self.usual.leave();
        self.send.close();
    }

    /// Free bytes of the send buffer, which is sized by the sum of the congestion windows.
    #[inline(always)]
    pub fn send_space(&self) -> Bytes {
        if !self.usual.is_open() && (!self.is_established() || self.lifetime.has_failed()) {
            return Bytes::ZERO;
        }
        self.send.space(&self.subflows)
    }

    /// Bytes written and not acknowledged by a data ACK.
    pub fn send_buffered(&self) -> Bytes {
        self.send.buffered()
    }

    /// In-order bytes not read.
    pub fn readable(&self) -> u64 {
        self.receive.readable()
    }

    /// The application takes bytes out of the receive buffer.
    #[inline(always)]
    pub fn read(&mut self, now: SimTime, bytes: u64) {
        let Self { receive, subflows, .. } = self;
        let slowest = || subflows.iter().filter_map(Subflow::receive_rtt).max();
        receive.begin(|| subflows.get(0).and_then(|first| first.endpoint().established_at()));
        let grown = receive.on_read(now, bytes, slowest, || subflows.iter().any(awaits_data));
        if let Some(copied) = grown {
            for i in subflows.which(|_| true).iter() {
                subflows.get_mut(i).into_iter().for_each(|subflow| subflow.grow_buffer(copied));
            }
        }
        let held = subflows.held();
        if receive.is_by_subflow() {
            subflows.acknowledge_on(|s| {
                receive.deserves_update_on(s.told_window(), s.endpoint().window_limit(), s.buffer_size())
            });
        } else if receive.deserves_update(held, Bytes::MAX)
            && receive.deserves_update(held, subflows.largest_window_limit())
        {
            subflows.acknowledge_on(|_| true);
        }
        if self.tcp.ack.pushed != AckPushed::Never && receive.readable() + receive.out_of_order() == 0 {
            subflows.everything_is_read();
        }
        self.follow_the_peer();
        self.check();
    }

    /// This end closes only when told to.
    pub fn hold_open(&mut self) {
        self.lifetime.hold_open();
    }

    /// The peer has closed and everything is read.
    pub fn peer_finished(&self) -> bool {
        self.receive.is_drained()
    }

    /// When the peer has finished and everything is read, this end finishes too, unless it is held open.
    #[inline]
    fn follow_the_peer(&mut self) {
        if !self.lifetime.is_held_open() && self.receive.is_drained() {
            self.close();
        }
    }

    /// Window that it would advertise.
    pub fn receive_window(&self) -> Bytes {
        self.receive.window(self.subflows.held(), self.subflows.largest_window_limit())
    }

    /// The next deadline.
    pub fn next_deadline(&mut self) -> SimTime {
        let subflows = self.subflows.next_deadline();
        self.woken = self.earliest(subflows);
        self.woken
    }

    /// No deadline is earlier; exact after `next_deadline`.
    pub fn wake_at(&mut self) -> SimTime {
        let subflows = self.subflows.wake_at();
        self.woken = self.earliest(subflows);
        self.woken
    }

    /// No deadline is nearer than when it was last asked for.
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        !self.subflows.deadlines_moved() && self.earliest(self.subflows.known_deadline()) >= self.woken
    }

    /// The next deadline, if that of the subflows is this.
    #[inline(always)]
    fn earliest(&self, subflows: SimTime) -> SimTime {
        let Self { send, lifetime, meta, signals, .. } = self;
        if self.usual.is_open() {
            // Neither DATA_FIN nor an announcement waits for an answer.
            return send.persist_at().min(meta.at()).min(lifetime.given_up_at()).min(subflows);
        }
        if lifetime.has_failed() {
            return signals.fast_close_deadline();
        }
        let sending = send.fin_deadline().min(send.persist_at()).min(meta.at());
        sending.min(lifetime.given_up_at()).min(signals.next_deadline()).min(subflows)
    }

    /// True once the first handshake is complete.
    pub fn is_established(&self) -> bool {
        self.subflows.any_ever_established()
    }

    /// Both directions are finished and acknowledged.
    pub fn is_closed(&self) -> bool {
        let sent = if self.negotiation.is_fallback() {
            self.subflows.get(0).is_some_and(|s| s.sender().finished())
        } else {
            self.send.finished()
        };
        sent && self.receive.finished()
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&'static str> {
        self.lifetime.failure()
    }

    /// The connection is plain TCP.
    pub fn fell_back(&self) -> bool {
        self.negotiation.is_fallback()
    }

    /// In-order bytes so far.
    pub fn delivered(&self) -> u64 {
        self.receive.delivered()
    }

    /// Bytes acknowledged at connection level.
    pub fn acked(&self) -> u64 {
        self.send.acked()
    }

    /// Bytes held because of gaps: at connection level, and on subflows that are out of order themselves.
    pub fn out_of_order(&self) -> u64 {
        self.receive.out_of_order() + self.subflows.held()
    }

    /// The part of `out_of_order` at connection level.
    pub fn waiting_for_others(&self) -> u64 {
        self.receive.out_of_order()
    }

    /// The part of `out_of_order` on a subflow; nothing once it is dead.
    pub fn held_by_subflow(&self, subflow: usize) -> u64 {
        self.subflows.get(subflow).map_or(0, Subflow::held)
    }

    /// Subflow indices in use are below this.
    pub fn subflow_count(&self) -> usize {
        self.subflows.count()
    }

    /// The endpoint of a subflow and the bytes reinjected on it.
    pub fn endpoint(&self, subflow: usize) -> Option<(&Endpoint, u64)> {
        let subflow = self.subflows.get(subflow)?;
        Some((subflow.endpoint(), subflow.reinjected_bytes()))
    }

    /// Why the join of a subflow that this end has opened failed; `None` if it did not, or is not decided.
    pub fn join_failure(&self, subflow: usize) -> Option<&'static str> {
        let subflow = self.subflows.get(subflow)?;
        match subflow.join() {
            Join::SynSent(_) | Join::AwaitingFourthAck { .. } => {
                subflow.endpoint().death().filter(|why| !ENDED_FROM_ABOVE.contains(why))
            }
            Join::First | Join::AwaitingThirdAck { .. } | Join::Joined => None,
        }
    }

    /// Addresses of a subflow.
    pub fn address_pair(&self, path: PathId) -> AddressPair {
        let known = self.subflows.get(path.index());
        known.or(self.subflows.get(0)).expect("the first subflow exists").pair()
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        self.negotiation.role()
    }

    /// Current views for the congestion controls, without updating the cache.
    pub fn path_views(&self) -> Vec<PathView> {
        self.subflows.path_views()
    }

    /// State of the scheduler.
    pub fn scheduler_gauges(&self, report: Report<'_>) {
        self.placement.gauges(report);
    }
}

/// Addresses and the end.
impl MptcpConnection {
    /// An address of this end leaves.
    pub fn remove_address(&mut self, now: SimTime, address: u8) {
        self.usual.leave();
        if self.lifetime.has_failed() || !self.addresses.leave(address) {
            return;
        }
        self.signals.withdraw(address);
        if !self.negotiation.is_fallback() {
            self.signals.tell_removal(self.addresses.id_of(address));
        }
        self.lose_subflows(now, ADDRESS_LEFT, |s| s.pair().local == Some(address));
        self.check();
    }

    /// Subflows end without a segment: nothing can be sent from, or to, an address that does not exist.
    fn lose_subflows(&mut self, now: SimTime, why: &'static str, hit: impl Fn(&Subflow) -> bool) {
        for i in 0..self.subflows.count() {
            let Some(subflow) = self.subflows.get_mut(i).filter(|s| s.is_alive() && hit(s)) else { continue };
            subflow.end_silently(why);
            subflow.note_address_left();
            self.subflow_died(now, i);
        }
        // Dead subflows, too: they may be opened again when the address returns.
        for i in self.subflows.which(hit).iter() {
            self.subflows.get_mut(i).into_iter().for_each(Subflow::note_address_left);
        }
    }

    /// An address of this end comes, or comes back.
    pub fn add_address(&mut self, address: u8) {
        self.usual.leave();
        if !self.addresses.join(address) || !self.negotiation.is_fully_established() {
            return;
        }
        let role = self.negotiation.role();
        let returns = role == Role::Server && self.addresses.announces_return(address);
        if returns || self.addresses.to_announce(role).contains(&address) {
            self.announce(vec![address]);
        }
        self.open_missing();
        self.check();
    }

    fn announce(&mut self, addresses: Vec<u8>) {
        let Self { signals, addresses: book, .. } = self;
        signals.announce(addresses.into_iter().map(|a| (book.id_of(a), a)), book.announcing());
    }

    /// The subflows of an address of this end become backups, or are so no longer.
    pub fn set_backup(&mut self, address: u8, backup: bool) {
        self.usual.leave();
        self.addresses.set_backup(address, backup);
        for i in self.subflows.which(|s| s.pair().local == Some(address) && s.is_alive()).iter() {
            self.tell_priority(i, backup);
        }
        self.check();
    }

    /// Marks subflow `i` and tells the peer.
    fn tell_priority(&mut self, i: usize, backup: bool) {
        let Some(subflow) = self.subflows.get_mut(i).filter(|s| s.backup_told() != backup) else { return };
        subflow.tell_backup(backup);
        if self.negotiation.is_fully_established() {
            self.signals.tell_priority(i);
        }
    }

    /// The application aborts the connection.
    pub fn abort(&mut self, now: SimTime, form: AbortForm) {
        self.usual.leave();
        if self.lifetime.has_failed() {
            return;
        }
        self.lifetime.fail(ABORTED);
        if self.negotiation.is_multipath() {
            let quantum = self.send.quantum();
            let on = if form == AbortForm::Ack { self.subflows.for_signals(0, quantum) } else { None };
            self.signals.abort(now, on);
        }
        self.subflows.reset_all(ABORTED, self.signals.fast_close_on());
        self.check();
    }

    /// Client: opens what the path manager wants and what does not exist.
    fn open_missing(&mut self) {
        let Self { negotiation, addresses, subflows, lifetime, .. } = self;
        if negotiation.role() != Role::Client
            || !negotiation.is_multipath()
            || !negotiation.is_fully_established()
        {
            return;
        }
        for pair in addresses.missing(subflows) {
            let index = subflows.count();
            if index >= MAX_SUBFLOWS {
                return;
            }
            subflows.add(PathId(index as u8), pair, Join::SynSent(negotiation.nonce(index)));
            if let Some(subflow) = subflows.activate(index) {
                subflow.tell_backup(addresses.is_backup(pair.local));
                subflow.open();
            }
            lifetime.gained_subflow();
        }
    }

    /// Plain TCP from now on.
    fn fall_back(&mut self) {
        self.negotiation.fall_back();
        self.signals.fall_back();
        self.subflows.fall_back(sack_room(&self.tcp, None));
    }

    /// Plain TCP in mid-transfer, on the only subflow that there ever was.
    fn fall_back_late(&mut self) {
        self.fall_back();
        for i in 1..self.subflows.count() {
            if self.subflows.get(i).is_some_and(Subflow::is_alive)
                && let Some(subflow) = self.subflows.activate(i)
            {
                subflow.refuse("the connection has become plain TCP", ResetReason::Protocol);
            }
        }
        self.send.repeat_fin();
    }
}
