//! Headers that are kept give the bytes that a segment has alone.

use std::net::SocketAddr;
use std::sync::Arc;

use proptest::prelude::*;
use transport::AddressPair;
use transport::config::TcpConfig;
use transport::mptcp::keys::Key;
use transport::mptcp::option::Dss;
use transport::packet::PathId;
use transport::seq::{Dsn, Seq, Seq32, StreamOffset};
use transport::tcp::ranges::Range;
use transport::tcp::segment::SackBlocks;
use units::SimTime;

use super::*;
use crate::codec::{ConnectionNumber, Opening};
use crate::frame::Ends;
use crate::numbers::{EndSettings, Numbers};

fn ends(six: bool) -> Ends {
    let address = |host: u16| {
        if six { [0xfd00, 0, 0, 0, 0, 0, 0, host].into() } else { [10, 0, 0, host as u8].into() }
    };
    Ends { source: SocketAddr::new(address(1), 49_152), destination: SocketAddr::new(address(2), 5001) }
}

/// A codec that knows one subflow and its keys.
fn codec(six: bool, wide: bool) -> Codec {
    let mut codec = Codec::default();
    let mut settings = EndSettings::new(&TcpConfig::default(), None, Arc::new([]));
    (settings.wide, settings.multipath) = (wide, true);
    let opening = Opening {
        connection: ConnectionNumber(0),
        path: PathId::FIRST,
        interfaces: AddressPair { local: None, remote: None },
    };
    let numbers = Numbers { initial: [Seq32(u32::MAX - 9000), Seq32(7)], timestamps: [u32::MAX, 3] };
    codec.open(ends(six), opening, [settings.clone(), settings], numbers);
    for end in [0, 1] {
        codec.associations[0].learn_key(end, Key(5 + end as u64));
    }
    codec
}

/// Numbers of a segment: sequence number, ACK, window, data sequence number, Data ACK, milliseconds.
type Numbers6 = [u32; 6];

fn packet(
    (len, numbers, blocks): (u32, Numbers6, u64),
    (six, wide): (bool, bool),
    [timestamps, echo, data_ack, multipath, marked]: [bool; 5],
) -> Packet {
    let [seq, ack, window, dsn, acked, ms] = numbers.map(u64::from);
    let stamps = Timestamps {
        value: SimTime::from_millis(ms),
        echo: if echo { SimTime::from_millis(ms / 2) } else { SimTime::NEVER },
    };
    let around = Margin { before: (dsn << 10).min(seq % 30_000) as u16, after: (window % 30_000) as u16 };
    let dss = Dss {
        data_ack: data_ack.then_some(Dsn(1 + (acked << 20))),
        dsn: (len > 0).then_some(Dsn(1 + (dsn << 10))),
        margin: if len > 0 && window % 2 == 0 { around } else { Margin::default() },
        data_fin: false,
    };
    let mut sack = SackBlocks::default();
    for n in 0..blocks {
        assert!(sack.push(Range::new(Seq(ack + 100 * n + 2), Seq(ack + 100 * n + 2 + window % 90))));
    }
    let segment = TcpSegment {
        flags: Flags { ack: true, ..Flags::default() },
        sack,
        len,
        seq: Seq(1 + seq),
        ack: Seq(1 + ack),
        window: Bytes(window),
        timestamps: timestamps.then_some(stamps),
        mptcp: if multipath { MptcpOption::Dss(dss) } else { MptcpOption::None },
    };
    let number = if wide { 8 } else { 4 };
    let mapping = if len > 0 { number + 6 } else { 0 };
    let option: u32 = 4 + if data_ack { number } else { 0 } + mapping;
    let sacked = if blocks > 0 { 4 + 8 * blocks as u32 } else { 0 };
    let options =
        if timestamps { 12 } else { 0 } + if multipath { option.next_multiple_of(4) } else { 0 } + sacked;
    Packet {
        ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
        size: Bytes(u64::from(if six { 60 } else { 40 } + options + len)),
        payload: len,
        offset: if len > 0 { segment.stream_offset() } else { StreamOffset::START },
        body: Body::Tcp(segment),
        ..Packet::default()
    }
}

