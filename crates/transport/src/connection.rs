//! A connection as hosts see it: plain TCP or MPTCP behind one face.

use congestion::Paths;
use units::{Bytes, SimTime};

use crate::address::AddressPair;
use crate::arrival::Arrival;
use crate::config::MptcpConfig;
use crate::convert::ConvertMessage;
use crate::departure::Departure;
use crate::limit::Limit;
use crate::mptcp::option::MptcpOption;
use crate::mptcp::{MptcpConnection, SubflowEnd, pass_on};
use crate::packet::{Packet, PathId};
use crate::role::{AbortForm, Role};
use crate::sctp::tsn::StreamId;
use crate::sctp::{self, Association, AssociationSetup};
use crate::seq::Seq;
use crate::setup::Setup;
use crate::stats::{Intake, SubflowGauges, SubflowStats};
use crate::tcp::connection::TcpConnection;
use crate::tcp::endpoint::Endpoint;

/// One end of a connection. After every call that changes it, `poll_transmit` is to be called until `None`,
/// or `poll_transmit_into` until it is not [`Departure::PACKET`].
#[derive(Debug)]
pub struct Connection(Machine);

#[derive(Debug)]
enum Machine {
    Tcp(Box<TcpConnection>, AddressPair),
    Mptcp(Box<MptcpConnection>),
    Sctp(Box<Association>),
    Subflow(Box<SubflowEnd>),
}

/// Calls what few connections need, out of the way of the others.
#[cold]
#[inline(never)]
fn rare<T>(call: impl FnOnce() -> T) -> T {
    call()
}

/// Calls the same method of whichever kind it is. The most usual kinds are asked for one by one, which is quicker than a
/// table of all.
macro_rules! each {
    ($self:ident, $connection:ident => $call:expr) => {
        each!(@ &$self.0, $connection => $call)
    };
    (mut $self:ident, $connection:ident => $call:expr) => {
        each!(@ &mut $self.0, $connection => $call)
    };
    (@ $machine:expr, $connection:ident => $call:expr) => {{
        let machine = $machine;
        if let Machine::Mptcp($connection) = machine {
            $call
        } else if let Machine::Tcp($connection, _) = machine {
            $call
        } else {
            rare(move || match machine {
                Machine::Sctp($connection) => $call,
                Machine::Subflow($connection) => $call,
                Machine::Mptcp(_) | Machine::Tcp(..) => unreachable!("it was asked for"),
            })
        }
    }};
}

impl Connection {
    /// Waits for `open` (client) or a SYN (server).
    pub fn new(setup: Setup) -> Self {
        if setup.mptcp.is_some() {
            return Self(Machine::Mptcp(Box::new(MptcpConnection::new(setup))));
        }
        Self(Machine::Tcp(Box::new(TcpConnection::new(&setup)), setup.first))
    }

    /// The same over SCTP: waits for `open` (client) or an INIT (server). A byte stream becomes ordered messages on one
    /// stream.
    pub fn associate(setup: AssociationSetup) -> Self {
        Self(Machine::Sctp(Box::new(Association::new(setup))))
    }

    /// An end of one subflow of a connection between others, for a proxy. It carries no bytes of its own: [`pass_on`](Self::pass_on)
    /// gives it what the other end of the proxy has got.
    pub fn subflow_of_others(setup: &Setup, mptcp: &MptcpConfig) -> Self {
        Self(Machine::Subflow(Box::new(SubflowEnd::new(setup, mptcp))))
    }

    /// Such an end sends a SYN with this option.
    pub fn open_subflow(&mut self, syn: MptcpOption) {
        if let Machine::Subflow(c) = &mut self.0 {
            c.open_with(syn);
        }
    }

    /// It is an end of one subflow of a connection between others.
    pub fn is_subflow_of_others(&self) -> bool {
        matches!(self.0, Machine::Subflow(_))
    }

    /// Two such ends: bytes that `self` has acknowledged without having them, and bytes by which its window passes that of
    /// the receiver behind `other`. A correct proxy keeps both at zero.
    pub fn overreach(&self, other: &Self) -> Option<[Bytes; 2]> {
        match (&self.0, &other.0) {
            (Machine::Subflow(from), Machine::Subflow(to)) => Some(from.overreach(to)),
            _ => None,
        }
    }

    /// Two such ends: what `self` has received goes on at `other`, about `most` bytes of it. Returns how many bytes of data.
    pub fn pass_on(&mut self, now: SimTime, other: &mut Self, most: Bytes) -> Bytes {
        match (&mut self.0, &mut other.0) {
            (Machine::Subflow(from), Machine::Subflow(to)) => pass_on(now, from, to, most),
            _ => Bytes::ZERO,
        }
    }

