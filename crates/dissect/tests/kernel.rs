//! Captures of Linux 6.18.44 at both ends (`captures/README.md` there says how they were made): every number that tshark 4.0.17
//! and tcptrace 6.6.7 have for them, and the identity of their bytes.

use std::path::PathBuf;

use dissect::{Mode, Reading, Side, SubflowView, Unreadable, read};

fn capture(name: &str) -> Reading {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcapng");
    let reading = read(&[file]);
    assert_eq!(reading.problems(), []);
    reading
}

fn subflows(reading: &Reading) -> Vec<SubflowView<'_>> {
    reading.connections().flat_map(|connection| connection.subflows()).collect()
}

/// Sum over subflows of what is new there, less the bytes of the connection: the reinjected bytes.
fn identity(reading: &Reading) {
    for connection in reading.connections() {
        let new: u64 = connection.subflows().map(|s| s.counts(0).bytes - s.counts(0).repeated_bytes).sum();
        let reinjected: u64 = connection.subflows().map(|s| s.counts(0).reinjected_bytes).sum();
        assert_eq!(new - connection.bytes(0), reinjected);
        assert_eq!(connection.subflows().map(|s| s.counts(0).unmapped_bytes).sum::<u64>(), 0);
    }
}

/// Packets, connections, subflows; MP_CAPABLE, MP_JOIN, DSS, ADD_ADDR, MP_TCPRST.
fn totals(reading: &Reading) -> (u64, usize, usize, [u64; 5]) {
    let options = reading.options();
    let by_subtype = [0, 1, 2, 3, 8].map(|subtype: usize| options.subtypes[subtype]);
    (options.packets, reading.connections().count(), subflows(reading).len(), by_subtype)
}

/// Packets, those with payload, its bytes; segments sent again and their bytes, reinjected bytes; packets back, duplicate ACKs.
fn counts(subflow: &SubflowView<'_>) -> [u64; 8] {
    let (there, back) = (subflow.counts(0), subflow.counts(1));
    [
        there.packets,
        there.segments,
        there.bytes,
        there.repeated_segments,
        there.repeated_bytes,
        there.reinjected_bytes,
        back.packets,
        back.duplicate_acks,
    ]
}

fn bytes(reading: &Reading) -> Vec<u64> {
    reading.connections().map(|connection| connection.bytes(0)).collect()
}

#[test]
fn two_subflows() {
    let reading = capture("two-subflows");
    assert_eq!(totals(&reading), (978, 1, 2, [5, 3, 968, 2, 0]));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [337, 333, 470_504, 3, 4_272, 0, 302, 44]);
    assert_eq!(counts(&second), [177, 174, 243_736, 7, 9_968, 0, 162, 9]);
    assert_eq!([first.unique_bytes(0), second.unique_bytes(0)], [466_232, 233_768]);
    assert_eq!(bytes(&reading), [700_000]);
    assert_eq!((first.side(), second.side()), (Side::Client, Side::Client));
    assert_eq!((first.joins(), second.joins(), second.mode()), (false, true, Mode::Multipath));
    // One-way delays of 20 and 60 ms, and the queue.
    for (subflow, base) in [(first, 0.040), (second, 0.120)] {
        let [mean, least, _] = subflow.rtt(0).expect("samples");
        assert!(base <= least && least < base + 0.02 && mean < base + 0.2, "{least} {mean}");
    }
    let joined = second.established(0).expect("a handshake");
    assert!((joined - 0.2016).abs() < 1e-4, "{joined}");
    identity(&reading);
}

/// nstat: TcpRetransSegs 3, MPJoinSynAckRx 1, AddAddr 1. tshark: retransmission + out_of_order 2 and 1.
#[test]
fn over_ipv6() {
    let reading = capture("ipv6");
    assert_eq!(totals(&reading), (256, 1, 2, [5, 3, 246, 2, 0]));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [108, 101, 134_808, 2, 2_808, 0, 93, 13]);
    assert_eq!(counts(&second), [28, 22, 29_404, 1, 1_404, 0, 27, 0]);
    assert_eq!(bytes(&reading), [160_000]);
    assert_eq!((first.side(), second.side()), (Side::Client, Side::Client));
    assert_eq!((second.joins(), second.mode()), (true, Mode::Multipath));
    identity(&reading);
}

