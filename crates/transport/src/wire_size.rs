//! The size of packets of TCP on the wire, and how many SACK blocks fit into one: option space is 40 bytes.

use std::sync::Arc;

use units::Bytes;

use crate::config::{MptcpConfig, TcpConfig};
use crate::mptcp::option::{Dss, MptcpOption};
use crate::packet::{Body, Packet};
use crate::seq::StreamOffset;
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

/// The form of DSS options, on which the size of segments depends.
///
/// Numbers have 64 or 32 bits. Where Data ACKs are short (Linux), they have 32 bits until the peer has sent data with
/// 64-bit numbers (`use_64bit_ack` in net/mptcp); a segment that was cut before keeps the short form when it is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DssForm {
    /// Bytes of a data sequence number.
    number: u64,
    checksum: bool,
    /// The peer has sent no data, and Data ACKs are short until then.
    short_ack: bool,
    /// Payload of a full segment with a Data ACK as long as the number.
    long_payload: u64,
}

/// Bytes of a short Data ACK.
const SHORT_ACK: u64 = 4;

impl DssForm {
    /// As it is before the peer has sent data.
    pub(crate) fn new(tcp: &TcpConfig, config: &MptcpConfig) -> Self {
        let number = if config.wide_sequence { 8 } else { 4 };
        let short_ack = config.short_data_ack && number > SHORT_ACK;
        let mut form = Self { number, checksum: config.checksum, short_ack, long_payload: u64::MAX };
        let mapping = form.mapping_size(number);
        form.long_payload = tcp.segment.mss.0.saturating_sub(mapping).max(1);
        form
    }

    /// Payload of a full segment of an end whose segments have `mss` without options: the DSS option comes out of the
    /// segment, so that packets keep the size they have with TCP (RFC 6691).
    pub(crate) fn payload(&self, mss: Bytes) -> Bytes {
        Bytes(mss.0.saturating_sub(self.mapping_size(self.ack_bytes(0))).max(1))
    }

    /// Bytes of the Data ACK of a segment with `payload` bytes.
    #[inline]
    fn ack_bytes(&self, payload: u64) -> u64 {
        if self.short_ack || payload > self.long_payload { SHORT_ACK } else { self.number }
    }

    /// Bytes of a DSS option with mapping and Data ACK.
    fn mapping_size(&self, ack: u64) -> u64 {
        padded(4 + ack + self.number + 4 + 2 + if self.checksum { 2 } else { 0 })
    }

    /// Bytes of a DSS option with nothing but a Data ACK.
    fn data_ack_size(&self) -> u64 {
        padded(4 + self.ack_bytes(0))
    }

    /// Bytes of a DSS option (RFC 8684 section 3.3), padded.
    fn size(&self, dss: &Dss, payload: u64) -> u64 {
        let mut size = 4;
        if dss.data_ack.is_some() {
            size += self.ack_bytes(payload);
        }
        if dss.dsn.is_some() {
            // DSN, subflow sequence number, length, checksum.
            size += self.number + 4 + 2 + if self.checksum { 2 } else { 0 };
        }
        padded(size)
    }
}

/// Bytes of an MPTCP option, padded.
fn mptcp_size(option: &MptcpOption, payload: u32, form: &DssForm) -> u64 {
    match option {
        MptcpOption::None => 0,
        MptcpOption::CapableSyn => 4,
        MptcpOption::CapableSynAck(_) => 12,
        MptcpOption::CapableAck { after: None, .. } => 20,
        MptcpOption::CapableAck { after: Some(_), .. } => padded(22 + if form.checksum { 2 } else { 0 }),
        MptcpOption::JoinSyn { .. } => 12,
        MptcpOption::JoinSynAck { .. } => 16,
        MptcpOption::JoinAck { .. } => 24,
        MptcpOption::Dss(dss) => form.size(dss, payload.into()),
        // Signals travel beside the Data ACK of their segment.
        MptcpOption::AddAddr { echo, .. } => (if *echo { 8 } else { 16 }) + form.data_ack_size(),
        // 3 + 1 and 3 bytes, padded.
        MptcpOption::RemoveAddr { .. } | MptcpOption::Prio { .. } => 4 + form.data_ack_size(),
        MptcpOption::FastClose { .. } => 12,
        MptcpOption::Reset(_) => 4,
    }
}

/// Sizes of the packets of a connection. Those of most are known beforehand, but for the payload.
#[derive(Clone, Debug)]
pub(crate) struct PacketSizes {
    tcp: Arc<TcpConfig>,
    /// Everything but payload, of a segment without SYN, SACK blocks and MPTCP option.
    plain: Bytes,
    /// Of MPTCP; thousands of connections have none.
    dss: Option<Box<DssSizes>>,
}

