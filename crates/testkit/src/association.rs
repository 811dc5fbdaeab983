//! A scripted peer of an association.

use transport::packet::{Body, Packet, PathId};
use transport::sctp::Association;
use transport::sctp::chunk::SctpPacket;
use units::SimTime;

/// All packets that leave now, with their paths.
///
/// # Panics
/// If a packet is none of SCTP.
pub fn leaving_by_path(end: &mut Association, now: SimTime) -> Vec<(PathId, SctpPacket)> {
    let mut packets = Vec::new();
    let mut packet = Packet::default();
    while end.poll_transmit(now, &mut packet).is_packet() {
        let Body::Sctp(body) = packet.body else { panic!("{packet:?}") };
        packets.push((packet.path, body));
    }
    packets
}

/// The same without the paths.
///
/// # Panics
/// If a packet is none of SCTP.
pub fn leaving(end: &mut Association, now: SimTime) -> Vec<SctpPacket> {
    leaving_by_path(end, now).into_iter().map(|(_, packet)| packet).collect()
}

/// `packet` arrives on the first path; the packets that leave then.
///
/// # Panics
/// If one of them is none of SCTP.
pub fn hears(end: &mut Association, now: SimTime, packet: SctpPacket) -> Vec<SctpPacket> {
    let payload = packet.data.user_data().0 as u32;
    let body = Body::Sctp(packet);
    end.on_packet(now, &Packet { path: PathId::FIRST, payload, body, ..Packet::default() });
    leaving(end, now)
}
