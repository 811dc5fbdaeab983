//! A listener of a proxy: the server that its connections are for, and how they are answered.
//!
//! May: make the end towards the server. May not: know the client but by its packets.

use std::sync::Arc;

use scenario::model::{ProxyHandshake, ProxyKind};
use transport::Connection;
use transport::config::MptcpConfig;
use transport::convert::{ConvertError, ConvertMessage};
use transport::mptcp::option::MptcpOption;
use transport::packet::Packet;
use transport::space::SpaceSignal;

use crate::host::config::{Listener, Opener};
use crate::host::machine::Machine;
use crate::net::address::Port;
use crate::net::topology::NodeId;
use crate::relay::Answer;

/// The way on from a listener of a proxy.
#[derive(Debug)]
pub(crate) struct Onward {
    /// Index of the proxy.
    proxy: usize,
    kind: ProxyKind,
    handshake: ProxyHandshake,
    /// Towards the server.
    opener: Opener,
    /// Answers SYNs of subflows that it knows no connection of, as a server without MPTCP does.
    stranger: Listener,
    /// How the ends of the flow write their options: those of a subflow between them do so too.
    options: Arc<MptcpConfig>,
}

impl Onward {
    /// A listener's way on: `opener` makes the end towards the server, `stranger` answers unknown subflows.
    pub(crate) fn new(
        (proxy, kind, handshake): (usize, ProxyKind, ProxyHandshake),
        opener: Opener,
        stranger: Listener,
        options: Arc<MptcpConfig>,
    ) -> Self {
        Self { proxy, kind, handshake, opener, stranger, options }
    }

    /// Index of the proxy.
    pub(crate) fn proxy(&self) -> usize {
        self.proxy
    }

    /// Each of its relays carries one subflow of a connection between others.
    pub(crate) fn relays_subflows(&self) -> bool {
        self.kind == ProxyKind::OneSubflow
    }

    /// Clients ask it for their servers (RFC 8803).
    pub(crate) fn converts(&self) -> bool {
        self.kind == ProxyKind::Convert
    }

    /// Payload of the SYN/ACK that answers this SYN, when the server has answered in this way.
    pub(crate) fn answer(&self, syn: &Packet, answer: Option<Answer>) -> Option<ConvertMessage> {
        let Some(SpaceSignal::Convert(ConvertMessage::Connect { extended })) = syn.signal() else {
            return None;
        };
        Some(match answer {
            Some(Answer::Accepts { size }) => {
                // Options fill at most 40 bytes.
                let options = size.saturating_sub(self.opener.header()).0 as u8;
                ConvertMessage::Accepted { options: extended.then_some(options) }
            }
            Some(Answer::Resets) => ConvertMessage::Refused(ConvertError::ConnectionReset),
            None => ConvertMessage::Refused(ConvertError::NetworkFailure),
        })
    }

    /// The client's SYN waits for the answer of the server.
    pub(crate) fn is_late(&self) -> bool {
        self.handshake == ProxyHandshake::Late
    }

    /// The end towards the server, whose SYN is ready, and where it goes: own node, node and port of the server.
    pub(crate) fn open(&mut self) -> (Machine, (NodeId, NodeId, Port)) {
        let (server, port) = self.opener.server(false);
        (self.opener.connect(), (self.opener.node(), server, port))
    }

    /// The same for one subflow whose SYN had this option.
    pub(crate) fn open_subflow(&mut self, syn: MptcpOption) -> (Machine, (NodeId, NodeId, Port)) {
        let (server, port) = self.opener.server(false);
        (Machine::Stream(self.opener.connect_subflow(syn, &self.options)), (self.opener.node(), server, port))
    }

    /// The end towards the client of one subflow.
    pub(crate) fn accept_subflow(&self) -> Connection {
        self.stranger.accept_subflow(&self.options)
    }

    /// The flow whose connections it carries.
    pub(crate) fn flow(&self) -> u32 {
        self.stranger.flow()
    }

    /// A TCP end for a SYN that belongs to no connection known here.
    pub(crate) fn stranger(&mut self) -> Option<Connection> {
        let key = self.stranger.draw_key();
        match self.stranger.accept(transport::AddressPair { local: None, remote: None }, key) {
            Machine::Stream(connection) => Some(connection),
            Machine::Datagrams(_) | Machine::Leg(_) => None,
        }
    }
}
