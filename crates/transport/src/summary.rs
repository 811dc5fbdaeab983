//! Fields of a packet as plain values, for the readable trace.

use crate::mptcp::option::MptcpOption;
use crate::packet::{Body, Packet};
use crate::sctp::chunk::{Control, SctpPacket};
use crate::seq::Seq;
use crate::space::SpaceSignal;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;
use crate::udp::Datagram;

/// Fields of a packet; those that it does not carry are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// A letter per flag, a star for a retransmission, a D for a packet of low priority.
    pub flags: String,
    /// Name of the MPTCP option.
    pub option: &'static str,
    /// Sequence numbers that it occupies; with datagrams, its number among those sent.
    pub sequence: Range,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// Data sequence number of the first payload byte.
    pub dsn: Option<u64>,
    /// Data ACK.
    pub data_ack: Option<u64>,
    /// SACK blocks.
    pub sack: Vec<Range>,
}

impl Packet {
    /// Its fields for a trace.
    pub fn summary(&self) -> Summary {
        let mut summary = match &self.body {
            Body::Tcp(segment) => Summary::of(segment),
            Body::Space(space) => {
                let mut summary = Summary::of(&space.segment);
                if let SpaceSignal::Convert(message) = space.signal {
                    summary.option = message.name();
                }
                summary
            }
            Body::Sctp(packet) => Summary::of_sctp(packet),
            Body::Udp(Datagram { number, .. }) => {
                Summary { sequence: Range::new(*number, number + 1), ..Summary::default() }
            }
        };
        if self.retransmission {
            summary.flags.push('*');
        }
        if self.is_low_priority() {
            summary.flags.push('D');
        }
        summary
    }
}

impl Summary {
    /// TSNs stand for sequence numbers; the cumulative one is the first TSN that has not arrived.
    fn of_sctp(packet: &SctpPacket) -> Self {
        let data = &packet.data;
        let mut summary = Self {
            option: packet.control.name(),
            sequence: Range::new(data.first().0, data.end().0),
            ..Self::default()
        };
        if let Control::Sack(sack) = &packet.control {
            summary.ack = Some(sack.next.0);
            summary.sack = sack
                .gaps
                .blocks(sack.next, data.more())
                .map(|block| Range::new(block.start.0, block.end.0))
                .collect();
        }
        summary
    }

    fn of(segment: &TcpSegment) -> Self {
        let flags = segment.flags;
        let letters = [
            (flags.syn, 'S'),
            (flags.fin, 'F'),
            (flags.rst, 'R'),
            (flags.psh, 'P'),
            (flags.ack, 'A'),
            (flags.ece, 'E'),
            (flags.cwr, 'W'),
        ];
        Self {
            flags: letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect(),
            option: segment.mptcp.name(),
            sequence: plain(Range::new(segment.seq, segment.end())),
            ack: flags.ack.then_some(segment.ack.0),
            dsn: segment.mptcp.mapping().map(|dsn| dsn.0),
            data_ack: segment.mptcp.data_ack().map(|dsn| dsn.0),
            sack: segment.sack.as_slice().iter().copied().map(plain).collect(),
        }
    }
}

fn plain(range: Range<Seq>) -> Range {
    Range::new(range.start.0, range.end.0)
}

impl MptcpOption {
    /// Name in a trace; empty without an option.
    fn name(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::CapableSyn | Self::CapableSynAck(_) | Self::CapableAck { .. } => "capable",
            Self::JoinSyn { .. } | Self::JoinSynAck { .. } | Self::JoinAck { .. } => "join",
            Self::Dss(_) => "dss",
            Self::AddAddr { .. } => "add-addr",
            Self::RemoveAddr { .. } => "remove-addr",
            Self::Prio { .. } => "prio",
            Self::FastClose { .. } => "fastclose",
            Self::Reset(_) => "reset",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mptcp::option::Dss;
    use crate::packet::PathId;
    use crate::seq::Dsn;
    use crate::tcp::segment::Flags;

    #[test]
    fn a_retransmission_of_mapped_data() {
        let segment = TcpSegment {
            flags: Flags { ack: true, fin: true, ..Flags::default() },
            len: 100,
            seq: Seq(11),
            ack: Seq(7),
            mptcp: MptcpOption::Dss(Dss { data_ack: Some(Dsn(5)), dsn: Some(Dsn(301)), ..Dss::default() }),
            ..TcpSegment::default()
        };
        let packet = Packet { retransmission: true, ..Packet::tcp(PathId(1), segment) };
        let shown = packet.summary();
        assert_eq!((shown.flags.as_str(), shown.option), ("FA*", "dss"));
        assert_eq!((shown.sequence, shown.ack), (Range::new(11, 112), Some(7)));
        assert_eq!((shown.dsn, shown.data_ack), (Some(301), Some(5)));
    }
}
