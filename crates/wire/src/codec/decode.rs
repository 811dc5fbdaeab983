//! From the bytes of a packet to the packet.

use transport::mptcp::keys::{Hmac64, add_addr_hmac, stand_in_address};
use transport::mptcp::option::{Dss, Mapped, Margin, MptcpOption, ResetReason};
use transport::packet::{Body, Ecn, Packet, Priority};
use transport::seq::{Dsn, Seq, StreamOffset};
use transport::space::{Snack, SpaceSegment, SpaceSignal};
use transport::tcp::ranges::Range;
use transport::tcp::segment::{Flags, TcpSegment, Timestamps};
use transport::udp::{Datagram, MessageNumber};
use units::{Bytes, SimTime};

use super::associations::Peers;
use super::{Association, Codec, CodecError, Subflow};
use crate::convert;
use crate::frame::{Ends, Frame, TcpFlags, TcpHeader, Transport};
use crate::mptcp::{Mapping, Mptcp, Number};
use crate::options::{TcpOption, bytes_at};

/// The context in which the segment of one end is read.
struct Reader<'a> {
    subflow: &'a Subflow,
    association: &'a Association,
    /// The end that sent it.
    end: usize,
}

impl Codec {
    /// The packet that these bytes mean, between ends of which a subflow was opened. It is not marked as a retransmission,
    /// and its stream offset is that of its mapping.
    ///
    /// # Errors
    /// They are no packet of a machine.
    pub fn decode(&self, bytes: &[u8]) -> Result<(Ends, Packet), CodecError> {
        let frame = Frame::decode(bytes)?;
        let (index, end) = self.find(frame.ends)?;
        let subflow = &self.subflows[index];
        let association = &self.associations[subflow.association];
        let reader = Reader { subflow, association, end };
        let overhead = association.settings[end].overhead;
        let mut packet = Packet {
            path: subflow.opening.path,
            ecn: match frame.ecn {
                0 => Ecn::NotEct,
                0b11 => Ecn::Ce,
                _ => Ecn::Ect0,
            },
            size: Bytes(frame.len as u64) + overhead,
            payload: frame.payload_len as u32,
            ..Packet::default()
        };
        match frame.transport {
            Transport::Udp => packet.body = Body::Udp(datagram(&frame)),
            Transport::Tcp(header) => {
                packet.body = reader.body(&header, packet.payload, frame.payload)?;
                if let Body::Space(SpaceSegment { signal, segment }) = &packet.body {
                    packet.priority = if signal.is_low_priority() { Priority::Low } else { Priority::Normal };
                    packet.payload = segment.len;
                }
                packet.offset = packet.segment().map_or(StreamOffset::START, TcpSegment::stream_offset);
            }
            Transport::Sctp(header) => {
                let peers = Peers::new(association, &subflow.opening, (frame.ends.source.is_ipv6(), end));
                let body = peers.read(&header)?;
                // No chunk has the offset of its data in the stream.
                packet.payload = body.data.user_data().0 as u32;
                packet.body = Body::Sctp(body);
            }
            Transport::Other(_) => return Err(CodecError::Meaningless("neither TCP, UDP nor SCTP")),
        }
        Ok((frame.ends, packet))
    }
}

/// Numbers that were cut off are zero.
fn datagram(frame: &Frame<'_>) -> Datagram {
    let number = |at| bytes_at(frame.payload, at).map_or(0, u64::from_be_bytes);
    Datagram { number: number(0), message: MessageNumber(number(8)), len: frame.payload_len as u32 }
}