    /// For tests: every segment takes the general way through the machine, which changes nothing but the time it takes.
    pub fn close_usual_way(&mut self) {
        match &mut self.0 {
            Machine::Tcp(c, _) => c.close_usual_way(),
            Machine::Mptcp(c) => c.close_usual_way(),
            Machine::Subflow(c) => c.close_usual_way(),
            Machine::Sctp(_) => {}
        }
    }

    /// Client: the first SYN becomes ready.
    pub fn open(&mut self) {
        each!(mut self, c => c.open());
    }

    /// The first SYN or SYN/ACK of this end has this payload, between a client and a converter; before `open`, or before the SYN
    /// of the peer.
    pub fn say(&mut self, message: ConvertMessage) {
        match &mut self.0 {
            Machine::Tcp(c, _) => c.say(message),
            Machine::Mptcp(c) => c.say(message),
            Machine::Sctp(_) | Machine::Subflow(_) => debug_assert!(false, "{message:?}"),
        }
    }

    /// The application appends `bytes` to the stream.
    #[inline]
    pub fn write(&mut self, bytes: Bytes) {
        match &mut self.0 {
            Machine::Mptcp(c) => c.write(bytes.0),
            Machine::Tcp(c, _) => c.write(bytes.0),
            other => rare(move || match other {
                Machine::Sctp(c) => c.write(bytes),
                _ => debug_assert!(false, "a subflow of others carries what `pass_on` gives it"),
            }),
        }
    }

    /// The application appends `bytes` to one of the streams of an association. Other connections have one.
    pub fn write_on(&mut self, stream: StreamId, bytes: Bytes) {
        match &mut self.0 {
            Machine::Sctp(c) => c.write_on(stream, bytes),
            _ => self.write(bytes),
        }
    }

    /// The next message that has arrived and was not announced before, whether it was read or not; `None` where there are no
    /// messages.
    pub fn announce(&mut self) -> Option<sctp::Delivery> {
        match &mut self.0 {
            Machine::Sctp(c) => c.announce(),
            _ => None,
        }
    }

    /// No more data after what has been written.
    pub fn close(&mut self) {
        each!(mut self, c => c.close());
    }

    /// The connection is given up at once: MP_FASTCLOSE in this form, a RST with plain TCP.
    pub fn abort(&mut self, now: SimTime, form: AbortForm) {
        match &mut self.0 {
            Machine::Tcp(c, _) => c.abort(),
            Machine::Mptcp(c) => c.abort(now, form),
            Machine::Sctp(c) => c.abort(),
            Machine::Subflow(c) => c.abort(),
        }
    }

    /// An address of this end leaves: the subflows that use it are gone, the peer is told. A TCP
    /// connection that uses it is gone.
    pub fn remove_address(&mut self, now: SimTime, address: u8) {
        match &mut self.0 {
            Machine::Tcp(c, pair) if pair.local == Some(address) => c.lose_address(),
            Machine::Subflow(c) if c.address_pair().local == Some(address) => c.lose_address(),
            Machine::Tcp(..) | Machine::Sctp(_) | Machine::Subflow(_) => {}
            Machine::Mptcp(c) => c.remove_address(now, address),
        }
    }

    /// An address of this end comes, or comes back: the path manager does with it what it does (MPTCP).
    pub fn add_address(&mut self, address: u8) {
        if let Machine::Mptcp(c) = &mut self.0 {
            c.add_address(address);
        }
    }

    /// The subflows that use an address of this end become backups, or are so no longer (MPTCP).
    pub fn set_backup(&mut self, address: u8, backup: bool) {
        if let Machine::Mptcp(c) = &mut self.0 {
            c.set_backup(address, backup);
        }
    }

    /// From now on this end closes only when told to. Otherwise it follows the peer: it closes as soon as the peer has
    /// closed and everything is read, as suits an end that has nothing to say.
    pub fn hold_open(&mut self) {
        each!(mut self, c => c.hold_open());
    }

    /// The peer has closed and everything is read.
    pub fn peer_finished(&self) -> bool {
        each!(self, c => c.peer_finished())
    }

    /// Free bytes of the send buffer; none before the handshake is complete.
    #[inline]
    pub fn send_space(&self) -> Bytes {
        each!(self, c => c.send_space())
    }

    /// In-order bytes that the application has not read.
    pub fn readable(&self) -> Bytes {
        match &self.0 {
            Machine::Tcp(c, _) => Bytes(c.readable()),
            Machine::Mptcp(c) => Bytes(c.readable()),
            Machine::Sctp(c) => c.readable(),
            Machine::Subflow(c) => Bytes(c.readable()),
        }
    }

