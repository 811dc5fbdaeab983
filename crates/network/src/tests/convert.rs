//! Transport Converters (RFC 8803): connections that ask for their server in the SYN.

use proptest::prelude::*;
use trace::{FlowRecord, LegRecord};
use units::Bytes;

use super::*;

/// A terminal with two accesses, a server, and a converter beside the way from one to the other.
fn world(duration: &str, client: &str, server: &str, flow: &str, more: &str) -> String {
    format!(
        "name = \"test\"\nduration = \"{duration}\"\n\
         [[path]]\nname = \"satellite\"\nto = \"core\"\n\
         both = {{ rate = \"4Mbit/s\", delay = \"100ms\", queue = \"300p\" }}\n\
         [[path]]\nname = \"cellular\"\nlike = \"satellite\"\nboth = {{ rate = \"2Mbit/s\", delay = \"30ms\" }}\n\
         [[path]]\nname = \"wan\"\nfrom = \"core\"\n\
         both = {{ rate = \"80Mbit/s\", delay = \"10ms\", queue = \"1000p\" }}\n\
         [[path]]\nname = \"pop\"\nfrom = \"core\"\nto = \"pop\"\n\
         both = {{ rate = \"1Gbit/s\", delay = \"0ms\", queue = \"1000p\" }}\n\
         [[proxy]]\nname = \"converter\"\nnode = \"pop\"\nkind = \"convert\"\n\
         client = {{ {client} }}\nserver = {{ {server} }}\n\
         [[flow]]\nname = \"bulk\"\n{flow}\n{more}"
    )
}

const TCP: &str = "kind = \"tcp\"";
const MPTCP: &str = "kind = \"mptcp\"";

fn flow(from: &str, transport: &str, size: u64) -> String {
    let to = if from == "server" { "terminal" } else { "server" };
    let opener = if from == "server" { "receiver" } else { "sender" };
    format!(
        "from = \"{from}\"\nto = \"{to}\"\nopened_by = \"{opener}\"\n\
         app = {{ kind = \"bulk\", size = \"{size}B\" }}\ntransport = {{ {transport} }}"
    )
}

fn sizes<'r>(record: &'r RunRecord, event: &'r str, place: &'r str) -> impl Iterator<Item = u64> + 'r {
    let here = move |words: &Vec<&str>| words[1] == event && words[2] == place;
    lines(record).filter(here).map(|words| words[10].parse().expect("a size"))
}

/// The SYN carries the question to the converter, and its answer comes with the SYN/ACK, when the server has answered: no round trip
/// more than end to end over the same links (RFC 8803 section 3.2). Both are charged: 24 bytes and 4.
#[test]
fn a_conversion_costs_no_round_trip() {
    let text = world("20s", TCP, TCP, &flow("terminal", TCP, 1000), "");
    let record = checked(&text, 1);
    let sent: Vec<u64> = sizes(&record, "send", "terminal").collect();
    let answered = sizes(&record, "recv", "terminal").next().expect("a SYN/ACK");
    let syn = sizes(&record, "recv", "server").next().expect("a SYN without a question");
    assert_eq!((sent[0] - syn, answered - syn), (24, 4));
    let options: Vec<&str> = lines(&record).map(|words| words[5]).filter(|option| *option != "-").collect();
    assert_eq!((options[0], options.contains(&"converted")), ("connect", true));
    // Nanoseconds per byte of satellite, stub and wan; delays.
    let ([satellite, stub, wan], [d, e]) = ([2000, 8, 100], [100_000_000, 10_000_000]);
    let near = (sent[0] + answered + sent[1]) * (satellite + stub) + 3 * d;
    let far = (2 * syn + sent[1]) * (stub + wan) + 3 * e;
    // On the stub the ACK to the client leaves before the data to the server: behind SYN, SYN/ACK, and the ACK to the server.
    let ack = sizes(&record, "send", "pop").nth(3).expect("an ACK");
    let flow = &record.flows[0];
    assert_eq!(flow.end, SimTime(near + far + ack * stub));
    assert!(flow.completed && flow.legs.len() == 2, "{:?}", flow.legs);
    let places: Vec<_> = flow.legs.iter().map(|leg| (leg.leg, leg.from, leg.to)).collect();
    // Terminal, core, server, pop.
    assert_eq!(places, [(0, 0, 3), (1, 3, 2)]);
}

