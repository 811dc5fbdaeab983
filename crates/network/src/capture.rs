//! Packets where they cross interfaces, for a capture.
//!
//! May: show packets to a sink, with the addresses and flows of this world. May not: know bytes or files.

use std::fmt;

use transport::packet::{Packet, PathId};
use units::SimTime;

use crate::net::address::{Port, SocketAddress};
use crate::net::topology::{LinkId, NodeId};

/// An address of a host with a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostAddress(SocketAddress);

impl HostAddress {
    /// `port` at an interface of the host; without an interface, at the address of the host itself.
    pub fn new(node: NodeId, interface: Option<u8>, port: u16) -> Self {
        Self(SocketAddress::new(node, interface, Port(port)))
    }

    /// The host.
    #[inline]
    pub fn node(self) -> NodeId {
        self.0.node()
    }

    /// Its interface; `None`: the address of the host itself.
    #[inline]
    pub fn interface(self) -> Option<u8> {
        self.0.interface()
    }

    /// The port.
    #[inline]
    pub fn port(self) -> u16 {
        self.0.port().0
    }
}

impl From<SocketAddress> for HostAddress {
    #[inline]
    fn from(address: SocketAddress) -> Self {
        Self(address)
    }
}

/// A subflow that its client opens; also a conversation over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedSubflow {
    /// Client and server.
    pub ends: [HostAddress; 2],
    /// Index of the flow.
    pub flow: usize,
    /// Number of its connection.
    pub connection: u32,
    /// Number of the subflow.
    pub path: PathId,
}

/// A packet at an interface.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'a> {
    /// When.
    pub at: SimTime,
    /// The interface, by the link that leaves there.
    pub interface: LinkId,
    /// It leaves the node; otherwise it has arrived.
    pub leaves: bool,
    /// Sender and receiver.
    pub ends: [HostAddress; 2],
    /// Its number, until it is delivered or lost: then another packet may have it.
    pub number: u32,
    /// The packet.
    pub packet: &'a Packet,
}

/// Takes in all packets of a run, in the order of time.
pub trait PacketSink: fmt::Debug {
    /// A subflow is opened; its packets follow.
    fn opened(&mut self, subflow: &OpenedSubflow);

    /// The subflow between these ends goes to a converter, and asks it for this server.
    fn asks(&mut self, ends: [HostAddress; 2], server: HostAddress);

    /// A packet crosses an interface. One that is lost on a link is seen where it leaves only.
    fn packet(&mut self, crossing: &Crossing<'_>);
}
