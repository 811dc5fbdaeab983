//! Everything that an emulation needs beside the links: plain data that a back end makes from a scenario.

use std::net::Ipv4Addr;

use apps::Apps;
use network::{Interface, NodeId};
use scenario::model::Choice;
use units::{Bytes, Nanos, SimTime};

use crate::command::CommandPlan;
use crate::control::ControlPlan;

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Nodes with sockets.
    pub hosts: Vec<HostPlan>,
    /// Transfers.
    pub flows: Vec<FlowPlan>,
    /// Pairs of addresses that routing does not connect, and the path between them all the same.
    pub arrivals: Vec<Arrival>,
    /// Congestion controls that the kernel does not have.
    pub controls: Vec<ControlPlan>,
    /// Bytes that a link charges for each packet beside the IP packet.
    pub overhead: Bytes,
    /// Interval of the time series; `None`: none are recorded.
    pub series: Option<Nanos>,
}

/// Packets of an interface to the address of another one arrive at a third: a host takes those to any of its addresses at any
/// of its interfaces (RFC 1122 section 3.3.4.2, weak model).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The interface that they leave by.
    pub from: Interface,
    /// The interface with the address that they are sent to.
    pub to: Interface,
    /// The interface of the same host at which they arrive.
    pub at: Interface,
}

impl Plan {
    /// The interface at which packets of `from` to the address of `to` arrive.
    pub fn arrival(&self, from: Interface, to: Interface) -> Interface {
        let found = self.arrivals.iter().find(|arrival| (arrival.from, arrival.to) == (from, to));
        found.map_or(to, |arrival| arrival.at)
    }
}

/// One host: a network namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPlan {
    /// Its node.
    pub node: NodeId,
    /// Its interfaces that lead to other hosts.
    pub uplinks: Vec<Uplink>,
    /// Limits of its path manager.
    pub limits: Limits,
    /// Addresses of its path manager.
    pub endpoints: Vec<Endpoint>,
    /// Changes of them, by time.
    pub changes: Vec<EndpointChange>,
    /// `net.ipv4.*` settings by name.
    pub settings: Vec<(&'static str, String)>,
}

/// One interface: a TUN device.
#[derive(Clone, Debug, PartialEq)]
pub struct Uplink {
    /// The interface.
    pub interface: Interface,
    /// Its addresses beside the first one.
    pub further: u8,
    /// Largest IP packet.
    pub mtu: u32,
    /// Addresses that it leads to.
    pub routes: Vec<Route>,
    /// Congestion control of sockets that set none.
    pub congestion: Option<String>,
}

/// A destination behind a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address of another host.
    pub to: Ipv4Addr,
    /// The interface whose addresses the packets have: that of the device, or another one of the host.
    pub source: Interface,
    /// This device is the one for packets of any source as well.
    pub preferred: bool,
}

/// `ip mptcp limits`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Further subflows of a connection.
    pub subflows: u32,
    /// Announced addresses that are accepted.
    pub add_addr_accepted: u32,
}

/// `ip mptcp endpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub address: Ipv4Addr,
    /// Its device.
    pub interface: Interface,
    /// Flags as `ip mptcp endpoint add` takes them.
    pub flags: Vec<&'static str>,
    /// It is not there at the start.
    pub absent: bool,
}

/// A change of an endpoint while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointChange {
    /// When.
    pub at: SimTime,
    /// Its place among the endpoints of the host.
    pub endpoint: usize,
    /// The change.
    pub what: ChangeOfEndpoint,
}

/// Kinds of such changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOfEndpoint {
    /// It is added.
    Add,
    /// It is deleted.
    Delete,
    /// Its subflows become backups, or are so no longer.
    Backup(bool),
}

/// The two ends of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// An application of the simulator.
    App(Choice<Apps>),
    /// Commands of the user.
    Commands(CommandPlan),
}

/// Kind and options of the sockets of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketPlan {
    /// MPTCP instead of TCP.
    pub mptcp: bool,
    /// UDP instead of both: payload of a datagram at most.
    pub datagrams: Option<u64>,
    /// Congestion control by the kernel's name.
    pub congestion: String,
    /// `SO_RCVBUF`; `None`: autotuned.
    pub receive_buffer: Option<u32>,
    /// `SO_SNDBUF`, half of the size in the scenario, since the kernel doubles it; `None`: the buffer expands.
    pub send_buffer: Option<u32>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
}

/// A flow: an application and how its connections are made.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Its name, which its random numbers belong to.
    pub name: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Its two ends.
    pub program: Program,
    /// Node that sends the data.
    pub from: NodeId,
    /// Node that receives it.
    pub to: NodeId,
    /// The receiver opens the connection.
    pub opened_by_receiver: bool,
    /// Address of the end that opens it.
    pub client: Ipv4Addr,
    /// Address of the end that listens.
    pub server: Ipv4Addr,
    /// Its sockets at both ends.
    pub sockets: SocketPlan,
    /// When it starts; with `after` the time from the last end of those flows.
    pub start: SimTime,
    /// Flows that must have ended before, by their place in the plan.
    pub after: Vec<usize>,
    /// It starts at a random time up to this much later.
    pub spread: Nanos,
    /// When its application stops writing at the latest.
    pub stop: SimTime,
    /// Least that a reader with a rate reads at a time.
    pub mss: Bytes,
}

impl FlowPlan {
    /// Node of the end that opens the connection.
    pub fn client_node(&self) -> NodeId {
        if self.opened_by_receiver { self.to } else { self.from }
    }

    /// Node of the end that listens.
    pub fn server_node(&self) -> NodeId {
        if self.opened_by_receiver { self.from } else { self.to }
    }
}

/// Ports of the listeners: this one and those above, by flow.
const FIRST_PORT: u16 = 5001;
/// Ports of servers that do not speak MPTCP.
const FIRST_PLAIN_PORT: u16 = 15_001;
/// Flows that have ports.
pub const MOST_FLOWS: usize = 1_000;

/// The ports at which the server of a flow and the plain one beside it listen.
pub(crate) fn ports(flow: usize) -> [u16; 2] {
    debug_assert!(flow < MOST_FLOWS, "flow {flow} has no port");
    [FIRST_PORT, FIRST_PLAIN_PORT].map(|first| first + flow as u16)
}
