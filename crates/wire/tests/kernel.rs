//! Packets of Linux 6.18.44 at both ends, of the captures in `captures/`: their fields, their tokens and HMACs recomputed
//! from the keys in them, and the same bytes from our encoder.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use transport::AddressPair;
use transport::config::{MptcpConfig, TcpConfig};
use transport::mptcp::keys::{Key, Token, add_addr_hmac, join_hmac64, join_hmac160};
use transport::packet::{Body, Packet, PathId};
use transport::seq::Seq32;
use units::Bytes;
use wire::codec::{ConnectionNumber, Opening};
use wire::frame::{Frame, Transport};
use wire::mptcp::{Mapping, Mptcp, Number};
use wire::options::{Options, TcpOption};
use wire::{Codec, EndSettings, Ends, Numbers};

// Headers of the capture `two-subflows`, in the order of time.
const SYN: &str = "45000040262040004006fdf90a4e01010a4e0102b7281389d9b268ad00000000b002faf0e9ef0000020405b40402080a0b55050e000000000103030a1e040101";
const SYN_ACK: &str = "4500004800004000400624120a4e01020a4e01011389b728192b5fb3d9b268aed012fe8827330000020405b40402080a6cd87bfa0b55050e0103030a1e0c0101968d6704f97f4640";
const ACK: &str = "45000048262140004006fdf00a4e01010a4e0102b7281389d9b268ae192b5fb4d010003f4f2600000101080a0b5505376cd87bfa1e140101f59a1c6bfc9ad64b968d6704f97f4640";
const FIRST: &str = "450005dc262240004006f85b0a4e01010a4e0102b7281389d9b268ae192b5fb4e010003faf1f00000101080a0b5505376cd87bfa1e160101f59a1c6bfc9ad64b968d6704f97f46407a600101";
const DATA: &str = "450005dc262540004006f8580a4e01010a4e0102b7281389d9b2795e192b5fb4e018003f432b00000101080a0b5505376cd87bfa1e16200da76bce9aa318cee55b9f1aca000000017a600101";
const ADD_ADDR: &str = "45000044850f400040069f060a4e01020a4e01011389b728192b5fb4d9b268aec010003f9c3800000101080a6cd87c220b5505371e1030010a4e0202eb147066fe954fab";
const ECHO: &str = "4500003c262c40004006fdf10a4e01010a4e0102b7281389d9b2a04e192b5fb4a010003f2d3d00000101080a0b55055f6cd87c221e0831010a4e0202";
const JOIN: &str = "450000482dfe40004006f4130a4e02010a4e0202a68313896061299600000000d002faf00cd40000020405b40402080aff1421b2000000000103030a1e0c100176f0ce644548da17";
const DATA_ACK: &str = "450000408510400040069f090a4e01020a4e01011389b728192b5fb4d9b26e3eb010003f7ebf00000101080a6cd87c260b5505371e0c2003a318cee55b9f205a";
const JOIN_SYN_ACK: &str = "4500004c000040004006220e0a4e02020a4e02011389a683dc3eac8360612997e012fe88f1a80000020405b40402080a247e0ba7ff1421b20103030a1e101001c07e84fa4276db0435061b4d";
const JOIN_ACK: &str = "4500004c2dff40004006f40e0a4e02010a4e0202a683138960612997dc3eac84e010003f4b7f00000101080aff14222b247e0ba71e181000e7b388fae709859c6e8d614d6c0207101d0628ba";
const JOINED_ACK: &str = "45000040f6df400040062b3a0a4e02020a4e02011389a683dc3eac8460612997b010008190eb00000101080a247e0c1fff14222b1e0c2003a318cee55ba07252";

