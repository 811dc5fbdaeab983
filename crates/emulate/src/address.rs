//! The addresses of hosts: one plan for devices, routes, endpoints and packets.

use std::net::Ipv4Addr;

use network::Interface;

/// Hosts begin their addresses with 10.64.0.0/10: a node has at most 250 interfaces, a scenario at most 60 nodes with sockets.
const NETWORK: [u8; 2] = [10, 64];
/// Nodes that have addresses.
pub const MOST_NODES: usize = 60;

/// The address of an interface: the second byte names the node, the third the interface.
pub fn address(at: Interface) -> Ipv4Addr {
    further_address(at, 0)
}

/// The `number`-th further address of an interface; 0 is the first one.
pub fn further_address(at: Interface, number: u8) -> Ipv4Addr {
    debug_assert!(at.node < MOST_NODES, "node {} has no address", at.node);
    Ipv4Addr::new(NETWORK[0], NETWORK[1] + at.node as u8, at.number, number + 1)
}

/// The interface of an address; `None` for one that no host has.
pub fn interface(address: Ipv4Addr) -> Option<Interface> {
    let [first, node, number, host] = address.octets();
    let node = usize::from(node.checked_sub(NETWORK[1])?);
    let ours = first == NETWORK[0] && node < MOST_NODES && host > 0;
    ours.then_some(Interface { node, number })
}

/// Source and destination of an IPv4 packet; `None` if it is none.
pub(crate) fn of_packet(packet: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    if packet.len() < 20 || packet[0] >> 4 != 4 {
        return None;
    }
    let at = |from: usize| Ipv4Addr::new(packet[from], packet[from + 1], packet[from + 2], packet[from + 3]);
    Some((at(12), at(16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_interface() {
        for at in [Interface { node: 0, number: 0 }, Interface { node: 59, number: 200 }] {
            for number in 0..4 {
                assert_eq!(interface(further_address(at, number)), Some(at));
            }
        }
        for stranger in [[10, 63, 0, 1], [10, 124, 0, 1], [11, 64, 0, 1], [10, 64, 0, 0]] {
            assert_eq!(interface(stranger.into()), None, "{stranger:?}");
        }
    }

    #[test]
    fn only_ipv4_packets_have_addresses() {
        let mut packet = vec![0x45; 20];
        packet[12..20].copy_from_slice(&[10, 64, 0, 1, 10, 65, 0, 1]);
        let (from, to) = of_packet(&packet).unwrap();
        assert_eq!((from.octets(), to.octets()), ([10, 64, 0, 1], [10, 65, 0, 1]));
        assert_eq!(of_packet(&packet[..19]), None);
        packet[0] = 0x60;
        assert_eq!(of_packet(&packet), None);
    }
}