    /// Bytes in the send buffer: written and not acknowledged, by the data ACK where there is one.
    pub fn send_buffered(&self) -> Bytes {
        each!(self, c => c.send_buffered())
    }

    /// The application reads `bytes`, at most what is readable.
    pub fn read(&mut self, now: SimTime, bytes: Bytes) {
        match &mut self.0 {
            Machine::Tcp(c, _) => c.read(now, bytes.0),
            Machine::Mptcp(c) => c.read(now, bytes.0),
            Machine::Sctp(c) => c.read(bytes),
            Machine::Subflow(_) => debug_assert!(false, "`pass_on` reads a subflow of others"),
        }
    }

    /// The application reads all that has arrived in order.
    #[inline]
    pub fn read_all(&mut self, now: SimTime) {
        match &mut self.0 {
            Machine::Mptcp(c) => {
                if c.readable() > 0 {
                    c.read(now, c.readable());
                }
            }
            Machine::Tcp(c, _) => {
                if c.readable() > 0 {
                    c.read(now, c.readable());
                }
            }
            other => rare(move || match other {
                Machine::Sctp(c) if c.readable() > Bytes::ZERO => c.read(c.readable()),
                _ => {}
            }),
        }
    }

    /// Takes in a packet.
    #[inline]
    pub fn on_packet(&mut self, now: SimTime, packet: &Packet) -> Arrival {
        match &mut self.0 {
            Machine::Mptcp(c) => c.on_packet(now, packet),
            Machine::Tcp(c, _) => c.on_packet(now, packet),
            other => rare(move || {
                match other {
                    Machine::Sctp(c) => c.on_packet(now, packet),
                    Machine::Subflow(c) => c.on_packet(now, packet),
                    Machine::Mptcp(_) | Machine::Tcp(..) => unreachable!("it was asked for"),
                }
                Arrival::Any
            }),
        }
    }

    /// Acts on all deadlines that are due.
    pub fn on_timeout(&mut self, now: SimTime) {
        each!(mut self, c => c.on_timeout(now));
    }