const CLIENT: Key = Key(0xf59a_1c6b_fc9a_d64b);
const SERVER: Key = Key(0x968d_6704_f97f_4640);

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Applies `look` to the MPTCP option.
fn option<T>(hex: &str, look: impl Fn(&Mptcp<'_>) -> Option<T>) -> T {
    let bytes = bytes(hex);
    let frame = Frame::decode(&bytes).expect("a packet");
    let Transport::Tcp(header) = frame.transport else { panic!("{frame:?}") };
    let found = header.options.filter_map(|option| match option {
        TcpOption::Mptcp(option) => look(&option),
        _ => None,
    });
    found.last().expect("the option")
}

#[test]
fn keys_give_the_tokens_and_hmacs_of_the_handshake() {
    let keys = option(FIRST, |option| match option {
        Mptcp::Capable { version: 1, flags: 1, sender, receiver, data_len: Some(31_328), checksum: None } => {
            Some((*sender, *receiver))
        }
        _ => None,
    });
    assert_eq!(keys, (Some(CLIENT), Some(SERVER)));
    let (token, nonce) = option(JOIN, |option| match *option {
        Mptcp::JoinSyn { token, nonce, id: 1, backup: false } => Some((token, nonce)),
        _ => None,
    });
    assert_eq!((token, SERVER.token()), (Token(0x76f0_ce64), Token(0x76f0_ce64)));
    let (hmac, answer) = option(JOIN_SYN_ACK, |option| match *option {
        Mptcp::JoinSynAck { hmac, nonce, id: 1, backup: false } => Some((hmac, nonce)),
        _ => None,
    });
    assert_eq!(hmac, join_hmac64(SERVER, CLIENT, answer, nonce));
    let third = option(JOIN_ACK, |option| match *option {
        Mptcp::JoinAck { hmac } => Some(hmac),
        _ => None,
    });
    assert_eq!(third, join_hmac160(CLIENT, SERVER, nonce, answer));
    let address: IpAddr = [10, 78, 2, 2].into();
    let announced = option(ADD_ADDR, |option| match *option {
        Mptcp::AddAddr { echo: false, id: 1, address, port: None, hmac } => Some((address, hmac)),
        _ => None,
    });
    assert_eq!(announced, (address, Some(add_addr_hmac(SERVER, CLIENT, 1, address, 0))));
    let echo = Mptcp::AddAddr { echo: true, id: 1, address, port: None, hmac: None };
    assert!(option(ECHO, |option| Some(*option == echo)));
}

/// The mapping of the first burst begins with the first byte of the stream, on segments further on too.
#[test]
fn the_mapping_of_a_burst_begins_before_its_segments() {
    let dsn = Number::Wide(CLIENT.initial_dsn().wrapping_add(1));
    let mapping = Mapping { dsn, ssn: 1, len: 31_328, checksum: None };
    let acked = Number::Narrow(SERVER.initial_dsn().wrapping_add(1) as u32);
    let data = Mptcp::Dss { data_ack: Some(acked), mapping: Some(mapping), data_fin: false };
    assert!(option(DATA, |option| Some(*option == data)));
    let mut codec = opened();
    for hex in [SYN, SYN_ACK, ACK] {
        encoded(&mut codec, hex);
    }
    let (_, packet) = codec.decode(&bytes(DATA)).expect("a packet");
    let segment = packet.segment().expect("TCP");
    // The fourth segment of 1,424 bytes.
    assert_eq!(
        (segment.seq.0, segment.mptcp.mapping().map(|dsn| dsn.0), packet.offset.0),
        (4273, Some(4273), 4272)
    );
    assert_eq!(packet.stream().len(), 1424);
}

fn settings(host: u8) -> EndSettings {
    let tcp = TcpConfig::default().with(|c| {
        c.segment.mss = Bytes(1448);
        c.options.timestamps = true;
        // 32 MiB: the shift of these machines is 10.
        c.buffers.receive_buffer_max = Bytes(32 << 20);
    });
    let addresses: Arc<[IpAddr]> = [[10, 78, 1, host].into(), [10, 78, 2, host].into()].into();
    EndSettings::new(&tcp, Some(&MptcpConfig::default()), addresses)
}

/// A codec that knows both subflows with the numbers of their SYNs; timestamps count from zero.
fn opened() -> Codec {
    let mut codec = Codec::default();
    let subflows = [(1, 0xb728, 0xd9b2_68ad, 0x192b_5fb3), (2, 0xa683, 0x6061_2996, 0xdc3e_ac83)];
    for (net, port, client, server) in subflows {
        let ends = Ends {
            source: SocketAddr::new([10, 78, net, 1].into(), port),
            destination: SocketAddr::new([10, 78, net, 2].into(), 5001),
        };
        let interfaces = AddressPair { local: Some(net - 1), remote: Some(net - 1) };
        let opening = Opening { connection: ConnectionNumber(1), path: PathId(net - 1), interfaces };
        let initial = [Seq32(client), Seq32(server)];
        codec.open(ends, opening, [settings(1), settings(2)], Numbers { initial, ..Numbers::default() });
    }
    codec
}

/// The bytes of our encoder for what these bytes mean.
fn encoded(codec: &mut Codec, hex: &str) -> (Packet, Vec<u8>) {
    let (ends, packet) = codec.decode(&bytes(hex)).unwrap_or_else(|error| panic!("{error}: {hex}"));
    let mut written = Vec::new();
    codec.encode(ends, &packet, &mut written).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
    (packet, written)
}

/// Identification and checksum of the IP header apart, every byte of our packets without data is that of the kernel.
#[test]
fn our_bytes_are_those_of_the_kernel() {
    let mut codec = opened();
    for hex in [SYN, SYN_ACK, ACK, JOIN, DATA_ACK, JOIN_SYN_ACK, JOIN_ACK, JOINED_ACK] {
        let (packet, mut written) = encoded(&mut codec, hex);
        let theirs = bytes(hex);
        written[4..6].copy_from_slice(&theirs[4..6]);
        written[10..12].copy_from_slice(&theirs[10..12]);
        assert_eq!(written, theirs, "{packet:?}");
        assert!(matches!(packet.body, Body::Tcp(_)));
    }
}

#[test]
fn the_kernel_pads_its_options_to_words() {
    for hex in [SYN, SYN_ACK, FIRST, DATA, ADD_ADDR, ECHO, JOIN_SYN_ACK] {
        let bytes = bytes(hex);
        let broken =
            |option: TcpOption<'_>| matches!(option, TcpOption::Broken(_) | TcpOption::Unknown { .. });
        assert!(!Options(&bytes[40..]).any(broken), "{hex}");
    }
}