/// All subflows of a client end at the converter, whose address no way to the server passes.
#[test]
fn mptcp_to_the_converter_whatever_is_behind() {
    for (server, falls_back) in [(TCP, true), (MPTCP, false)] {
        for from in ["terminal", "server"] {
            let text = world("60s", MPTCP, server, &flow(from, MPTCP, 3_000_000), "");
            let record = checked(&text, 1);
            let flow = &record.flows[0];
            assert!(
                flow.completed && flow.delivered == Bytes(3_000_000),
                "{server}, {from}: {:?}",
                flow.failure
            );
            let number = u32::from(from == "server");
            let near: Vec<&LegRecord> = flow.legs.iter().filter(|leg| leg.leg == number).collect();
            assert_eq!(near.len(), 2, "both accesses");
            assert!(near.iter().all(|leg| leg.received > Bytes(300_000)), "{near:?}");
            assert_eq!(flow.fell_back, falls_back, "told by the packets of its server");
            // 28 bytes of Extended Connect; the answer has the options of the server's SYN/ACK.
            let plain = sizes(&record, "recv", "server").next().expect("a SYN");
            let [asked, told] = ["send", "recv"].map(|event| sizes(&record, event, "terminal").next());
            let capable = |ours: bool| if ours { 4 } else { 0 };
            let behind = server == MPTCP;
            assert_eq!(asked.map(|size| size - plain), Some(28 + capable(true) - capable(behind)));
            let options = plain - 40 + if behind { 8 } else { 0 };
            assert_eq!(told.map(|size| size - plain), Some(8 + options + 12 - capable(behind)));
        }
    }
}

/// A client without MPTCP, and a converter that has it.
#[test]
fn tcp_to_the_converter_and_mptcp_behind() {
    let text = world("60s", MPTCP, MPTCP, &flow("terminal", TCP, 300_000), "");
    let flow = &checked(&text, 1).flows[0];
    assert!(flow.completed && flow.legs.len() == 2, "{:?}", flow.failure);
}

fn failure(flow: &FlowRecord) -> &str {
    flow.failure.as_deref().unwrap_or_default()
}

/// RFC 8803 section 6.2.8: an Error TLV, upon which the client resets its connection.
#[test]
fn a_converter_says_why_there_is_no_connection() {
    for transport in [TCP, MPTCP] {
        let ask = flow("terminal", transport, 100_000);
        let full = ask.clone() + "\ncount = 2\nspacing = \"1ms\"\nvia = \"satellite\"";
        let text = world("20s", transport, TCP, &full, "")
            .replace("\"pop\"\nkind", "\"pop\"\nconnections = 1\nkind");
        let record = checked(&text, 1);
        assert!(record.flows[0].completed, "{:?}", record.flows[0].failure);
        assert!(
            failure(&record.flows[1]).contains("Resource Exceeded (64)"),
            "{}",
            failure(&record.flows[1])
        );
        let end = "[[event]]\nat = \"0s\"\nlink = \"wan\"\nset = { up = false }\n";
        let text = world("60s", transport, "kind = \"tcp\", syn_retries = 2", &ask, end);
        let record = checked(&text, 1);
        assert!(failure(&record.flows[0]).contains("Network Failure (65)"), "{}", failure(&record.flows[0]));
        // The SYN/ACK with the message, and the reset that answers it.
        let at_client = |words: &Vec<&str>| words[2] == "terminal" && words[1] != "state";
        let mut seen: Vec<_> = lines(&record)
            .filter(at_client)
            .map(|words| (words[1].to_owned(), words[4].to_owned()))
            .collect();
        let mut last = seen.split_off(seen.len() - 2);
        last.sort();
        assert_eq!(last, [("recv", "SA"), ("send", "RA")].map(|(event, flags)| (event.into(), flags.into())));
        // The SYN/ACK of the server is lost, and its application gives the connection up.
        let gone =
            "[[event]]\nat = \"200ms\"\nflow = \"bulk\"\ndo = { abort = \"reset\", end = \"server\" }\n";
        let loss = "name = \"wan\"\ndown = { loss = { kind = \"list\", packets = [1] } }";
        let record = checked(&world("20s", transport, TCP, &ask, gone).replace("name = \"wan\"", loss), 1);
        let told = |words: &Vec<&str>| words[1] == "recv" && words[2] == "terminal" && words[5] == "refused";
        let at: Vec<u64> =
            lines(&record).filter(told).map(|words| words[0].parse().expect("microseconds")).collect();
        assert!(
            at.len() == 1 && (310_000..312_000).contains(&at[0]),
            "a RST of the server, not a timeout: {at:?}"
        );
    }
}

