//! A checked scenario: what the rest of the laboratory works with. Every name is resolved to an index, every
//! default is filled in, every value lies within its bounds. Only the parser makes one.

use links::QueueLimit;
use transport::config::{MptcpConfig, TcpConfig};
use units::{BitsPerSecond, Bytes, Nanos, Options, SimTime};

/// One of several algorithms by name, with its options filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Name in its registry.
    pub kind: String,
    /// Its options, all of them.
    pub options: Options,
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
    /// How equal-cost paths are shared.
    pub ecmp: Ecmp,
    /// Interval of the recorded time series.
    pub record_interval: Nanos,
    /// Nodes in order of appearance.
    pub nodes: Vec<Node>,
    /// Duplex connections between two nodes.
    pub cables: Vec<Cable>,
    /// Flows in order of appearance.
    pub flows: Vec<Flow>,
    /// Changes of links, by time.
    pub events: Vec<Change>,
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
pub struct Cable {
    /// Unique name: of the `[[path]]`, `[[link]]`, or `mesh.left-right`.
    pub name: String,
    /// Indices of the two nodes: `[terminal, server]` for a path.
    pub ends: [usize; 2],
    /// `[from ends[0] to ends[1], back]`; named `NAME.up` and `NAME.down` for a path, `NAME.forward` and
    /// `NAME.reverse` otherwise.
    pub directions: [Direction; 2],
}

/// One direction of a cable.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Unique name.
    pub name: String,
    /// Serialisation rate.
    pub rate: BitsPerSecond,
    /// Propagation delay.
    pub delay: Nanos,
    /// Limit of the drop-tail queue.
    pub queue: QueueLimit,
    /// Loss model; `None`: nothing is lost.
    pub loss: Option<Choice>,
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
    /// When it starts.
    pub start: SimTime,
    /// When its application stops writing, at the latest.
    pub stop: SimTime,
    /// What it sends.
    pub app: Choice,
    /// What carries it.
    pub transport: Transport,
    /// Cable over which a TCP connection, or the first subflow, leaves; `None`: routing decides.
    pub via: Option<usize>,
    /// Also run this flow as plain TCP over each path alone, with the same seeds.
    pub compare_paths: bool,
}

/// A transport with all its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Name of the profile that the defaults came from.
    pub profile: String,
    /// TCP, also of each subflow.
    pub tcp: TcpConfig,
    /// Congestion control.
    pub congestion: Choice,
    /// MPTCP; `None`: plain TCP.
    pub mptcp: Option<Multipath>,
}

/// The multipath part of a transport.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipath {
    /// Protocol settings.
    pub config: MptcpConfig,
    /// Scheduler.
    pub scheduler: Choice,
}

/// A change of one or both directions of a cable while the run goes on. `None` leaves a parameter as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: SimTime,
    /// `(cable, direction)`.
    pub links: Vec<(usize, usize)>,
    /// New rate.
    pub rate: Option<BitsPerSecond>,
    /// New delay.
    pub delay: Option<Nanos>,
    /// New queue limit.
    pub queue: Option<QueueLimit>,
    /// New loss model; `Some(None)`: none from now on.
    pub loss: Option<Option<Choice>>,
    /// Down: nothing is transmitted; up again: what waits is.
    pub up: Option<bool>,
}

impl Scenario {
    /// Product of bandwidth and delay that a fixed receive buffer should have for `flow`: twice the sum of the
    /// rates of its cables times the largest round-trip time.
    pub fn recommended_buffer(rates: &[BitsPerSecond], round_trips: &[Nanos]) -> Bytes {
        let sum: u64 = rates.iter().map(|r| r.0).sum();
        let longest = round_trips.iter().copied().max().unwrap_or(Nanos::ZERO);
        BitsPerSecond(2 * sum).bytes_in(longest)
    }
}
