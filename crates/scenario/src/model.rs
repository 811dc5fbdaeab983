//! A checked scenario: what the rest of the laboratory works with. Every name is resolved to an index, every
//! default is filled in, every value lies within its bounds. Only the parser makes one.

use std::fmt;
use std::sync::Arc;

use apps::Apps;
use congestion::Congestion;
use links::delay::Delays;
use links::loss::Losses;
use links::queue::Queues;
use links::rate::Rates;
use links::{Faults, Shaper};
use registry::{Algorithm, Family, OptionFault, Options};
use schedulers::Schedulers;
use transport::AbortForm;
use transport::config::{EndpointFlags, MptcpConfig, TcpConfig, UdpConfig};
use transport::sctp::SctpConfig;
use units::{BitsPerSecond, Nanos, QueueLimit, SimTime};

/// An algorithm of one family, with its options filled in and checked.
pub struct Choice<F: Family> {
    /// Its row: how it is called and made.
    pub row: Algorithm<F>,
    /// Its options, all of them.
    pub options: Options,
}

impl<F: Family> Choice<F> {
    /// Name in its registry.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// The error in options that are valid one by one but not together.
    pub(crate) fn fault(&self) -> Option<OptionFault> {
        (self.row.check)(&self.options).err()
    }
}

impl<F: Family> Clone for Choice<F> {
    fn clone(&self) -> Self {
        Self { row: self.row, options: self.options.clone() }
    }
}

impl<F: Family> PartialEq for Choice<F> {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.options == other.options
    }
}

impl<F: Family> fmt::Debug for Choice<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Choice").field("name", &self.name()).field("options", &self.options).finish()
    }
}

impl<F: Family> fmt::Display for Choice<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A plain value, or a model of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting<T, M> {
    /// Constant.
    Value(T),
    /// By a model of a registry.
    Model(M),
}

/// A rate of a link.
pub type Rate = Setting<BitsPerSecond, Choice<Rates>>;
/// A delay of a link.
pub type Delay = Setting<Nanos, Choice<Delays>>;
/// The limit of a drop-tail queue, or a queue discipline.
pub type Queue = Setting<QueueLimit, Choice<Queues>>;

impl<T: Copy, M> Setting<T, M> {
    /// The value, if it is a plain one.
    pub fn value(&self) -> Option<T> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Model(_) => None,
        }
    }
}

impl<T: fmt::Display, M: fmt::Display> fmt::Display for Setting<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Model(choice) => choice.fmt(f),
        }
    }
}

/// Everything that a run depends on, but for the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Title.
    pub name: String,
    /// Longer text, may be empty.
    pub description: String,
    /// Simulated time.
    pub duration: Nanos,
    /// Seeds of the replications.
    pub seeds: Vec<u64>,
    /// Each packet takes up to this longer where the delay is a constant above zero.
    pub jitter: Nanos,
    /// How equal-cost paths are shared.
    pub ecmp: Ecmp,
    /// Interval of the recorded time series.
    pub record_interval: Nanos,
    /// Nodes in order of appearance.
    pub nodes: Vec<Node>,
    /// Duplex connections between two nodes.
    pub duplex_links: Vec<DuplexLink>,
    /// Proxies in order of appearance.
    pub proxies: Vec<Proxy>,
    /// Flows in order of appearance.
    pub flows: Vec<Flow>,
    /// Changes of links, by time.
    pub events: Vec<Change>,
    /// Events of connections, by time.
    pub flow_events: Vec<FlowEvent>,
}

/// How packets choose among next hops of equal cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecmp {
    /// By a hash of the flow's addresses and ports.
    Flow,
    /// At random for each packet.
    Packet,
}

/// A host or router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// Passes on packets that are not for itself.
    pub forward: bool,
}

/// Two link directions between two nodes; each end is an interface with an address of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplexLink {
    /// Unique name: of the `[[path]]`, `[[link]]`, or `mesh.left-right`.
    pub name: String,
    /// Indices of the two nodes: `[terminal, server]` for a path.
    pub ends: [usize; 2],
    /// `[from ends[0] to ends[1], back]`; named `NAME.up` and `NAME.down` for a path, `NAME.forward` and
    /// `NAME.reverse` otherwise.
    pub directions: [Direction; 2],
}

/// One direction of a duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Unique name.
    pub name: String,
    /// Serialisation rate: the least of these at each moment, at least one.
    pub rate: Vec<Rate>,
    /// Propagation delay: the sum of these, at least one.
    pub delay: Vec<Delay>,
    /// Limit of a drop-tail queue, or a queue discipline.
    pub queue: Queue,
    /// Loss models, all at work at once; empty: nothing is lost.
    pub loss: Vec<Choice<Losses>>,
    /// Token buckets behind the queue, all at work at once.
    pub shapers: Vec<Shaper>,
    /// Corruption, duplication and reordering.
    pub faults: Faults,
    /// Which segments lose their MPTCP options.
    pub strip: Strip,
}

/// Treatment of MPTCP options by a middlebox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strip {
    /// Nothing.
    #[default]
    Never,
    /// It takes them all away.
    Always,
    /// It takes those on SYNs away.
    Syn,
    /// It takes them all away once this number of segments with options has passed.
    After(u64),
}

/// One flow: an application over a transport between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Node that sends the data.
    pub from: usize,
    /// Node that receives it.
    pub to: usize,
    /// True if the receiver opens the connection (a download).
    pub opened_by_receiver: bool,
    /// When it starts; with `after` the time from the last end of those flows.
    pub start: SimTime,
    /// Flows that must have ended before.
    pub after: Vec<usize>,
    /// It starts at a random time up to this much later.
    pub spread: Nanos,
    /// When its application stops writing, at the latest.
    pub stop: SimTime,
    /// Its application. Flows of one `count` share this and the next.
    pub app: Arc<Choice<Apps>>,
    /// Its transport.
    pub transport: Arc<Transport>,
    /// Duplex link over which a TCP connection, or the first subflow, leaves; `None`: routing decides.
    pub via: Option<usize>,
    /// Also run this flow as plain TCP or a plain association over each path alone, with the same seeds.
    pub compare_paths: bool,
}

