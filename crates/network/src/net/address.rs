//! Addresses of hosts with ports.
//!
//! May: name an interface of a node and a port there. May not: know routes, hosts or connections.

use std::fmt;

use crate::net::topology::NodeId;

/// A port of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port(pub(crate) u16);

/// An address with a port, as one number of 48 bits: every packet carries two, and is found by them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketAddress(u64);

/// Bits of a port.
const PORT: u32 = u16::BITS;
/// Bits of an interface: 0 is the address of the node itself, which routing reaches over any interface; the others
/// are interfaces plus one.
const INTERFACE: u32 = 9;
/// Bits of a node.
const NODE: u32 = 23;

impl SocketAddress {
    /// `port` at an interface of `node`; without an interface, at the address of the node itself.
    pub(crate) fn new(node: NodeId, interface: Option<u8>, port: Port) -> Self {
        debug_assert!(node < 1 << NODE, "node {node} has no address");
        let interface = interface.map_or(0, |interface| u64::from(interface) + 1);
        Self((node as u64) << (INTERFACE + PORT) | interface << PORT | u64::from(port.0))
    }

    /// The host.
    #[inline]
    pub(crate) fn node(self) -> NodeId {
        (self.0 >> (INTERFACE + PORT)) as NodeId
    }

    /// Its interface; `None`: the address of the host itself.
    pub(crate) fn interface(self) -> Option<u8> {
        let interface = (self.0 >> PORT) & ((1 << INTERFACE) - 1);
        interface.checked_sub(1).map(|interface| interface as u8)
    }

    /// The port.
    #[inline]
    pub(crate) fn port(self) -> Port {
        Port(self.0 as u16)
    }

    /// This address and a port of another host as one number.
    #[inline]
    pub(crate) fn with_port(self, other: Port) -> u64 {
        self.0 | u64::from(other.0) << (NODE + INTERFACE + PORT)
    }
}

impl fmt::Debug for SocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interface = self.interface().map_or_else(String::new, |interface| format!(".{interface}"));
        write!(f, "node {}{interface}:{}", self.node(), self.port().0)
    }
}

/// Where a packet comes from and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketAddresses {
    /// Address of its sender.
    pub(crate) source: SocketAddress,
    /// Address of its receiver.
    pub(crate) destination: SocketAddress,
}

impl PacketAddresses {
    /// Addresses of packets in the other direction.
    pub(crate) fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_parts() {
        for interface in [None, Some(0), Some(255)] {
            let address = SocketAddress::new(70_000, interface, Port(5001));
            assert_eq!(
                (address.node(), address.interface(), address.port()),
                (70_000, interface, Port(5001))
            );
        }
        let numbers =
            [None, Some(0), Some(255)].map(|i| SocketAddress::new(1, i, Port(9)).with_port(Port(2)));
        assert_eq!(numbers, [0x0002_0000_0200_0009, 0x0002_0000_0201_0009, 0x0002_0000_0300_0009]);
        assert_eq!(format!("{:?}", SocketAddress::new(3, Some(1), Port(80))), "node 3.1:80");
    }
}