/// The same with a DSS.
#[derive(Clone, Copy, Debug)]
struct DssSizes {
    form: DssForm,
    /// With a Data ACK alone, and with a mapping too.
    with_data_ack: Bytes,
    with_mapping: Bytes,
    /// Payload up to which a segment has the DSS of `with_mapping`: one that was cut before may be larger.
    largest_mapping: u64,
}

impl PacketSizes {
    /// `dss`: for MPTCP.
    pub(crate) fn new(tcp: &Arc<TcpConfig>, dss: Option<DssForm>) -> Self {
        let timestamps = if tcp.options.timestamps { TIMESTAMPS } else { 0 };
        let plain = tcp.segment.header + tcp.segment.overhead + Bytes(timestamps);
        let sizes = |form: DssForm| DssSizes {
            with_data_ack: plain + Bytes(form.data_ack_size()),
            with_mapping: plain + Bytes(form.mapping_size(form.ack_bytes(0))),
            largest_mapping: if form.short_ack { u64::MAX } else { form.long_payload },
            form,
        };
        Self { tcp: Arc::clone(tcp), plain, dss: dss.map(|form| Box::new(sizes(form))) }
    }

    /// Data ACKs are short because the peer has sent no data.
    #[inline]
    pub(crate) fn has_short_data_acks(&self) -> bool {
        self.dss.as_deref().is_some_and(|dss| dss.form.short_ack)
    }

    /// The peer has sent data: Data ACKs are as long as its numbers from now on. Payload of a full segment then.
    pub(crate) fn lengthen_data_acks(&mut self) -> Bytes {
        let long = |dss: &DssSizes| DssForm { short_ack: false, ..dss.form };
        let form = self.dss.as_deref().map(long);
        *self = Self::new(&self.tcp, form);
        form.map_or(self.tcp.segment.mss, |form| form.payload(self.tcp.segment.mss))
    }

    fn form(&self) -> Option<&DssForm> {
        self.dss.as_deref().map(|dss| &dss.form)
    }

    /// Leaves SACK blocks out where the options of a handshake leave no room for them: they are advice (RFC 2018), and data
    /// that overtakes the handshake is rare.
    #[cold]
    pub(crate) fn fit_sack(&self, segment: &mut TcpSegment) {
        let blocks = segment.sack.as_slice().len() as u64;
        let timestamps = if segment.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let mptcp = self.form().map_or(0, |form| mptcp_size(&segment.mptcp, segment.len, form));
        if blocks > 0 && timestamps + mptcp + SACK_HEAD + SACK_BLOCK * blocks > OPTION_SPACE {
            segment.sack.clear();
        }
    }

    /// Everything but payload, of a segment of plain TCP without SYN and SACK blocks.
    #[inline]
    pub(crate) fn plain(&self) -> Bytes {
        self.plain
    }

    /// The same of an MPTCP segment with a Data ACK, and a mapping of `payload` bytes if there are any.
    #[inline]
    pub(crate) fn with_dss(&self, payload: u32) -> Option<Bytes> {
        let dss = self.dss.as_deref()?;
        match payload {
            0 => Some(dss.with_data_ack),
            len => (u64::from(len) <= dss.largest_mapping).then_some(dss.with_mapping),
        }
    }

    /// As `complete`, of a segment of the usual way, which has no SYN: without SACK blocks it has these `headers`, and its
    /// payload begins at `offset`.
    #[inline(always)]
    pub(crate) fn complete_usual(
        &self,
        packet: &mut Packet,
        window: Bytes,
        (headers, offset): (Option<Bytes>, StreamOffset),
    ) {
        let Body::Tcp(segment) = &mut packet.body else { unreachable!("it has just been written") };
        segment.window = window;
        packet.payload = segment.len;
        packet.offset = offset;
        packet.size = match headers {
            Some(headers) if segment.sack.is_empty() => Bytes(headers.0 + u64::from(segment.len)),
            _ => self.any_size(segment, None),
        };
        debug_assert_eq!(packet.size, self.any_size(segment, None), "two sizes of {segment:?}");
        debug_assert_eq!(packet.offset, segment.stream_offset(), "two offsets of {segment:?}");
        packet.check();
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
            Body::Udp(_) | Body::Sctp(_) => unreachable!("it is complete when it is written"),
        }
        packet.check();
    }

    #[inline(always)]
    fn size(&self, segment: &TcpSegment) -> Bytes {
        if segment.flags.syn || !segment.sack.is_empty() {
            return self.any_size(segment, None);
        }
        let headers = match (&segment.mptcp, self.dss.as_deref()) {
            (MptcpOption::None, _) => self.plain,
            (MptcpOption::Dss(Dss { data_ack: Some(_), dsn: None, .. }), Some(dss)) => dss.with_data_ack,
            (MptcpOption::Dss(Dss { data_ack: Some(_), dsn: Some(_), .. }), Some(dss))
                if u64::from(segment.len) <= dss.largest_mapping =>
            {
                dss.with_mapping
            }
            _ => return self.any_size(segment, None),
        };
        let size = headers + Bytes(u64::from(segment.len));
        debug_assert_eq!(size, self.any_size(segment, None), "two sizes of {segment:?}");
        size
    }

    #[inline(never)]
    fn any_size(&self, segment: &TcpSegment, signal: Option<&SpaceSignal>) -> Bytes {
        wire_size(segment, signal, &self.tcp, self.form())
    }
}