#[test]
fn the_second_of_a_kind_is_usual() {
    let mut codec = codec(false, true);
    let mut out = Vec::new();
    let way = codec.way(ends(false)).expect("it was opened");
    let mut room = [0; 2 * HEADERS];
    for (n, (len, usual)) in
        [(100, false), (0, false), (100, true), (7, true), (0, true)].into_iter().enumerate()
    {
        let packet = packet((len, [n as u32; 6], 0), (false, true), [true; 5]);
        assert_eq!(codec.encode_usual(way, &packet, 96, &mut room).is_some(), usual, "{n}");
        codec.encode_head(way, &packet, 96, &mut out).expect("it has bytes");
    }
    // A subflow opened anew between these ends has other numbers.
    let again = codec.associations[0].settings.clone();
    let opening = codec.subflows[0].opening;
    codec.open(ends(false), opening, again, Numbers::default());
    let anew = codec.way(ends(false)).expect("it was opened");
    let packet = packet((100, [9; 6], 0), (false, true), [true; 5]);
    assert_eq!(codec.encode_usual(anew, &packet, 96, &mut room), None);
}

/// A segment whose datagram is as long as the payload of the IPv6 datagram before it.
#[test]
fn length_of_ipv6_leaves_its_header_out() {
    let mut codec = codec(true, false);
    for len in [731, 691] {
        let packet = packet((len, [1; 6], 0), (true, false), [true; 5]);
        let mut out = Vec::new();
        codec.encode(ends(true), &packet, &mut out).expect("it has bytes");
        assert_eq!(u64::from(u16::from_be_bytes([out[4], out[5]])), packet.size.0 - 40, "{len}");
    }
}

/// Directions share places, and headers are those of one of them.
#[test]
fn headers_of_another_direction_are_not_used() {
    let mut templates = Templates::default();
    let (one, other) = (Way(3), Way(3 + WAYS as u32));
    assert!(templates.of(one, 0).is_none());
    templates.place(one, 0).way = one;
    assert!(templates.of(one, 0).is_some() && templates.of(one, 1).is_none());
    assert!(templates.of(other, 0).is_none());
    templates.place(other, 0).way = other;
    assert!(templates.of(one, 0).is_none() && templates.of(other, 0).is_some());
}

/// A key that is another one after all, and a greeting on a SYN, change the numbers of headers that are kept.
#[test]
fn headers_with_former_numbers_are_not_used() {
    let packet = packet((100, [9; 6], 0), (false, true), [true; 5]);
    let (mut used, mut room) = (codec(false, true), [0; 2 * HEADERS]);
    let way = used.way(ends(false)).expect("it was opened");
    let mut again = |used: &mut Codec| {
        let usual = used.is_usual(way, &packet);
        assert_eq!(used.encode_again(way, &packet, 96, &mut room).is_some(), usual);
        used.encode_head(way, &packet, 96, &mut Vec::new()).expect("it has bytes");
        usual
    };
    assert_eq!([again(&mut used), again(&mut used)], [false, true]);
    let answer = |key| {
        let flags = Flags { syn: true, ack: true, ..Flags::default() };
        let mptcp = MptcpOption::CapableSynAck(Key(key));
        let segment = TcpSegment { flags, mptcp, ..TcpSegment::default() };
        Packet { size: Bytes(40 + 4 + 4 + 12), body: Body::Tcp(segment), ..Packet::default() }
    };
    let back = used.way(ends(false).reversed()).expect("it was opened");
    // The key of the second end is the one that it had, then it is not.
    for (key, usual) in [(6, true), (7, false), (7, true)] {
        let _ = used.encode_head(back, &answer(key), 96, &mut Vec::new());
        assert_eq!(again(&mut used), usual, "key {key}");
    }
    used.templates.forget(0);
    assert_eq!([again(&mut used), again(&mut used)], [false, true]);
}