#[test]
fn a_converter_stands_alone_and_answers_late() {
    let text = world("20s", TCP, TCP, &flow("terminal", TCP, 1000), "");
    let refused = |text: &str| {
        let read = Document::parse(text, "test.toml", &[], &Registries::builtin());
        read.map(|_| ()).expect_err("a mistake").to_string()
    };
    let split = "[[proxy]]\nname = \"pep\"\nnode = \"core\"\nkind = \"split\"\nclient = { kind = \"tcp\" }\nserver = { kind = \"tcp\" }\n";
    let found = refused(&(text.clone() + split));
    assert!(found.contains("a converter, which stands alone"), "{found}");
    let found = refused(&text.replace("kind = \"convert\"", "kind = \"convert\"\nhandshake = \"early\""));
    assert!(found.contains("RFC 8803 section 3.2"), "{found}");
    let found = refused(&text.replacen(
        "client = { kind = \"tcp\" }",
        "client = { kind = \"tcp\", profile = \"scps\" }",
        1,
    ));
    assert!(found.contains("SCPS-TP or RFC 8803"), "{found}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is lost, and whatever access dies for a while, each byte arrives once; `Relay::check` looks after each step that the
    /// converter has what it has acknowledged.
    #[test]
    fn a_converted_transfer_survives_faults(
        size in 1u64..600_000,
        multipath: [bool; 3],
        down: bool,
        loss in 0u32..15,
        outage in 1u64..4000,
        seed in 0u64..1000,
    ) {
        let [client, here, there] = multipath.map(|multipath| if multipath { MPTCP } else { TCP });
        let ask = flow(if down { "server" } else { "terminal" }, client, size);
        let lossy = format!("loss = {{ kind = \"packet\", probability = {} }}", f64::from(loss) / 100.0);
        let until = outage + 1500;
        let events = format!(
            "[[event]]\nat = \"{outage}ms\"\nlink = \"cellular\"\nset = {{ up = false }}\n\
             [[event]]\nat = \"{until}ms\"\nlink = \"cellular\"\nset = {{ up = true }}\n"
        );
        let text = world("900s", here, there, &ask, &events).replace("queue = \"300p\"", &format!("queue = \"300p\", {lossy}"));
        let record = checked(&text, seed);
        let flow = &record.flows[0];
        // A SYN that is lost seven times is given up.
        let never = flow.failure.is_some() && flow.delivered == Bytes::ZERO;
        prop_assert!(flow.completed && flow.delivered == Bytes(size) || never, "{flow:?}\n{text}");
        prop_assert!(flow.legs.iter().all(|leg| leg.held.is_none_or(|(_, lost)| lost == Bytes::ZERO)));
    }
}