/// A performance enhancing proxy (RFC 3135): ends of two connections on one node, and the bytes between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// Unique name.
    pub name: String,
    /// Its node, which forwards and is the end of no flow that it intercepts.
    pub node: usize,
    /// The connections that it ends.
    pub kind: ProxyKind,
    /// When it answers the client.
    pub handshake: ProxyHandshake,
    /// Most that it passes on in each direction, all connections together; `None`: no limit.
    pub rate: Option<BitsPerSecond>,
    /// Most connections at a time; `None`: no limit.
    pub connections: Option<u32>,
    /// When it crashes, by time.
    pub crashes: Vec<ProxyCrash>,
    /// The servers whose connections it intercepts.
    pub servers: ProxyServers,
    /// The flows that it intercepts where they cross its node: all of them carry TCP or MPTCP.
    pub flows: Vec<usize>,
    /// Its end of the connection with the client.
    pub client: Arc<Transport>,
    /// Its end of the connection with the server.
    pub server: Arc<Transport>,
}

/// Connections that a proxy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// TCP on both sides: a client with MPTCP falls back.
    Split,
    /// The whole MPTCP connection of the client; TCP or MPTCP with the server.
    Mptcp,
    /// One subflow of an MPTCP connection, as if it were its end: the server speaks MPTCP too.
    OneSubflow,
    /// A Transport Converter (RFC 8803), which clients ask for their servers: TCP or MPTCP on both sides.
    Convert,
}

/// Servers of flows that have some with MPTCP and some without, by what a proxy intercepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyServers {
    /// All.
    All,
    /// Servers that speak TCP alone.
    Plain,
    /// Servers that speak MPTCP, as the flow does.
    Multipath,
}

/// A crash of a proxy while the run goes on: its connections are gone with all that they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyCrash {
    /// When.
    pub at: SimTime,
    /// How its peers learn of it.
    pub form: CrashForm,
}

/// How the peers of a proxy learn that it has crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashForm {
    /// The process dies: its kernel resets the connections, and the process begins anew at once.
    Reset,
    /// The power fails: nothing answers any more.
    Silent,
}

/// When a proxy answers the SYN of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHandshake {
    /// At once.
    Early,
    /// When the server has answered.
    Late,
}

/// A transport with all its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Name of the profile that the defaults came from.
    pub profile: String,
    /// TCP, also of each subflow.
    pub tcp: Arc<TcpConfig>,
    /// Congestion control; `None`: datagrams.
    pub congestion: Option<Choice<Congestion>>,
    /// MPTCP; `None`: plain TCP.
    pub mptcp: Option<Multipath>,
    /// Associations instead of TCP: of `tcp` the MSS and the buffers have a meaning.
    pub sctp: Option<Associations>,
    /// Datagrams instead of TCP: then `tcp` has no meaning.
    pub udp: Option<UdpConfig>,
}

impl Transport {
    /// It is TCP or MPTCP.
    pub fn is_stream(&self) -> bool {
        self.udp.is_none() && self.sctp.is_none()
    }
}

/// The part of a transport that is SCTP.
#[derive(Clone, Debug, PartialEq)]
pub struct Associations {
    /// Settings.
    pub config: Arc<SctpConfig>,
    /// Scheduler of concurrent transfer; `None` without that.
    pub scheduler: Option<Choice<Schedulers>>,
    /// Only one path: that of `via`, or the first. No key says so: baselines are.
    pub single_homed: bool,
}

/// The multipath part of a transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipath {
    /// Protocol settings.
    pub config: MptcpConfig,
    /// Scheduler.
    pub scheduler: Choice<Schedulers>,
    /// Addresses of the in-kernel path manager; those in `config` are filled in where the interfaces are known.
    pub endpoints: Vec<Endpoint>,
}

/// One address of the in-kernel path manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The duplex link that the address is on.
    pub duplex_link: usize,
    /// The address of the end that opens the connection.
    pub client: bool,
    /// Its use: backup, subflow, signal.
    pub flags: EndpointFlags,
}

/// Something that happens to a connection while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// When.
    pub at: SimTime,
    /// Index of the flow.
    pub flow: usize,
    /// At the end that opens the connection.
    pub client: bool,
    /// The action.
    pub what: FlowAction,
}

/// An event of a connection. Addresses are named by their duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAction {
    /// An address leaves.
    Leave(usize),
    /// An address comes, or comes back.
    Join(usize),
    /// The subflows of an address become backups, or are so no longer.
    Backup(usize, bool),
    /// The connection is aborted.
    Abort(AbortForm),
}

/// A change of one or both directions of a duplex link while the run goes on. `None` leaves a parameter as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: SimTime,
    /// `(duplex_link, direction)`.
    pub links: Vec<(usize, usize)>,
    /// New rate.
    pub rate: Option<Vec<Rate>>,
    /// New delay.
    pub delay: Option<Vec<Delay>>,
    /// New queue limit or discipline.
    pub queue: Option<Queue>,
    /// New loss models; empty: none from now on.
    pub loss: Option<Vec<Choice<Losses>>>,
    /// New token buckets; empty: none from now on.
    pub shapers: Option<Vec<Shaper>>,
    /// New probabilities of faults.
    pub faults: Option<Faults>,
    /// New middlebox.
    pub strip: Option<Strip>,
    /// Down: nothing is transmitted; up again: what waits is.
    pub up: Option<bool>,
}