/// Size on the wire: headers, options, payload, overhead.
fn wire_size(
    segment: &TcpSegment,
    signal: Option<&SpaceSignal>,
    tcp: &TcpConfig,
    mptcp: Option<&DssForm>,
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
    if let Some(form) = mptcp {
        options += mptcp_size(&segment.mptcp, segment.len, form);
    }
    debug_assert!(options <= OPTION_SPACE, "{options} bytes of options in {segment:?}");
    let beside = signal.map_or(0, SpaceSignal::payload);
    tcp.segment.header + tcp.segment.overhead + Bytes(options + u64::from(segment.len) + u64::from(beside))
}

/// Bytes of what a transport over space links says, padded. `blocks` are those of a STAT or USTAT.
fn signal_size(signal: &SpaceSignal, blocks: u64) -> u64 {
    // Packet numbers and poll numbers of STP have 24 bits and stand in words.
    const WORD: u64 = 4;
    match signal {
        // Dummies and their answers are told by a reserved bit of the header.
        SpaceSignal::Dummy { .. } | SpaceSignal::DummyAnswer | SpaceSignal::Convert(_) => 0,
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

/// SACK blocks that fit into `[segments with data, pure ACKs]` (choice D-40). Those who have received data, and so something
/// to report, have long Data ACKs.
pub(crate) fn sack_room(tcp: &TcpConfig, mptcp: Option<&DssForm>) -> [usize; 2] {
    let with = |dss: u64| {
        let used = dss + if tcp.options.timestamps { TIMESTAMPS } else { 0 };
        let free = OPTION_SPACE.saturating_sub(used + SACK_HEAD) / SACK_BLOCK;
        free.min(4) as usize
    };
    match mptcp {
        None => [with(0); 2],
        Some(form) => [with(form.mapping_size(form.number)), with(padded(4 + form.number))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::Dsn;

    /// Test vector of choice D-40: which SACK blocks fit where.
    #[test]
    fn sack_blocks_in_the_option_space() {
        let mut tcp = TcpConfig::default().with(|c| c.options.timestamps = true);
        assert_eq!(sack_room(&tcp, None), [3, 3]);
        let form = |wide_sequence, short_data_ack| {
            let mptcp = MptcpConfig { wide_sequence, short_data_ack, ..MptcpConfig::default() };
            DssForm::new(&tcp, &mptcp)
        };
        let wide = form(true, false);
        assert_eq!((wide.mapping_size(8), sack_room(&tcp, Some(&wide))), (28, [0, 1]));
        let narrow = form(false, false);
        assert_eq!((narrow.mapping_size(4), sack_room(&tcp, Some(&narrow))), (20, [0, 2]));
        assert_eq!(sack_room(&tcp, Some(&form(true, true))), [0, 1]);
        tcp.options.timestamps = false;
        assert_eq!(sack_room(&tcp, None), [4, 4]);
    }

    /// A full segment of Linux carries 1424 bytes until its sender has received data, then 1420; one that was cut before keeps
    /// its form, so that no packet exceeds 1500 bytes.
    #[test]
    fn short_data_acks_leave_more_room() {
        let tcp = TcpConfig::default().with(|c| {
            c.segment.mss = Bytes(1448);
            c.options.timestamps = true;
        });
        let mptcp = MptcpConfig { short_data_ack: true, ..MptcpConfig::default() };
        let mut form = DssForm::new(&tcp, &mptcp);
        let data = Dss { data_ack: Some(Dsn(1)), dsn: Some(Dsn(1)), ..Dss::default() };
        let ack = Dss { dsn: None, ..data };
        assert_eq!((form.payload(tcp.segment.mss), form.size(&data, 1424)), (Bytes(1424), 24));
        assert_eq!((form.size(&data, 100), form.size(&ack, 0)), (24, 8));
        form.short_ack = false;
        assert_eq!((form.payload(tcp.segment.mss), form.size(&data, 1420)), (Bytes(1420), 28));
        assert_eq!((form.size(&data, 1424), form.size(&ack, 0)), (24, 12));
    }
}