/// Numbers of a header near the places where its fields begin anew: sequence numbers count from 2^32 - 9000 here.
fn near_a_wrap() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => any::<u32>(),
        1 => 0u32..3,
        1 => 8_990u32..9_010,
        1 => (1u32 << 31) - 3..(1 << 31) + 3,
        2 => u32::MAX - 9_010..=u32::MAX,
    ]
}

/// Lengths that are apart by nothing, or by a header of IPv4, of IPv6, or of both.
fn alike() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1420), 0u32..3000, (5u32..12).prop_map(|steps| 20 * steps), 0u32..4]
}

/// The checksum of a datagram.
fn checksum(datagram: &[u8], six: bool) -> u16 {
    let field = IP_HEADERS[usize::from(six)] + CHECKSUM;
    u16::from_be_bytes([datagram[field], datagram[field + 1]])
}

proptest! {
    /// Whatever came before, a segment has the bytes that it has alone, and another codec reads it.
    #[test]
    fn bytes_do_not_depend_on_the_segments_before(
        segments in proptest::collection::vec(
            (alike(), proptest::array::uniform6(near_a_wrap()), any::<[bool; 5]>(), any::<(bool, bool)>(), 0u64..4), 2..40),
        (six, wide) in any::<(bool, bool)>(),
        most in prop_oneof![Just(96usize), Just(usize::MAX), 0usize..200],
    ) {
        let mut used = codec(six, wide);
        for (len, mut numbers, mut has, (back, zero), blocks) in segments {
            // Half of all segments have what most of them have.
            if numbers[0] % 2 == 0 {
                has = [true, true, true, true, false];
            }
            // As many SACK blocks as have room beside a DSS.
            let room = if len == 0 && has[0] && has[3] { 1 } else if has[3] && len > 0 { 0 } else { 3 };
            let blocks = blocks.min(room);
            let ends = if back { ends(six).reversed() } else { ends(six) };
            // With this ACK all words add up to 0xffff, and the checksum is zero, which ones' complement has two of. Where the ACK wraps the sum is
            // one more. The numbers of SACK blocks would follow.
            for _ in 0..if zero && blocks == 0 { 2 } else { 0 } {
                let (mut first, mut out) = (codec(six, wide), Vec::new());
                first.encode(ends, &packet((len, numbers, 0), (six, wide), has), &mut out).expect("it has bytes");
                numbers[1] = numbers[1].wrapping_add(u32::from(checksum(&out, six)));
            }
            let packet = packet((len, numbers, blocks), (six, wide), has);
            let mut alone = codec(six, wide);
            let way = used.way(ends).expect("it was opened");
            let (mut one, mut other) = (vec![0xee; HEADERS + 4096], Vec::new());
            let again = used.encode_again(way, &packet, most, &mut one);
            one.truncate(again.unwrap_or(0).min(most));
            let length = match again {
                Some(length) => Ok(length),
                None => used.encode_head(way, &packet, most, &mut one),
            };
            prop_assert_eq!(&length, &alone.encode_head(way, &packet, most, &mut other));
            other.truncate(if again.is_some() { most } else { usize::MAX });
            prop_assert_eq!(length, Ok(packet.size.0 as usize));
            prop_assert_eq!(&one, &other);
            if zero && blocks == 0 && most >= HEADERS {
                prop_assert!(matches!(checksum(&one, six), 0 | 0xffff));
            }
            // Decoding asks how far a stream is, and the codec learns that with the whole datagram alone.
            used.encode(ends, &packet, &mut Vec::new()).expect("it has bytes");
            let segment = packet.segment().expect("TCP");
            prop_assert!(used.subflows[0].sent[usize::from(back)] >= segment.end());
            let mapped = segment.mptcp.mapping().map(|dsn| dsn + Bytes(u64::from(segment.len)));
            prop_assert!(used.associations[0].sent[usize::from(back)] >= mapped.unwrap_or(Dsn(0)));
            prop_assert_eq!(used.padded, 0);
        }
    }
}
