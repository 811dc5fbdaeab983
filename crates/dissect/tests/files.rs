//! Forms of capture files, and files that are broken: what can be read is read, and the rest has a word.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use dissect::{Reading, Side, read};
use proptest::prelude::*;

fn original(name: &str) -> Vec<u8> {
    let file =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("pcapng");
    fs::read(file).expect("the capture is there")
}

/// Reads bytes as a file of this name.
fn reading(name: &str, bytes: &[u8]) -> Reading {
    let file = std::env::temp_dir().join(format!("ropewalk-dissect-{}-{name}", std::process::id()));
    fs::write(&file, bytes).expect("it can be written");
    let reading = read(std::slice::from_ref(&file));
    fs::remove_file(&file).expect("it is there");
    reading
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A capture that is given again and again is read as connections of their own, and rows are told apart by their names.
#[test]
fn no_two_connections_have_one_name() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures/two-subflows.pcapng");
    let reading = read(&[file.clone(), file.clone(), file]);
    let tables = dissect::tables(&reading);
    let flows = tables.iter().find(|table| table.name == "flows").expect("flows");
    let names = flows.column("flow").expect("names");
    let names: Vec<String> = (0..names.len()).map(|row| names.text(row)).collect();
    assert!(names.len() > 1, "{names:?}");
    assert_eq!(names[1], format!("{} (2)", names[0]));
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

/// Time in nanoseconds, length and bytes.
type Packet = (u64, u32, Vec<u8>);

/// The packets in the order of the file.
fn packets(file: &[u8]) -> Vec<Packet> {
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        if word(file, at) == 6 {
            let time = u64::from(word(file, at + 12)) << 32 | u64::from(word(file, at + 16));
            let kept = word(file, at + 20) as usize;
            found.push((time, word(file, at + 24), file[at + 28..at + 28 + kept].to_vec()));
        }
        at += word(file, at + 4) as usize;
    }
    found
}

/// A file of the format pcap with this link header in front of each packet, in the order of time.
fn pcap(file: &[u8], link: u32, header: &[u8], nanos: bool) -> Vec<u8> {
    let mut packets = packets(file);
    packets.sort();
    pcap_of(&packets, link, header, nanos)
}

