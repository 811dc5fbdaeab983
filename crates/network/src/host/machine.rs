//! The protocol machine of a socket: a connection, one end of a conversation in datagrams, or an end of a relay.
//!
//! May: say which it is. May not: make one look like the other.

use transport::udp::{MessageNumber, UdpSocket};
use transport::{AddressPair, Connection};
use units::Bytes;

use crate::relay::leg::Leg;

/// The protocol behind a socket.
#[derive(Debug)]
pub(crate) enum Machine {
    /// TCP or MPTCP.
    Stream(Connection),
    /// UDP between these addresses.
    Datagrams(Box<(UdpSocket, AddressPair)>),
    /// TCP or MPTCP at a proxy.
    Leg(Box<Leg>),
}

impl Machine {
    /// The connection of an application; `None` with datagrams and at a proxy.
    #[inline]
    pub(crate) fn connection(&self) -> Option<&Connection> {
        match self {
            Self::Stream(connection) => Some(connection),
            Self::Datagrams(_) | Self::Leg(_) => None,
        }
    }

    /// The same, to be called.
    #[inline]
    pub(crate) fn connection_mut(&mut self) -> Option<&mut Connection> {
        match self {
            Self::Stream(connection) => Some(connection),
            Self::Datagrams(_) | Self::Leg(_) => None,
        }
    }

    /// The end of a relay, if it is one.
    pub(crate) fn leg(&self) -> Option<&Leg> {
        match self {
            Self::Leg(leg) => Some(leg),
            Self::Stream(_) | Self::Datagrams(_) => None,
        }
    }

    /// The same, to be called.
    pub(crate) fn leg_mut(&mut self) -> Option<&mut Leg> {
        match self {
            Self::Leg(leg) => Some(leg),
            Self::Stream(_) | Self::Datagrams(_) => None,
        }
    }

    /// The socket for datagrams, if it is one.
    #[inline]
    pub(crate) fn datagrams(&self) -> Option<&UdpSocket> {
        match self {
            Self::Stream(_) | Self::Leg(_) => None,
            Self::Datagrams(end) => Some(&end.0),
        }
    }

    /// The same, to be called.
    #[inline]
    pub(crate) fn datagrams_mut(&mut self) -> Option<&mut UdpSocket> {
        match self {
            Self::Stream(_) | Self::Leg(_) => None,
            Self::Datagrams(end) => Some(&mut end.0),
        }
    }

    /// Sends a message in datagrams.
    ///
    /// # Panics
    /// If it is a connection.
    pub(crate) fn send_datagrams(&mut self, number: MessageNumber, size: Bytes) {
        self.datagrams_mut().expect("both ends of a conversation speak UDP").send(number, size);
    }
}
