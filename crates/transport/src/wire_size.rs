//! The size of packets of TCP on the wire, and how many SACK blocks fit into one: option space is 40 bytes.

use std::sync::Arc;

use units::Bytes;

use crate::config::{MptcpConfig, TcpConfig};
use crate::mptcp::option::{Dss, MptcpOption};
use crate::packet::{Body, Packet};
use crate::seq::Dsn;
use crate::space::SpaceSignal;
use crate::tcp::segment::TcpSegment;

/// TCP option space in bytes (RFC 9293 section 3.1).
const OPTION_SPACE: u64 = 40;
/// Timestamps with two NOPs.
const TIMESTAMPS: u64 = 12;
/// A SACK option of n blocks takes 2 + 8 n bytes and two NOPs.
const SACK_HEAD: u64 = 4;
const SACK_BLOCK: u64 = 8;

/// Options are padded to 32-bit words.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(4)
}

/// Bytes of a DSS option (RFC 8684 section 3.3), padded.
fn dss_size(dss: &Dss, config: &MptcpConfig) -> u64 {
    let number = if config.wide_sequence { 8 } else { 4 };
    let mut size = 4;
    if dss.data_ack.is_some() {
        size += number;
    }
    if dss.dsn.is_some() {
        // DSN, subflow sequence number, length, checksum.
        size += number + 4 + 2 + if config.checksum { 2 } else { 0 };
    }
    padded(size)
}

/// Bytes of a DSS option with nothing but a Data ACK.
fn data_ack_size(config: &MptcpConfig) -> u64 {
    dss_size(&Dss { data_ack: Some(Dsn(0)), dsn: None, data_fin: false }, config)
}

/// Bytes of an MPTCP option, padded.
fn mptcp_size(option: &MptcpOption, config: &MptcpConfig) -> u64 {
    match option {
        MptcpOption::None => 0,
        MptcpOption::CapableSyn => 4,
        MptcpOption::CapableSynAck(_) => 12,
        MptcpOption::CapableAck { dsn: None, .. } => 20,
        MptcpOption::CapableAck { dsn: Some(_), .. } => padded(22 + if config.checksum { 2 } else { 0 }),
        MptcpOption::JoinSyn { .. } => 12,
        MptcpOption::JoinSynAck { .. } => 16,
        MptcpOption::JoinAck { .. } => 24,
        MptcpOption::Dss(dss) => dss_size(dss, config),
        // Signals travel beside the Data ACK of their segment.
        MptcpOption::AddAddr { echo, .. } => (if *echo { 8 } else { 16 }) + data_ack_size(config),
        // 3 + 1 and 3 bytes, padded.
        MptcpOption::RemoveAddr { .. } | MptcpOption::Prio { .. } => 4 + data_ack_size(config),
        MptcpOption::FastClose { .. } => 12,
        MptcpOption::Reset(_) => 4,
    }
}

/// Sizes of the packets of a connection. Those of most are known beforehand, but for the payload.
#[derive(Clone, Debug)]
pub(crate) struct PacketSizes {
    tcp: Arc<TcpConfig>,
    mptcp: Option<Arc<MptcpConfig>>,
    /// Everything but payload, of a segment without SYN, SACK blocks and MPTCP option.
    plain: Bytes,
    /// The same with a DSS that has a Data ACK alone, and with one that has a mapping too.
    with_data_ack: Bytes,
    with_mapping: Bytes,
}

impl PacketSizes {
    pub(crate) fn new(tcp: &Arc<TcpConfig>, mptcp: Option<&Arc<MptcpConfig>>) -> Self {
        let timestamps = if tcp.options.timestamps { TIMESTAMPS } else { 0 };
        let plain = tcp.segment.header + tcp.segment.overhead + Bytes(timestamps);
        let with = |dss: fn(&MptcpConfig) -> u64| plain + Bytes(mptcp.map_or(0, |mptcp| dss(mptcp)));
        Self {
            with_data_ack: with(data_ack_size),
            with_mapping: with(mapping_size),
            plain,
            tcp: Arc::clone(tcp),
            mptcp: mptcp.map(Arc::clone),
        }
    }

    /// Completes a packet whose segment is written: the window that it advertises, and what the envelope says of it.
    #[inline(always)]
    pub(crate) fn complete(&self, packet: &mut Packet, window: Bytes) {
        match &mut packet.body {
            Body::Tcp(segment) => {
                segment.window = window;
                packet.payload = segment.len;
                packet.offset = segment.stream_offset();
                packet.size = self.size(segment);
            }
            Body::Space(space) => {
                space.segment.window = window;
                packet.payload = space.segment.len;
                packet.offset = space.segment.stream_offset();
                packet.size = self.any_size(&space.segment, Some(&space.signal));
            }
            Body::Udp(_) => unreachable!("a datagram is complete when it is written"),
        }
        packet.check();
    }

    #[inline(always)]
    fn size(&self, segment: &TcpSegment) -> Bytes {
        if segment.flags.syn || !segment.sack.is_empty() {
            return self.any_size(segment, None);
        }
        let headers = match segment.mptcp {
            MptcpOption::None => self.plain,
            MptcpOption::Dss(Dss { data_ack: Some(_), dsn: None, .. }) => self.with_data_ack,
            MptcpOption::Dss(Dss { data_ack: Some(_), dsn: Some(_), .. }) => self.with_mapping,
            _ => return self.any_size(segment, None),
        };
        let size = headers + Bytes(u64::from(segment.len));
        debug_assert_eq!(size, self.any_size(segment, None), "two sizes of {segment:?}");
        size
    }