    /// The next packet to put on the wire.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<Packet> {
        let mut packet = Packet::default();
        self.poll_transmit_into(now, &mut packet).is_packet().then_some(packet)
    }

    /// The same, in place: overwrites `packet`, unless nothing leaves.
    #[inline]
    pub fn poll_transmit_into(&mut self, now: SimTime, packet: &mut Packet) -> Departure {
        each!(mut self, c => c.poll_transmit(now, packet))
    }

    /// When `on_timeout` is due, `NEVER` if nothing waits.
    pub fn next_deadline(&mut self) -> SimTime {
        match &mut self.0 {
            Machine::Tcp(c, _) => c.next_deadline(),
            Machine::Mptcp(c) => c.next_deadline(),
            Machine::Sctp(c) => c.next_deadline(),
            Machine::Subflow(c) => c.next_deadline(),
        }
    }

    /// No deadline is earlier than this, which is mostly cheaper to tell than `next_deadline`; after that it is the same.
    #[inline]
    pub fn wake_at(&mut self) -> SimTime {
        match &mut self.0 {
            Machine::Mptcp(c) => c.wake_at(),
            Machine::Tcp(c, _) => c.next_deadline(),
            Machine::Sctp(_) | Machine::Subflow(_) => rare(move || self.next_deadline()),
        }
    }

    /// Addresses of a subflow, seen from this end.
    pub fn address_pair(&self, path: PathId) -> AddressPair {
        match &self.0 {
            Machine::Tcp(_, pair) => *pair,
            Machine::Mptcp(c) => c.address_pair(path),
            Machine::Sctp(c) => c.address_pair(path),
            Machine::Subflow(c) => c.address_pair(),
        }
    }

    /// True once the (first) handshake is complete.
    pub fn is_established(&self) -> bool {
        match &self.0 {
            Machine::Tcp(c, _) => c.endpoint().established_at().is_some(),
            Machine::Mptcp(c) => c.is_established(),
            Machine::Sctp(c) => c.is_established(),
            Machine::Subflow(c) => c.endpoint().established_at().is_some(),
        }
    }

    /// Both directions are finished and acknowledged.
    pub fn is_closed(&self) -> bool {
        each!(self, c => c.is_closed())
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<&'static str> {
        match &self.0 {
            Machine::Tcp(c, _) => c.endpoint().death(),
            Machine::Mptcp(c) => c.failure(),
            Machine::Sctp(c) => c.failure(),
            Machine::Subflow(c) => c.endpoint().death(),
        }
    }

    /// It is one of MPTCP, or was one until it fell back.
    pub fn is_multipath(&self) -> bool {
        matches!(self.0, Machine::Mptcp(_))
    }

    /// MPTCP was wanted and the connection is plain TCP.
    pub fn fell_back(&self) -> bool {
        match &self.0 {
            Machine::Tcp(..) | Machine::Sctp(_) | Machine::Subflow(_) => false,
            Machine::Mptcp(c) => c.fell_back(),
        }
    }

    /// In-order bytes delivered so far.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        match &self.0 {
            Machine::Mptcp(c) => Bytes(c.delivered()),
            Machine::Tcp(c, _) => Bytes(c.delivered()),
            other => rare(|| match other {
                Machine::Sctp(c) => c.delivered(),
                Machine::Subflow(c) => Bytes(c.delivered()),
                _ => unreachable!("it was asked for"),
            }),
        }
    }

    /// Bytes of the stream that the peer's connection level has acknowledged.
    pub fn acked(&self) -> Bytes {
        match &self.0 {
            Machine::Tcp(c, _) => {
                let sender = c.endpoint().sender();
                sender.una() - Seq::FIRST_DATA - Bytes(u64::from(sender.finished()))
            }
            Machine::Mptcp(c) => Bytes(c.acked()),
            Machine::Sctp(c) => c.acked(),
            Machine::Subflow(c) => Bytes(c.acked()),
        }
    }

    /// Counts of arrived bytes, in one look.
    #[inline]
    pub fn intake(&self) -> Intake {
        let of_tcp = |delivered, endpoint: &Endpoint| Intake {
            delivered: Bytes(delivered),
            out_of_order: Bytes(endpoint.receiver().out_of_order()),
            waiting_for_others: None,
        };
        match &self.0 {
            Machine::Mptcp(c) => Intake {
                delivered: Bytes(c.delivered()),
                out_of_order: Bytes(c.out_of_order()),
                waiting_for_others: Some(Bytes(c.waiting_for_others())),
            },
            Machine::Tcp(c, _) => of_tcp(c.delivered(), c.endpoint()),
            other => rare(|| match other {
                Machine::Sctp(c) => Intake {
                    delivered: c.delivered(),
                    out_of_order: c.out_of_order(),
                    waiting_for_others: None,
                },
                Machine::Subflow(c) => of_tcp(c.delivered(), c.endpoint()),
                _ => unreachable!("it was asked for"),
            }),
        }
    }

    /// As `out_of_order` of the [`Intake`].
    pub fn out_of_order(&self) -> Bytes {
        self.intake().out_of_order
    }

    /// The part of `out_of_order` that waits for a gap on this subflow.
    pub fn held_by_subflow(&self, subflow: usize) -> Bytes {
        match &self.0 {
            Machine::Tcp(c, _) if subflow == 0 => Bytes(c.endpoint().receiver().out_of_order()),
            Machine::Mptcp(c) => Bytes(c.held_by_subflow(subflow)),
            // One TSN space: all that waits is counted on the first path.
            Machine::Sctp(c) if subflow == 0 => c.out_of_order(),
            Machine::Subflow(c) if subflow == 0 => Bytes(c.endpoint().receiver().out_of_order()),
            Machine::Tcp(..) | Machine::Sctp(_) | Machine::Subflow(_) => Bytes::ZERO,
        }
    }

    /// The limit that keeps the connection from sending (more), after `poll_transmit` has found nothing; `None`: the limits of its
    /// subflows apply. `more`: the application has more to write than the send buffer accepts.
    #[inline]
    pub fn limit(&self, more: bool) -> Option<Limit> {
        match &self.0 {
            Machine::Tcp(c, _) => Some(c.endpoint().limit(more)),
            Machine::Mptcp(c) => c.limit(more),
            Machine::Sctp(c) => c.limit(more),
            Machine::Subflow(c) => Some(c.endpoint().limit(more)),
        }
    }

    /// The limit of one subflow.
    #[inline]
    pub fn subflow_limit(&self, subflow: usize, more: bool) -> Limit {
        match &self.0 {
            Machine::Tcp(c, _) => c.endpoint().limit(more),
            Machine::Mptcp(c) => c.subflow_limit(subflow, more),
            Machine::Sctp(c) => c.path_limit(subflow, more),
            Machine::Subflow(c) => c.endpoint().limit(more),
        }
    }

    /// Window that it would advertise now.
    pub fn receive_window(&self) -> Bytes {
        each!(self, c => c.receive_window())
    }

    /// Subflow indices in use are below this.
    pub fn subflow_count(&self) -> usize {
        match &self.0 {
            Machine::Tcp(..) | Machine::Subflow(_) => 1,
            Machine::Mptcp(c) => c.subflow_count(),
            Machine::Sctp(c) => c.path_count(),
        }
    }

    fn endpoint(&self, subflow: usize) -> Option<(&Endpoint, u64)> {
        match &self.0 {
            Machine::Mptcp(c) => c.endpoint(subflow),
            Machine::Tcp(c, _) => (subflow == 0).then(|| (c.endpoint(), 0)),
            // Whatever number its subflow has in the connection.
            Machine::Subflow(c) => Some((c.endpoint(), 0)),
            Machine::Sctp(_) => None,
        }
    }

    /// State of a subflow; `None` while it does not exist.
    pub fn gauges(&self, subflow: usize) -> Option<SubflowGauges> {
        if let Machine::Sctp(c) = &self.0 {
            return c.gauges(subflow);
        }
        self.endpoint(subflow).map(|(endpoint, _)| SubflowGauges::of(endpoint))
    }

    /// Estimates of the congestion control of a subflow: names that carry their unit, and values.
    pub fn congestion_gauges(&self, subflow: usize, report: &mut dyn FnMut(&'static str, f64)) {
        if let Machine::Sctp(c) = &self.0 {
            return c.congestion_gauges(subflow, report);
        }
        let Some((endpoint, _)) = self.endpoint(subflow) else { return };
        match &self.0 {
            Machine::Sctp(_) => {}
            Machine::Tcp(..) | Machine::Subflow(_) => {
                endpoint.sender().congestion_gauges(Paths::ALONE, report);
            }
            Machine::Mptcp(c) => {
                let views = c.path_views();
                endpoint.sender().congestion_gauges(Paths { all: &views, me: subflow }, report);
            }
        }
    }

    /// State of the scheduler; nothing with plain TCP.
    pub fn scheduler_gauges(&self, report: schedulers::Report<'_>) {
        match &self.0 {
            Machine::Tcp(..) | Machine::Subflow(_) => {}
            Machine::Mptcp(c) => c.scheduler_gauges(report),
            Machine::Sctp(c) => c.scheduler_gauges(report),
        }
    }

    /// Congestion window of a subflow; `None` unless it is established. Cheaper than all gauges.
    pub fn cwnd(&self, subflow: usize) -> Option<Bytes> {
        if let Machine::Sctp(c) = &self.0 {
            return c.cwnd(subflow);
        }
        let (endpoint, _) = self.endpoint(subflow)?;
        endpoint.is_established().then(|| endpoint.sender().cwnd())
    }

    /// Why the join of a subflow that this end has opened failed; `None` if it did not, and without MPTCP.
    pub fn join_failure(&self, subflow: usize) -> Option<&'static str> {
        match &self.0 {
            Machine::Mptcp(c) => c.join_failure(subflow),
            Machine::Tcp(..) | Machine::Sctp(_) | Machine::Subflow(_) => None,
        }
    }

    /// Counters of a subflow; zeros while it does not exist.
    pub fn stats(&self, subflow: usize) -> SubflowStats {
        if let Machine::Sctp(c) = &self.0 {
            return c.stats(subflow);
        }
        let stats = self
            .endpoint(subflow)
            .map_or_else(SubflowStats::default, |(e, reinjected)| SubflowStats::of(e, reinjected));
        match &self.0 {
            Machine::Tcp(c, _) if subflow == 0 => {
                let (beyond_window_received, overflow_received) = c.beyond_window();
                SubflowStats { beyond_window_received, overflow_received, ..stats }
            }
            _ => stats,
        }
    }

    /// Size of the user messages that a byte stream is cut into; `None` where there are no messages.
    #[inline]
    pub fn message_size(&self) -> Option<Bytes> {
        match &self.0 {
            Machine::Sctp(c) => Some(c.message_size()),
            Machine::Tcp(..) | Machine::Mptcp(_) | Machine::Subflow(_) => None,
        }
    }

    /// All of its paths have the same port at an end.
    pub fn shares_port(&self) -> bool {
        matches!(self.0, Machine::Sctp(_))
    }

    /// Which end this is.
    pub fn role(&self) -> Role {
        match &self.0 {
            Machine::Tcp(c, _) => c.role(),
            Machine::Mptcp(c) => c.role(),
            Machine::Sctp(c) => c.role(),
            Machine::Subflow(c) => c.role(),
        }
    }
}