#[test]
fn an_address_that_is_removed() {
    let reading = capture("removed");
    let found = subflows(&reading);
    assert_eq!(found.len(), 5);
    let closed: Vec<Option<f64>> = found.iter().map(|subflow| subflow.closed()).collect();
    let [None, Some(left), None, None, None] = closed[..] else { panic!("{closed:?}") };
    // REMOVE_ADDR; the FIN follows 65 ms later. A SYN without an answer has opened nothing that ends.
    assert!((left - 1.2057).abs() < 1e-4, "{left}");
    assert_eq!(bytes(&reading), [300_000]);
    // As tshark: one beside REMOVE_ADDR counts, the first behind the first ADD_ADDR does not.
    assert_eq!([&found[0], &found[1], &found[4]].map(|subflow| counts(subflow)[7]), [13, 3, 20]);
    identity(&reading);
}

#[test]
fn reinjection() {
    let reading = capture("reinjection");
    assert_eq!(totals(&reading), (821, 1, 2, [5, 3, 809, 2, 1]));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [249, 243, 338_136, 12, 15_808, 152_256, 188, 56]);
    assert_eq!(counts(&second), [220, 215, 302_304, 47, 66_928, 55_448, 164, 79]);
    assert_eq!(bytes(&reading), [350_000]);
    assert_eq!((first.is_reset(), first.reset_reason()), (true, Some(0)));
    identity(&reading);
}

#[test]
fn a_late_address() {
    let reading = capture("late-add-addr");
    assert_eq!(totals(&reading), (445, 1, 2, [5, 3, 435, 2, 0]));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [198, 192, 270_024, 6, 8_200, 0, 181, 26]);
    assert_eq!(counts(&second), [40, 35, 48_272, 0, 0, 10_096, 26, 0]);
    assert_eq!([first.unique_bytes(0), second.unique_bytes(0)], [261_824, 48_272]);
    assert_eq!(bytes(&reading), [300_000]);
    let ([opened, _], joined) = (second.lifetime(), second.established(0));
    assert!(
        (opened - 1.062).abs() < 1e-3 && joined.is_some_and(|at| (at - 1.183).abs() < 1e-3),
        "{opened} {joined:?}"
    );
    identity(&reading);
}

#[test]
fn fallback() {
    let reading = capture("fallback");
    assert_eq!(totals(&reading), (81, 1, 1, [1, 0, 0, 0, 0]));
    let [only] = subflows(&reading)[..] else { panic!("one subflow") };
    assert_eq!(counts(&only), [45, 42, 60_000, 0, 0, 0, 36, 0]);
    assert_eq!((bytes(&reading), only.mode()), (vec![60_000], Mode::FellBack));
}

/// Captures over tunnels with delay, on all interfaces (`tcpdump -i any`, Linux cooked 2): kind of what was captured, and where.
fn over_tunnels(name: &str) -> Reading {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcap");
    read(&[file])
}

/// `fell_back` of the only connection.
fn fell_back(reading: &Reading) -> bool {
    let connections: Vec<_> = reading.connections().collect();
    let [connection] = connections[..] else { panic!("one connection") };
    let alone = connection.subflows().count() == 1;
    connection.subflows().next().is_some_and(|first| first.fell_back(alone))
}

/// The second address is announced with the flag of a backup: nothing is sent there.
#[test]
fn backup() {
    let reading = over_tunnels("backup");
    assert_eq!((reading.problems(), totals(&reading)), (&[][..], (101, 1, 2, [5, 2, 91, 2, 0])));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first)[..6], [52, 45, 60_000, 0, 0, 0]);
    assert_eq!((counts(&second)[2], second.joins(), bytes(&reading)), (0, true, vec![60_000]));
    assert_eq!((first.is_backup(), second.is_backup()), (false, true));
    assert_eq!((first.side(), fell_back(&reading)), (Side::Server, false));
    identity(&reading);
}

/// A middlebox takes options from all packets but SYNs: the client sends keys with its first 20,000 bytes, and falls back.
#[test]
fn options_that_are_taken_away() {
    let reading = over_tunnels("no-mptcp-behind");
    assert_eq!((reading.problems(), totals(&reading)), (&[][..], (78, 1, 1, [5, 0, 8, 0, 0])));
    let [only] = subflows(&reading)[..] else { panic!("one subflow") };
    assert_eq!((counts(&only)[1], counts(&only)[2], only.mode()), (43, 60_000, Mode::Infinite));
    let connection = reading.connections().next().expect("one");
    assert_eq!((connection.bytes(0), connection.acknowledged_bytes(0)), (60_000, 60_000));
    assert!(fell_back(&reading) && connection.is_finished(0));
    identity(&reading);
}