impl Reader<'_> {
    fn body(&self, header: &TcpHeader<'_>, payload: u32, data: &[u8]) -> Result<Body, CodecError> {
        let dummy = header.flags.has(TcpFlags::DUMMY);
        let says = header.flags.has(TcpFlags::SYN) && payload > 0;
        let mut segment = self.segment(header, if dummy || says { 0 } else { payload })?;
        let mut signal = match (dummy, payload) {
            (true, 0) => Some(SpaceSignal::DummyAnswer),
            (true, len) => Some(SpaceSignal::Dummy { len }),
            (false, _) if says => {
                let (message, _) = convert::read(data)
                    .ok_or(CodecError::Meaningless("data on a SYN that asks no converter"))?;
                Some(SpaceSignal::Convert(message))
            }
            (false, _) => None,
        };
        for option in header.options {
            match option {
                TcpOption::Timestamps { value, echo } => {
                    segment.timestamps = Some(self.timestamps(segment.flags, value, echo))
                }
                TcpOption::Sack(list) => {
                    for [start, end] in list.blocks() {
                        let at = |field| self.subflow.seq(1 - self.end, field, segment.ack);
                        let (start, end) = (at(start), at(end));
                        if start > end || !segment.sack.push(Range::new(start, end)) {
                            return Err(CodecError::Meaningless(
                                "SACK blocks that are no ranges, or too many",
                            ));
                        }
                    }
                }
                TcpOption::Mptcp(option) => self.mptcp(&mut segment, &option)?,
                TcpOption::ScpsCapable(_) => signal = Some(SpaceSignal::ScpsCapable),
                TcpOption::Snack { offset, size, vector } => {
                    signal = Some(SpaceSignal::Snack(snack(offset, size, vector)));
                }
                TcpOption::Broken(_) => return Err(CodecError::Meaningless("options that are cut off")),
                TcpOption::Mss(_)
                | TcpOption::WindowScale(_)
                | TcpOption::SackPermitted
                | TcpOption::Unknown { .. } => {}
            }
        }
        Ok(match signal {
            Some(signal) => Body::Space(SpaceSegment { segment, signal }),
            None => Body::Tcp(segment),
        })
    }

    fn segment(&self, header: &TcpHeader<'_>, len: u32) -> Result<TcpSegment, CodecError> {
        let has = |flag| header.flags.has(flag);
        let flags = Flags {
            syn: has(TcpFlags::SYN),
            ack: has(TcpFlags::ACK),
            fin: has(TcpFlags::FIN),
            rst: has(TcpFlags::RST),
            psh: has(TcpFlags::PSH),
            ece: has(TcpFlags::ECE),
            cwr: has(TcpFlags::CWR),
        };
        let [own, peer] = [self.end, 1 - self.end];
        let near = self.subflow.sent[own];
        let seq = if flags.syn {
            header.seq.extend(self.subflow.numbers.initial[own], near)
        } else {
            self.subflow.seq(own, header.seq, near)
        };
        let ack =
            if flags.ack { self.subflow.seq(peer, header.ack, self.subflow.sent[peer]) } else { Seq::SYN };
        if seq == Seq::SYN && len > 0 {
            return Err(CodecError::Meaningless("data in the place of the SYN"));
        }
        let window = self.association.settings[own].window(header.window, flags.syn);
        Ok(TcpSegment { flags, len, seq, ack, window, ..TcpSegment::default() })
    }

    /// RFC 7323 section 3.2: TSecr is valid only on segments with ACK. On a RST nothing reads it.
    fn timestamps(&self, flags: Flags, value: u32, echo: u32) -> Timestamps {
        let numbers = &self.subflow.numbers;
        let echo = if echo == 0 && (!flags.ack || flags.rst) {
            SimTime::NEVER
        } else {
            numbers.time(1 - self.end, echo)
        };
        Timestamps { value: numbers.time(self.end, value), echo }
    }

    /// Adds one option of several to those of the segment: a Data ACK belongs to the signal beside it.
    fn mptcp(&self, segment: &mut TcpSegment, option: &Mptcp<'_>) -> Result<(), CodecError> {
        let before = match segment.mptcp {
            MptcpOption::None => None,
            MptcpOption::Dss(Dss { data_ack, dsn: None, .. }) => data_ack,
            _ => return Err(CodecError::Meaningless("two MPTCP options that exclude each other")),
        };
        // An ADD_ADDR with an IPv6 address has no Data ACK beside it.
        let data_ack = before.unwrap_or_default();
        segment.mptcp = match *option {
            Mptcp::Capable { sender: None, .. } => MptcpOption::CapableSyn,
            Mptcp::Capable { sender: Some(key), receiver: None, .. } => MptcpOption::CapableSynAck(key),
            Mptcp::Capable { sender: Some(sender), receiver: Some(receiver), data_len, .. } => {
                if data_len.is_some() && segment.seq != Seq::FIRST_DATA {
                    return Err(CodecError::Meaningless("a mapping of MP_CAPABLE that is not the first"));
                }
                let after = data_len.map(|mapped| after(mapped.into(), segment.len));
                MptcpOption::CapableAck { sender, receiver, after }
            }
            Mptcp::JoinSyn { backup, id, token, nonce } => {
                let addresses = self.subflow.opening.interfaces;
                MptcpOption::JoinSyn { token, nonce, addresses, id, backup }
            }
            Mptcp::JoinSynAck { backup, id, hmac, nonce } => {
                MptcpOption::JoinSynAck { hmac, nonce, id, backup }
            }
            Mptcp::JoinAck { hmac } => MptcpOption::JoinAck { hmac },
            Mptcp::Dss { data_ack, mapping, data_fin } => {
                let mapped = mapping.map(|mapping| self.mapped(segment, mapping, data_fin)).transpose()?;
                let data_ack = data_ack.map(|ack| self.dsn(1 - self.end, ack)).transpose()?;
                let (dsn, margin) = (mapped.map(|mapped| mapped.dsn), mapped.unwrap_or_default().margin);
                MptcpOption::Dss(Dss { data_ack, dsn, margin, data_fin })
            }
            Mptcp::AddAddr { echo, id, address, hmac, .. } => {
                let of = if echo { 1 - self.end } else { self.end };
                let addresses = &self.association.settings[of].addresses;
                let interface = addresses.iter().position(|known| *known == address);
                let interface = interface.and_then(|interface| u8::try_from(interface).ok());
                let interface =
                    interface.ok_or(CodecError::Meaningless("an address that its host does not have"))?;
                let hmac = self.hmac_of_machine(hmac.unwrap_or_default(), id, interface);
                MptcpOption::AddAddr { id, address: interface, echo, hmac, data_ack }
            }
            Mptcp::RemoveAddr(ids) => MptcpOption::RemoveAddr { id: ids[0], data_ack },
            Mptcp::Prio { backup } => MptcpOption::Prio { backup, data_ack },
            Mptcp::FastClose { key } => MptcpOption::FastClose { key },
            Mptcp::Reset { reason, .. } => MptcpOption::Reset(reset_reason(reason)),
            Mptcp::Fail { .. } | Mptcp::Unknown(_) => return Ok(()),
        };
        Ok(())
    }

    /// The mapping of the payload, which may begin before it and end behind it.
    fn mapped(&self, segment: &TcpSegment, mapping: Mapping, data_fin: bool) -> Result<Mapped, CodecError> {
        let start = self.dsn(self.end, mapping.dsn)?;
        let inside = if segment.len == 0 {
            0
        } else {
            self.subflow.ssn(self.end, segment.seq).wrapping_sub(mapping.ssn)
        };
        let dsn = Dsn(start.0.wrapping_add(inside.into()));
        // Payload that is not in its mapping has none around it.
        let Ok(before) = u16::try_from(inside) else { return Ok(Mapped::alone(dsn)) };
        let len = u32::from(mapping.len).saturating_sub(u32::from(data_fin));
        Ok(Mapped { dsn, margin: Margin { before, after: after(len, inside + segment.len) } })
    }

    /// A data sequence number of data that `end` sends.
    fn dsn(&self, end: usize, number: Number) -> Result<Dsn, CodecError> {
        let initial = self.association.key(end)?.initial_dsn();
        let near = initial.wrapping_add(self.association.sent[end].0);
        Ok(Dsn(number.near(near).wrapping_sub(initial)))
    }

    /// That of the machine covers a stand-in for the address.
    fn hmac_of_machine(&self, hmac: Hmac64, id: u8, interface: u8) -> Hmac64 {
        let [Some(own), Some(peer)] = [self.association.keys[self.end], self.association.keys[1 - self.end]]
        else {
            return hmac;
        };
        let address = self.association.settings[self.end].addresses.get(usize::from(interface));
        match address {
            Some(ip) if hmac == add_addr_hmac(own, peer, id, *ip, 0) => {
                add_addr_hmac(own, peer, id, stand_in_address(interface), 0)
            }
            _ => hmac,
        }
    }
}

/// Bytes of a mapping of `mapped` bytes behind the first `len` of them.
fn after(mapped: u32, len: u32) -> u16 {
    // Its length field has 16 bits.
    mapped.saturating_sub(len) as u16
}

/// Bits after the last one set are padding.
fn snack(offset: u16, size: u16, bytes: &[u8]) -> Snack {
    let mut vector = [0; 8];
    for (place, byte) in vector.iter_mut().zip(bytes) {
        *place = byte.reverse_bits();
    }
    let vector = u64::from_le_bytes(vector);
    // At most 64.
    Snack { offset, size, bits: (u64::BITS - vector.leading_zeros()) as u8, vector }
}

fn reset_reason(code: u8) -> ResetReason {
    match code {
        1 => ResetReason::Protocol,
        2 => ResetReason::Resources,
        3 => ResetReason::Administrative,
        5 => ResetReason::Performance,
        6 => ResetReason::Middlebox,
        _ => ResetReason::Unspecified,
    }
}