/// The same with packets as they come.
fn pcap_of(packets: &[Packet], link: u32, header: &[u8], nanos: bool) -> Vec<u8> {
    let magic: u32 = if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut out =
        [&magic.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &65_535u32.to_le_bytes(), &link.to_le_bytes()]
            .concat();
    for (time, length, bytes) in packets {
        let fraction = time % 1_000_000_000 / if nanos { 1 } else { 1_000 };
        let kept = (bytes.len() + header.len()) as u32;
        for field in [(time / 1_000_000_000) as u32, fraction as u32, kept, length + header.len() as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend([header, bytes].concat());
    }
    out
}

/// A file whose packets are out of order has the tables of one in order, and a word on it.
#[test]
fn packets_are_read_in_the_order_of_time() {
    let rows = |found: &Reading| format!("{:?}", dissect::tables(found));
    for name in ["reinjection", "two-subflows", "late-add-addr"] {
        let written = packets(&original(name));
        let mut sorted = written.clone();
        sorted.sort_by_key(|(at, ..)| *at);
        let expected = reading("order", &pcap_of(&sorted, 101, &[], true));
        assert_eq!(expected.problems(), []);
        let mut reversed = sorted.clone();
        reversed.reverse();
        // Each later than its time by chance, as several queues of a kernel make it.
        let mut jitter = sorted.clone();
        jitter.sort_by_key(|(at, length, _)| at + u64::from(*length) % 7 * 13_000_000);
        for (number, packets) in [written, reversed, jitter].iter().enumerate() {
            if packets.is_sorted_by_key(|(at, ..)| *at) {
                continue;
            }
            let found = reading("order", &pcap_of(packets, 101, &[], true));
            let said = found.problems().iter().map(ToString::to_string).collect::<Vec<_>>();
            assert!(said.len() == 1 && said[0].contains("behind later ones"), "{name} {number}: {said:?}");
            assert_eq!(rows(&found), rows(&expected), "{name} {number}");
        }
    }
}

/// All packets before the damage are put in order and read.
#[test]
fn a_file_out_of_order_is_read_up_to_its_damage() {
    let mut packets = packets(&original("reinjection"));
    packets.truncate(100);
    packets.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut file = pcap_of(&packets, 101, &[], true);
    file.truncate(file.len() - 3);
    let found = reading("order", &file);
    assert_eq!(found.options().packets, 99);
    assert_eq!(found.problems().len(), 2, "{:?}", found.problems());
}

/// Everything that is counted.
fn counted(reading: &Reading) -> Vec<(u64, String)> {
    let subflows = reading.connections().flat_map(|connection| connection.subflows());
    let counts =
        subflows.map(|s| (s.unique_bytes(0), format!("{:?} {:?} {:?}", s.mode(), s.counts(0), s.counts(1))));
    counts.collect()
}

#[test]
fn each_form_of_a_file_says_the_same() {
    let file = original("reinjection");
    let expected = counted(&reading("whole", &file));
    let macs = [0; 12];
    let ethernet = [&macs[..], &[8, 0]].concat();
    let tagged = [&macs[..], &[0x81, 0, 0, 9, 8, 0]].concat();
    let cooked = [&[0, 3][..], &[0; 12], &[8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 8], &[3, 0], &[0; 8]].concat();
    for (link, header) in [(101, vec![]), (1, ethernet), (1, tagged), (113, cooked), (276, cooked2)] {
        for nanos in [true, false] {
            let found = reading("form", &pcap(&file, link, &header, nanos));
            assert_eq!(found.problems(), []);
            assert_eq!(counted(&found), expected, "link type {link}");
        }
    }
}

/// Each interface has a file of its own: a join is found by its token in the other one.
#[test]
fn files_of_interfaces_belong_together() {
    let whole = packets(&original("two-subflows"));
    let of = |net: u8| {
        // Behind the header of the file: packets whose source has this third byte.
        let mut out = pcap(&[], 101, &[], true);
        for (time, length, bytes) in whole.iter().filter(|(_, _, bytes)| bytes[14] == net) {
            let fraction = (time % 1_000_000_000) as u32;
            for field in [(time / 1_000_000_000) as u32, fraction, bytes.len() as u32, *length] {
                out.extend(field.to_le_bytes());
            }
            out.extend(bytes);
        }
        let file = std::env::temp_dir().join(format!("ropewalk-dissect-{}-net-{net}", std::process::id()));
        fs::write(&file, out).expect("it can be written");
        file
    };
    let files = [of(1), of(2)];
    let found = read(&files);
    files.iter().for_each(|file| fs::remove_file(file).expect("it is there"));
    let connections: Vec<_> = found.connections().collect();
    assert_eq!(
        connections.iter().map(|c| (c.subflows().count(), c.bytes(0))).collect::<Vec<_>>(),
        [(2, 700_000)]
    );
}

/// The joined subflow comes first in this file.
#[test]
fn interfaces_are_read_in_the_order_of_time() {
    let file = original("reinjection");
    let times: Vec<u64> = packets(&file).iter().map(|(time, ..)| *time).collect();
    assert!(!times.is_sorted());
    let found = reading("order", &file);
    let first =
        found.connections().next().and_then(|connection| connection.subflows().next()).expect("a subflow");
    assert_eq!((first.ends().source.ip().to_string().as_str(), first.joins()), ("10.78.1.1", false));
}

#[test]
fn a_file_that_ends_early_is_read_up_to_there() {
    let file = original("two-subflows");
    let found = reading("cut", &file[..file.len() - 50]);
    let [problem] = found.problems() else { panic!("{:?}", found.problems()) };
    assert!(problem.reason.contains("packets; the rest is not read"), "{problem}");
    assert!(found.options().packets >= 970, "{}", found.options().packets);
    for (bytes, reason) in
        [(&b""[..], "empty or too short"), (b"no capture at all, but text", "neither pcap nor pcapng")]
    {
        let found = reading("none", bytes);
        let [problem] = found.problems() else { panic!("{:?}", found.problems()) };
        assert!(problem.reason.contains(reason), "{problem}");
    }
    let missing = read(&[PathBuf::from("/nowhere.pcap"), std::env::temp_dir()]);
    let reasons: Vec<&str> = missing.problems().iter().map(|problem| problem.reason.as_str()).collect();
    assert_eq!(reasons, ["no such file", "not a regular file"]);
}

/// A file without its first packets.
fn late(file: &[u8], packets: usize) -> Vec<u8> {
    let mut out = pcap(file, 101, &[], true);
    let mut at = 24;
    for _ in 0..packets {
        at += 16 + word(&out, at + 8) as usize;
    }
    out.drain(24..at);
    out
}

/// Without the handshake there are no keys: data sequence numbers tell which subflows belong together, and Data ACKs what was
/// delivered meanwhile. Data whose mapping began before the capture has none until a mapping tells where the numbers of its subflow
/// begin.
#[test]
fn a_capture_may_begin_in_the_middle() {
    let found = reading("late", &late(&original("two-subflows"), 200));
    assert_eq!(found.problems(), []);
    let flows = found.flows();
    let [flow] = flows[..] else { panic!("{} connections", flows.len()) };
    // By tshark: the first Data ACK of the rest has the number 113,577, the last one 673,633.
    assert_eq!((flow.any().acknowledged_bytes(0), flow.any().is_finished(0)), (673_632 - 113_576, true));
    let subflows: Vec<_> = flow.any().subflows().collect();
    let ends: Vec<_> = subflows.iter().map(|subflow| subflow.ends().source.ip().to_string()).collect();
    assert_eq!((subflows.len(), subflows.iter().all(|subflow| !subflow.joins())), (2, true));
    assert!(ends.iter().all(|end| end.ends_with(".1")), "{ends:?}");
    for subflow in &subflows {
        let counts = subflow.counts(0);
        assert!(counts.unmapped_bytes < 80_000 && counts.reinjected_bytes == 0, "{counts:?}");
    }
    // Echoes of timestamps tell the side, and that an ACK answers a copy which was sent before the capture began.
    assert_eq!(flow.sender(0).map(|sender| sender.side()), Some(Side::Client));
    let mut least: Vec<_> = subflows.iter().map(|subflow| subflow.rtt(0).expect("round trips")[1]).collect();
    least.sort_by(f64::total_cmp);
    // The whole capture has 0.0432 and 0.1232 s.
    assert!(
        least.iter().zip([0.0432, 0.1232]).all(|(late, whole)| (late - whole).abs() < 0.0005),
        "{least:?}"
    );
}

/// With the SYN/ACK of a join, too.
#[test]
fn a_capture_may_begin_with_any_packet() {
    let file = original("two-subflows");
    for packets in 0..900 {
        let found = reading("any", &late(&file, packets));
        assert_eq!(found.flows().len(), 1, "without {packets} packets");
    }
}

/// Numbers of 4 bytes are too few to tell connections apart: unknown figures stay empty.
#[test]
fn without_wide_numbers_a_late_capture_leaves_open_what_it_cannot_know() {
    let mut file = original("two-subflows");
    // The option begins with kind, length, subtype 2 and flags: those of 8-byte numbers go, and the option is one of 4 bytes.
    let mut narrow = 0;
    for at in 0..file.len() - 4 {
        if file[at] == 30
            && [12, 22].contains(&file[at + 1])
            && file[at + 2] == 0x20
            && file[at + 3] & 0x0a != 0
        {
            file[at + 3] &= !0x0a;
            narrow += 1;
        }
    }
    assert!(narrow > 900, "{narrow}");
    let found = reading("narrow", &late(&file, 200));
    let tables = dissect::tables(&found);
    let flows = tables.iter().find(|table| table.name == "flows").expect("a table");
    assert_eq!(flows.column("delivered_bytes"), Some(&trace::Data::OptionalInteger(vec![None; 2])));
    assert_eq!(flows.column("goodput_bit_s"), Some(&trace::Data::Real(vec![None; 2])));
}

/// With offload to the interface a sender sees packets whose IP header has no length yet.
#[test]
fn packets_without_a_length_are_as_long_as_the_capture_says() {
    let file = pcap(&original("two-subflows"), 101, &[], true);
    let (mut zero, mut at) = (file.clone(), 24);
    while at < zero.len() {
        zero[at + 18..at + 20].fill(0);
        at += 16 + word(&zero, at + 8) as usize;
    }
    assert_eq!(counted(&reading("zero", &zero)), counted(&reading("length", &file)));
    assert_eq!(counted(&reading("length", &file)).len(), 2);
}

#[test]
fn pppoe_and_the_length_of_a_checksum_are_read_past() {
    let file = original("two-subflows");
    let plain = counted(&reading("raw", &pcap(&file, 101, &[], true)));
    let header = [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 9, 0, 6, 0, 0x21]].concat();
    assert_eq!(counted(&reading("pppoe", &pcap(&file, 1, &header, true))), plain);
    // A frame check sequence of four bytes, which the lengths of the file leave out.
    assert_eq!(counted(&reading("fcs", &pcap(&file, 101 | 0x2400_0000, &[], true))), plain);
}