/// The same where the server sends most: its first data has no mapping, and its ACKs no Data ACK.
#[test]
fn options_that_are_taken_away_from_a_download() {
    let reading = over_tunnels("fallback-download");
    assert_eq!(totals(&reading).0, 40);
    let [only] = subflows(&reading)[..] else { panic!("one subflow") };
    assert_eq!((only.mode(), counts(&only)[2]), (Mode::Infinite, 1000));
    let connection = reading.connections().next().expect("one");
    assert_eq!([0, 1].map(|end| connection.bytes(end)), [1000, 17 * 1448]);
    assert_eq!([0, 1].map(|end| connection.acknowledged_bytes(end)), [1000, 16 * 1448]);
    assert!(fell_back(&reading) && connection.is_finished(0) && !connection.is_finished(1));
    identity(&reading);
}

/// A middlebox takes options from SYN/ACKs: the server has sent its key, and gets none.
#[test]
fn a_third_ack_without_a_key() {
    let reading = over_tunnels("third-ack-stripped");
    assert_eq!(totals(&reading), (58, 1, 1, [2, 0, 0, 0, 0]));
    let [only] = subflows(&reading)[..] else { panic!("one subflow") };
    assert_eq!((counts(&only)[1], only.mode(), fell_back(&reading)), (28, Mode::FellBack, true));
    let connection = reading.connections().next().expect("one");
    assert_eq!(
        (connection.bytes(0), connection.complete_bytes(0), connection.is_finished(0)),
        (40_000, 40_000, true)
    );
}

/// A byte was changed on the way, and the capture begins in the middle: MP_FAIL both ways on the only subflow.
#[test]
fn a_checksum_that_fails() {
    let reading = over_tunnels("checksum-failed");
    assert!(fell_back(&reading));
}

/// 68 bytes of a tunnel: the third ACK has lost the keys, and data its mappings. That is no fallback, and it is said.
#[test]
fn keys_that_are_cut_off() {
    let reading = over_tunnels("snap68");
    let [problem] = reading.problems() else { panic!("{:?}", reading.problems()) };
    assert!(problem.reason.contains("TCP packets are cut off, so that MPTCP is not seen whole"), "{problem}");
    assert!(!fell_back(&reading) && subflows(&reading)[0].mode() == Mode::Multipath);
}

/// Captures over Ethernet without delay: round trips of 20 us are those of the hosts, so that the place stays open where the
/// handshake does not tell it clearly.
fn over_ethernet(name: &str) -> Reading {
    let reading = over_tunnels(name);
    let [problem] = reading.problems() else { panic!("{:?}", reading.problems()) };
    assert!(is_disorder(problem), "{problem}");
    reading
}

/// Packets of both interfaces were written in turns.
fn is_disorder(problem: &Unreadable) -> bool {
    problem.reason.contains("behind later ones in the file")
}

#[test]
fn checksums() {
    let reading = over_ethernet("checksum");
    assert_eq!(totals(&reading), (106, 1, 2, [3, 3, 73, 2, 0]));
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [25, 18, 447_600, 0, 0, 0, 22, 0]);
    assert_eq!(counts(&second), [18, 12, 152_400, 0, 0, 0, 16, 0]);
    assert_eq!(bytes(&reading), [600_000]);
    identity(&reading);
}

#[test]
fn abort() {
    let reading = over_ethernet("abort");
    assert_eq!(totals(&reading), (82, 1, 2, [3, 3, 47, 2, 2]));
    assert_eq!(reading.options().subtypes[7], 2, "MP_FASTCLOSE");
    let [first, second] = subflows(&reading)[..] else { panic!("two subflows") };
    assert_eq!(counts(&first), [20, 16, 310_952, 0, 0, 0, 17, 0]);
    assert_eq!(counts(&second), [11, 8, 89_048, 0, 0, 0, 9, 0]);
    let connection = reading.connections().next().expect("one");
    assert_eq!(
        (connection.bytes(0), connection.is_aborted(), connection.is_finished(0)),
        (400_000, true, false)
    );
    identity(&reading);
}

/// 96 bytes of IPv6 over Ethernet have neither the keys of the third ACK nor mappings: subflows are counted, and no bytes of a
/// connection are guessed.
#[test]
fn options_that_are_cut_off() {
    let reading = over_tunnels("ipv6-cut");
    let said = reading.problems().iter().filter(|problem| !is_disorder(problem));
    assert_eq!(said.count(), 1, "{:?}", reading.problems());
    let found: Vec<_> =
        subflows(&reading).iter().map(|s| (s.counts(0).segments, s.counts(0).bytes)).collect();
    assert_eq!(found, [(16, 458_752), (9, 141_248)]);
    assert!(reading.connections().all(|connection| connection.is_unmapped(0)));
}
