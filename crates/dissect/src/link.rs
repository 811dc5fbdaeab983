//! Link headers: from a captured packet to its IP datagram.

/// Which way a packet crosses its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Into the host.
    In,
    /// Out of it.
    Out,
}

/// Link types, as tcpdump.org lists them.
mod linktype {
    pub(super) const NULL: i32 = 0;
    pub(super) const ETHERNET: i32 = 1;
    pub(super) const RAW_BSD: i32 = 12;
    pub(super) const RAW_OPENBSD: i32 = 14;
    pub(super) const RAW: i32 = 101;
    pub(super) const LOOP: i32 = 108;
    pub(super) const SLL: i32 = 113;
    pub(super) const IPV4: i32 = 228;
    pub(super) const IPV6: i32 = 229;
    pub(super) const SLL2: i32 = 276;
}

/// PPP over Ethernet: a header of six bytes, and the protocol of PPP.
const PPPOE: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tags of virtual networks.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// In a cooked header: sent by this host; addressed to it.
const SENT: u16 = 4;
const TO_US: u16 = 0;

/// The datagram behind a link header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram<'a> {
    /// Its bytes, with padding of the link behind it.
    pub(crate) bytes: &'a [u8],
    /// Direction, if the header has it.
    pub(crate) way: Option<Way>,
    /// Index of the interface, if the header has it.
    pub(crate) interface: u32,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn cooked(kind: u16) -> Option<Way> {
    match kind {
        TO_US => Some(Way::In),
        SENT => Some(Way::Out),
        _ => None,
    }
}

/// The datagram of a packet of this link type. `None`: no IP, or cut off. An unknown type is an error.
pub(crate) fn datagram(link: i32, packet: &[u8]) -> Result<Option<Datagram<'_>>, i32> {
    let plain = |at: usize| packet.get(at..).map(|bytes| Datagram { bytes, way: None, interface: 0 });
    Ok(match link {
        linktype::RAW | linktype::RAW_BSD | linktype::RAW_OPENBSD | linktype::IPV4 | linktype::IPV6 => {
            plain(0)
        }
        linktype::NULL | linktype::LOOP => plain(4),
        linktype::ETHERNET => ethernet(packet),
        linktype::SLL => tagged(packet, 14, 16).map(|bytes| Datagram {
            bytes,
            way: half(packet, 0).and_then(cooked),
            interface: 0,
        }),
        linktype::SLL2 => sll2(packet),
        unknown => return Err(unknown),
    })
}

fn ethernet(packet: &[u8]) -> Option<Datagram<'_>> {
    tagged(packet, 12, 14).map(|bytes| Datagram { bytes, way: None, interface: 0 })
}

fn sll2(packet: &[u8]) -> Option<Datagram<'_>> {
    let interface = u32::from_be_bytes(packet.get(4..8)?.try_into().ok()?);
    let way = packet.get(10).and_then(|kind| cooked(u16::from(*kind)));
    tagged(packet, 0, 20).map(|bytes| Datagram { bytes, way, interface })
}

/// Behind a header with its protocol field at `protocol`, which ends at `end`, and tags of virtual networks.
fn tagged(packet: &[u8], mut protocol: usize, mut end: usize) -> Option<&[u8]> {
    loop {
        match half(packet, protocol)? {
            IPV4 | IPV6 => return packet.get(end..),
            PPPOE => {
                let is_ip = matches!(half(packet, end + 6)?, PPP_IPV4 | PPP_IPV6);
                return packet.get(end + 8..).filter(|_| is_ip);
            }
            // Two bytes, and the protocol behind them.
            tag if VLAN.contains(&tag) => (protocol, end) = (end + 2, end + 4),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_type_has_its_header() {
        let ip = [0x45, 1, 2, 3];
        let with = |head: &[u8]| [head, &ip].concat();
        let found = |link, packet: &[u8]| {
            let datagram = datagram(link, packet).expect("a known type").expect("a datagram");
            (datagram.bytes.to_vec(), datagram.way, datagram.interface)
        };
        let plain = (ip.to_vec(), None, 0);
        assert_eq!(found(101, &ip), plain);
        assert_eq!(found(0, &with(&[2, 0, 0, 0])), plain);
        let macs = [0; 12];
        assert_eq!(found(1, &with(&[&macs[..], &[8, 0]].concat())), plain);
        assert_eq!(found(1, &with(&[&macs[..], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0]].concat())), plain);
        let pppoe = [&macs[..], &[0x88, 0x64, 0x11, 0, 0, 9, 0, 6, 0, 0x21]].concat();
        assert_eq!(found(1, &with(&pppoe)), plain);
        // The link control protocol.
        assert_eq!(datagram(1, &with(&[&pppoe[..20], &[0xc0, 0x21]].concat())), Ok(None));
        let sll = [&[0, 4][..], &[0; 12], &[8, 0]].concat();
        assert_eq!(found(113, &with(&sll)), (ip.to_vec(), Some(Way::Out), 0));
        let sll2 = [&[0x86, 0xdd, 0, 0, 0, 0, 0, 7, 0, 1, 0, 6][..], &[0; 8]].concat();
        assert_eq!(found(276, &with(&sll2)), (ip.to_vec(), Some(Way::In), 7));
        let tagged = [&[0x81, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6][..], &[0; 8], &[0, 5, 8, 0]].concat();
        assert_eq!(found(276, &with(&tagged)), (ip.to_vec(), Some(Way::Out), 7));
        // ARP, and headers that are cut off.
        assert_eq!(datagram(1, &[&macs[..], &[8, 6]].concat()), Ok(None));
        for link in [1, 113, 276] {
            assert_eq!(datagram(link, &[8]), Ok(None));
        }
        assert_eq!(datagram(105, &ip), Err(105));
    }
}
