//! Addresses of hosts with ports.
//!
//! May: name an interface of a node and a port there. May not: know routes, hosts or connections.

use crate::topology::NodeId;

/// A port of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port(pub(crate) u16);

/// An address with a port, in eight bytes: every packet carries two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketAddress {
    node: u32,
    /// 0: the address of the node itself, which routing reaches over any interface; otherwise the interface plus one.
    interface: u16,
    port: Port,
}

impl SocketAddress {
    /// `port` at an interface of `node`; without an interface, at the address of the node itself.
    pub(crate) fn new(node: NodeId, interface: Option<u8>, port: Port) -> Self {
        debug_assert!(u32::try_from(node).is_ok(), "node {node} has no address");
        Self { node: node as u32, interface: interface.map_or(0, |i| u16::from(i) + 1), port }
    }

    /// The host.
    pub(crate) fn node(self) -> NodeId {
        self.node as NodeId
    }

    /// Its interface; `None`: the address of the host itself.
    pub(crate) fn interface(self) -> Option<u8> {
        self.interface.checked_sub(1).map(|interface| interface as u8)
    }

    /// The port.
    pub(crate) fn port(self) -> Port {
        self.port
    }

    /// All of it as one number.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.node) << 32 | u64::from(self.interface) << 16 | u64::from(self.port.0)
    }
}

/// Where a packet comes from and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketAddresses {
    /// Of its sender.
    pub(crate) source: SocketAddress,
    /// Of its receiver.
    pub(crate) destination: SocketAddress,
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
        let bits = [None, Some(0), Some(255)].map(|i| SocketAddress::new(1, i, Port(9)).bits());
        assert_eq!(bits, [0x1_0000_0009, 0x1_0001_0009, 0x1_0100_0009]);
    }
}