#[test]
fn a_compressed_capture_is_told_from_no_capture() {
    for (magic, name) in
        [(&[0x1f, 0x8b, 8][..], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"), (b"\xfd7zXZ", "xz")]
    {
        let found = reading(name, &[magic, &[0; 100]].concat());
        let [problem] = found.problems() else { panic!("a word") };
        assert_eq!(problem.reason, format!("it is compressed: unpack it with {name} -d"));
    }
    assert_eq!(
        reading("text", b"no capture at all, but text").problems()[0].reason,
        "neither pcap nor pcapng"
    );
}

/// The third ACK and the two segments with the key of the client are missing: the numbers of the first subflow tell where
/// those of the connection begin.
#[test]
fn data_may_overtake_the_key() {
    let mut out = pcap(&original("two-subflows"), 101, &[], true);
    let (mut at, mut number) = (24, 0);
    while number < 5 {
        let length = 16 + word(&out, at + 8) as usize;
        if number >= 2 {
            out.drain(at..at + length);
        } else {
            at += length;
        }
        number += 1;
    }
    let found = reading("overtaken", &out);
    let connections: Vec<_> = found.connections().collect();
    assert_eq!(
        connections.iter().map(|c| (c.subflows().count(), c.bytes(0))).collect::<Vec<_>>(),
        [(2, 700_000 - 2 * 1424)]
    );
    assert!(connections[0].subflows().all(|subflow| subflow.counts(0).unmapped_bytes == 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_no_reason_to_give_up(
        name in prop_oneof![Just("late-add-addr"), Just("fallback")],
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
        end in any::<prop::sample::Index>(),
        whole: bool,
    ) {
        let mut file = original(name);
        for (at, value) in edits {
            let at = at.index(file.len());
            file[at] = value;
        }
        if !whole {
            file.truncate(end.index(file.len()));
        }
        let found = reading(&format!("damage-{name}"), &file);
        prop_assert!(dissect::tables(&found).len() == trace::metrics::TABLES.len() + 3);
    }
}