    #[inline(never)]
    fn any_size(&self, segment: &TcpSegment, signal: Option<&SpaceSignal>) -> Bytes {
        wire_size(segment, signal, &self.tcp, self.mptcp.as_deref())
    }
}

/// Leaves SACK blocks out where the options of a handshake leave no room for them: they are advice (RFC 2018), and data
/// that overtakes the handshake is rare.
#[cold]
pub(crate) fn fit_sack(segment: &mut TcpSegment, config: &MptcpConfig) {
    let blocks = segment.sack.as_slice().len() as u64;
    let timestamps = if segment.timestamps.is_some() { TIMESTAMPS } else { 0 };
    let others = timestamps + mptcp_size(&segment.mptcp, config);
    if blocks > 0 && others + SACK_HEAD + SACK_BLOCK * blocks > OPTION_SPACE {
        segment.sack.clear();
    }
}

/// Size on the wire: headers, options, payload, overhead.
fn wire_size(
    segment: &TcpSegment,
    signal: Option<&SpaceSignal>,
    tcp: &TcpConfig,
    mptcp: Option<&MptcpConfig>,
) -> Bytes {
    let mut options = if segment.timestamps.is_some() { TIMESTAMPS } else { 0 };
    if segment.flags.syn {
        options += syn_options(tcp);
    }
    let blocks = segment.sack.as_slice().len() as u64;
    match signal {
        Some(signal) => options += signal_size(signal, blocks),
        None if blocks > 0 => options += SACK_HEAD + SACK_BLOCK * blocks,
        None => {}
    }
    if let Some(mptcp) = mptcp {
        options += mptcp_size(&segment.mptcp, mptcp);
    }
    debug_assert!(options <= OPTION_SPACE, "{options} bytes of options in {segment:?}");
    let dummy = if let Some(SpaceSignal::Dummy { len }) = signal { *len } else { 0 };
    tcp.segment.header + tcp.segment.overhead + Bytes(options + u64::from(segment.len) + u64::from(dummy))
}

/// Bytes of what a transport over space links says, padded. `blocks` are those of a STAT or USTAT.
fn signal_size(signal: &SpaceSignal, blocks: u64) -> u64 {
    // Packet numbers and poll numbers of STP have 24 bits and stand in words.
    const WORD: u64 = 4;
    match signal {
        // Dummies and their answers are told by a reserved bit of the header.
        SpaceSignal::Dummy { .. } | SpaceSignal::DummyAnswer => 0,
        SpaceSignal::ScpsCapable => 4,
        // Kind, length, two numbers of 16 bits, the bit vector.
        SpaceSignal::Snack(snack) => padded(6 + u64::from(snack.bits).div_ceil(8)),
        // Poll number and the number of the next packet.
        SpaceSignal::Poll { .. } => 2 * WORD,
        // Poll number, and two numbers for the part described and for each missing range.
        SpaceSignal::Stat { .. } => WORD + 2 * WORD * blocks,
        SpaceSignal::Ustat => 2 * WORD * blocks,
    }
}

/// MSS 4, window scale 3, SACK-permitted 2 (shares the padding of the timestamps where there are any).
fn syn_options(tcp: &TcpConfig) -> u64 {
    let sack = if tcp.options.sack && !tcp.options.timestamps { 4 } else { 0 };
    4 + if tcp.options.window_scaling { 4 } else { 0 } + sack
}

/// SACK blocks that fit into `[segments with data, pure ACKs]` (choice D-40).
pub(crate) fn sack_room(tcp: &TcpConfig, mptcp: Option<&MptcpConfig>) -> [usize; 2] {
    let with = |dss: u64| {
        let used = dss + if tcp.options.timestamps { TIMESTAMPS } else { 0 };
        let free = OPTION_SPACE.saturating_sub(used + SACK_HEAD) / SACK_BLOCK;
        free.min(4) as usize
    };
    match mptcp {
        None => [with(0); 2],
        Some(mptcp) => [with(mapping_size(mptcp)), with(data_ack_size(mptcp))],
    }
}

/// Option bytes that a data segment of an MPTCP subflow spends on its DSS.
pub(crate) fn mapping_size(mptcp: &MptcpConfig) -> u64 {
    dss_size(&Dss { data_ack: Some(Dsn(0)), dsn: Some(Dsn(0)), data_fin: false }, mptcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vector of choice D-40: which SACK blocks fit where.
    #[test]
    fn sack_blocks_in_the_option_space() {
        let mut tcp = TcpConfig::default().with(|c| c.options.timestamps = true);
        assert_eq!(sack_room(&tcp, None), [3, 3]);
        let mut mptcp = MptcpConfig { wide_sequence: true, ..MptcpConfig::default() };
        assert_eq!((mapping_size(&mptcp), sack_room(&tcp, Some(&mptcp))), (28, [0, 1]));
        mptcp.wide_sequence = false;
        assert_eq!((mapping_size(&mptcp), sack_room(&tcp, Some(&mptcp))), (20, [0, 2]));
        tcp.options.timestamps = false;
        assert_eq!(sack_room(&tcp, None), [4, 4]);
    }
}
