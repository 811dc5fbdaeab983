//! Captures without addresses, payload and keys say the same about their connections.

use std::path::{Path, PathBuf};

use dissect::{Reading, SubflowView, anonymise, read, read_bytes};
use transport::mptcp::keys::{Key, join_hmac64, join_hmac160};
use wire::frame::{Frame, Transport};
use wire::mptcp::Mptcp;
use wire::options::TcpOption;

fn original(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcapng")
}

fn anonymous(file: &Path) -> Vec<u8> {
    let (found, bytes) = anonymise(&[file.to_owned()], Vec::new()).expect("memory takes it");
    assert_eq!((found.left_out, found.problems.as_slice()), (0, &[][..]));
    bytes
}

/// Everything but names; TCP headers have no option that is not written again.
fn told(reading: &Reading) -> Vec<String> {
    let subflow = |s: SubflowView<'_>| {
        let ends = [0, 1].map(|end| format!("{:?} {:?} {:?}", s.counts(end), s.rtt(end), s.active(end)));
        format!("{:?} {:?} {:?} {:?} {ends:?}", s.side(), s.mode(), s.joins(), s.established(0))
    };
    let connection = |c: dissect::ConnectionView<'_>| {
        let bytes = [0, 1].map(|end| (c.bytes(end), c.complete_bytes(end), c.acknowledged_bytes(end)));
        format!("{bytes:?} {:?}", c.subflows().map(subflow).collect::<Vec<_>>())
    };
    reading.connections().map(connection).collect()
}

#[test]
fn it_reads_as_before() {
    for name in ["two-subflows", "reinjection", "late-add-addr", "fallback"] {
        let (before, bytes) = (read(&[original(name)]), anonymous(&original(name)));
        let after = read_bytes(&bytes);
        assert_eq!(after.problems(), []);
        assert_eq!(told(&after), told(&before), "{name}");
        assert_eq!(after.options().subtypes, before.options().subtypes);
        // The same of it once more: nothing is drawn at random.
        assert_eq!(anonymous(&original(name)), bytes);
    }
}

#[test]
fn no_address_payload_or_key_is_left() {
    let file = std::fs::read(original("two-subflows")).expect("it is there");
    let bytes = anonymous(&original("two-subflows"));
    let has = |all: &[u8], part: &[u8]| all.windows(part.len()).any(|window| window == part);
    // Addresses 10.78.1.1 and so on; payload of 'x'; names of interfaces.
    for part in [&[10, 78][..], b"xxxx", b"ta0"] {
        assert!(has(&file, part), "{part:?}");
        assert!(!has(&bytes, part), "{part:?}");
    }
    for key in keys(&file) {
        assert!(!has(&bytes, &key.0.to_be_bytes()));
        assert!(!has(&bytes, &key.token().0.to_be_bytes()));
    }
}

/// The packets of a file.
fn packets(file: &[u8]) -> Vec<&[u8]> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if word(at) == 6 {
            found.push(&file[at + 28..at + 28 + word(at + 20)]);
        }
        at += word(at + 4);
    }
    found
}

/// MPTCP options of all packets, in the order of the file.
fn options(file: &[u8]) -> Vec<Mptcp<'_>> {
    let mut found = Vec::new();
    for packet in packets(file) {
        if let Ok(frame) = Frame::decode(packet)
            && let Transport::Tcp(header) = frame.transport
        {
            found.extend(header.options.filter_map(|option| match option {
                TcpOption::Mptcp(option) => Some(option),
                _ => None,
            }));
        }
    }
    found
}

/// Keys of client and server.
fn keys(file: &[u8]) -> [Key; 2] {
    let of_both = options(file).into_iter().find_map(|option| match option {
        Mptcp::Capable { sender: Some(client), receiver: Some(server), .. } => Some([client, server]),
        _ => None,
    });
    of_both.expect("a third ACK")
}

#[test]
fn tokens_and_hmacs_follow_from_the_new_keys() {
    let bytes = anonymous(&original("two-subflows"));
    let [client, server] = keys(&bytes);
    let (mut nonces, mut checked) = ([None; 2], 0);
    for option in options(&bytes) {
        match option {
            Mptcp::JoinSyn { token, nonce, .. } => {
                assert_eq!(token, server.token());
                nonces[0] = Some(nonce);
            }
            Mptcp::JoinSynAck { hmac, nonce, .. } => {
                nonces[1] = Some(nonce);
                let expected = join_hmac64(server, client, nonce, nonces[0].expect("a SYN"));
                assert_eq!(hmac, expected);
                checked += 1;
            }
            Mptcp::JoinAck { hmac } => {
                let [Some(own), Some(peer)] = nonces else { panic!("a handshake") };
                assert_eq!(hmac, join_hmac160(client, server, own, peer));
                checked += 1;
            }
            _ => {}
        }
    }
    assert_eq!(checked, 2);
}
