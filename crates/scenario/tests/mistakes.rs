//! Wrong files: the place, the code and the cure of each mistake, each reported once and all at the same time.

mod common;

use common::{BASE, MULTIPATH, ROUTED, good, parse};

/// `(what to replace, by what, [(line, column, code, part of the cure)])`.
type Row = (&'static str, &'static str, &'static [(usize, usize, &'static str, &'static str)]);

fn check(base: &str, rows: &[Row]) {
    let mut wrong = Vec::new();
    for (from, to, expected) in rows {
        assert!(base.contains(from), "{from}");
        let text = base.replacen(from, to, 1);
        let found = match parse(&text, &[]) {
            Ok(_) => panic!("accepted: {from} -> {to}"),
            Err(found) => found,
        };
        let places: Vec<_> = found.iter().map(|d| (d.line, d.column, d.code.as_str())).collect();
        let wanted: Vec<_> = expected.iter().map(|(line, column, code, _)| (*line, *column, *code)).collect();
        let cured =
            found.iter().zip(*expected).all(|(d, (.., cure))| d.help.contains(cure) && d.file == "test.toml");
        if places != wanted || !cured {
            wrong.push(format!("{from} -> {to}\nwanted {expected:?}, found\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn single_values() {
    check(
        BASE,
        &[
            ("\"30s\"", "30", &[(1, 12, "E004", "\"30s\"")]),
            ("\"30s\"", "\"30\"", &[(1, 12, "E005", "add a unit: \"30ns\"")]),
            ("\"30s\"", "\"30 sec\"", &[(1, 12, "E005", "\"30s\"")]),
            ("\"30s\"", "\"0s\"", &[(1, 12, "E005", "at least")]),
            ("\"30s\"", "\"unlimited\"", &[(1, 12, "E005", "at most")]),
            ("\"30s\"", "1979-05-27", &[(1, 12, "E004", "a duration")]),
            ("\"3Mbit/s\"", "\"3Mbps\"", &[(5, 17, "E005", "\"3Mbit/s\"")]),
            ("\"3Mbit/s\"", "\"0Mbit/s\"", &[(5, 17, "E005", "at least \"1bit/s\"")]),
            ("\"3Mbit/s\"", "3", &[(5, 17, "E004", "\"3Mbit/s\"")]),
            ("rate = \"3Mbit/s\"", "rte = \"3Mbit/s\"", &[(5, 10, "E002", "did you mean `rate`?")]),
            ("\"250ms\" }", "\"250ms\", queue = 100 }", &[(5, 53, "E004", "\"100p\"")]),
            ("\"250ms\" }", "\"250ms\", loss = \"packet\" }", &[(5, 52, "E003", "probability = ")]),
            (
                "\"250ms\" }",
                "\"250ms\", loss = 0.01 }",
                &[(5, 52, "E004", "write { kind = \"packet\", probability = 0.01 }")],
            ),
            (
                "\"250ms\" }",
                "\"250ms\", loss = \"1%\" }",
                &[(5, 52, "E006", "write { kind = \"packet\", probability = \"1%\" }")],
            ),
            (
                "\"250ms\" }",
                "\"250ms\", loss = { kind = \"packet\", probability = 2 } }",
                &[(5, 85, "E005", "did you mean \"2%\"?")],
            ),
            (
                "\"250ms\" }",
                "\"250ms\", loss = { kind = \"packet\", probablity = 0.1 } }",
                &[(5, 71, "E002", "`probability`")],
            ),
            (
                "\"250ms\" }",
                "\"250ms\", loss = { probability = 0.1 } }",
                &[(5, 52, "E003", "none, packet, ber")],
            ),
            ("\"250ms\" }", "\"250ms\", loss = \"packets\" }", &[(5, 52, "E006", "did you mean `packet`?")]),
            ("\"beam1\"", "\"beam 1\"", &[(4, 8, "E007", "\"beam-1\""), (16, 8, "E009", "beam 1")]),
            ("\"upload\"", "\"\"", &[(9, 8, "E007", "letters, digits")]),
            ("name = \"upload\"", "", &[(8, 1, "E003", "`name`")]),
            ("duration = \"30s\"", "duration = \"30s\"\nseeds = [1, 2, 1]", &[(2, 9, "E005", "once")]),
            ("duration = \"30s\"", "duration = \"30s\"\nseeds = []", &[(2, 9, "E005", "list of seeds")]),
            (
                "duration = \"30s\"",
                "duration = \"30s\"\nseeds = 99999999999999999999",
                &[(2, 9, "E004", "1000000")],
            ),
            ("up = false", "up = \"false\"", &[(17, 14, "E004", "leave out the quotes: false")]),
        ],
    );
}

/// Applications that would stand still, be empty or be of no use, and the cure.
const APPS: &[(&str, &str)] = &[
    ("\"ping\", interval = \"0s\"", "at least \"1us\""),
    ("\"iperf\", interval = \"0s\"", "at least \"1ms\""),
    ("\"player\", segment = \"0s\"", "at least \"1ms\""),
    ("\"player\", low = \"0bit/s\"", "at least \"1bit/s\""),
    ("\"video\", rate = \"0bit/s\"", "at least \"1bit/s\""),
    ("\"onoff\", packet = \"0B\"", "at least \"1B\""),
    ("\"onoff\", rate = \"7bit/s\", connections = 8", "at least \"8bit/s\""),
    // One packet per nanosecond; none came before the next instant.
    ("\"onoff\", packet = \"1B\", rate = \"10Gbit/s\"", "at least \"2B\""),
    ("\"onoff\", packet = \"unlimited\"", "at most \"1GB\""),
    ("\"bulk\", read_rate = \"0bit/s\"", "at least \"1bit/s\""),
    ("\"bulk\", size = \"0B\", repeat = 2", "at least \"1B\""),
    ("\"http\", main = \"5kB\"", "page = \"custom\""),
    ("\"http\", protocol = \"http/2\", pipelining = true", "http/1.1"),
];

/// The same of models of links: the key and its value, the cure.
const MODELS: &[(&str, &str, &str)] = &[
    (
        "delay",
        "\"normal\", mean = \"30ms\", deviation = \"5ms\", min = \"40ms\", reorder = false",
        "at least \"40ms\"",
    ),
    ("delay", "\"pareto\", min = \"20ms\", max = \"10ms\", reorder = false", "at least \"20ms\""),
    ("queue", "\"pie\", update = \"999us\"", "at least \"1ms\""),
    ("queue", "\"fq_codel\", quantum = \"0B\"", "at least \"1B\""),
    ("queue", "\"red\", min_threshold = 0.5, max_threshold = 0.2", "at least 0.5"),
    ("rate", "\"markov\", rates = [\"1Mbit/s\", \"2Mbit/s\"], dwell = [\"1s\", \"999ns\"]", "less than 1us"),
];

#[test]
fn bounds_of_options() {
    let apps = APPS.iter().map(|(app, cure)| {
        let text = format!("to = \"server\"\napp = {{ kind = {app} }}");
        (BASE.replacen("to = \"server\"", &text, 1), cure)
    });
    let models = MODELS.iter().map(|(key, model, cure)| {
        let kept =
            [("rate", "\"3Mbit/s\""), ("delay", "\"250ms\"")].into_iter().filter(|(other, _)| other != key);
        let kept: String = kept.map(|(key, value)| format!("{key} = {value}, ")).collect();
        let text = format!("{{ {kept}{key} = {{ kind = {model} }} }}");
        (BASE.replacen("{ rate = \"3Mbit/s\", delay = \"250ms\" }", &text, 1), cure)
    });
    for (text, cure) in apps.chain(models) {
        let found = parse(&text, &[]).expect_err(&text);
        let mistakes: Vec<_> = found.iter().map(|d| (d.code.as_str(), d.help.contains(cure))).collect();
        assert!(mistakes.contains(&("E005", true)), "{text}: {found}");
    }
}

#[test]
fn what_controllers_need() {
    check(
        BASE,
        &[
            ("\"mptcp\"", "\"tcp\", congestion = \"jersey\"", &[(12, 42, "E012", "set ecn = true")]),
            // An association has no marks either, no delivery rates and no round trip of each ACK.
            ("\"mptcp\"", "\"sctp\", congestion = \"jersey\"", &[(12, 43, "E012", "\"lia\"")]),
            ("\"mptcp\"", "\"cmt-sctp\", congestion = \"bbr\"", &[(12, 47, "E012", "\"lia\"")]),
            ("\"mptcp\"", "\"cmt-sctp\", congestion = \"wvegas\"", &[(12, 47, "E012", "\"lia\"")]),
            ("\"mptcp\"", "\"cmt-sctp\", congestion = \"westwood\"", &[(12, 47, "E012", "\"lia\"")]),
            ("\"mptcp\"", "\"sctp\", congestion = \"peach\"", &[(12, 43, "E012", "\"lia\"")]),
            (
                "\"mptcp\"",
                "\"tcp\", congestion = { kind = \"fixed-rate\", rate = \"0bit/s\" }",
                &[(12, 72, "E005", "at least \"1bit/s\"")],
            ),
            (
                "\"mptcp\"",
                "\"tcp\", congestion = { kind = \"vegas\", alpha = 3, beta = 2 }",
                &[(12, 78, "E005", "at least 3")],
            ),
            // The sum of two such windows overflowed.
            (
                "\"mptcp\"",
                "\"mptcp\", congestion = { kind = \"lia\", min_increase = \"unlimited\" }",
                &[(12, 75, "E005", "at most \"1MB\"")],
            ),
            ("\"mptcp\"", "\"tcp\", congestion = \"hybla\"", &[(12, 42, "E012", "\"64KiB\"")]),
            (
                "\"mptcp\"",
                "\"tcp\", congestion = { kind = \"hybla\" }, profile = \"ns3\", initial_ssthresh = \"unlimited\"",
                &[(12, 98, "E012", "\"64KiB\"")],
            ),
        ],
    );
}

#[test]
fn variants_of_what_is_switched_off() {
    check(
        BASE,
        &[
            ("\"mptcp\"", "\"tcp\", nagle = false, minshall = true", &[(12, 55, "E012", "set nagle = true")]),
            (
                "\"mptcp\"",
                "\"mptcp\", wide_sequence = false, short_data_ack = true",
                &[(12, 71, "E012", "set wide_sequence = true")],
            ),
            (
                "\"mptcp\"",
                "\"tcp\", multiple_fast_retransmits = true",
                &[(12, 57, "E012", "or recovery = \"newreno\"")],
            ),
            (
                "\"mptcp\"",
                "\"tcp\", flight_after_timeout = \"outstanding\"",
                &[(12, 52, "E012", "ssthresh_from = \"flight\"")],
            ),
        ],
    );
}

/// RFC 8985 section 4: "The connection MUST use selective acknowledgment (SACK) options [RFC2018], and the sender MUST
/// keep SACK scoreboard information on a per-connection basis"
#[test]
fn transports() {
    check(
        BASE,
        &[
            ("\"mptcp\"", "\"mptpc\"", &[(12, 22, "E006", "did you mean `mptcp`?")]),
            ("\"mptcp\"", "\"tcp\", scheduler = \"minrtt\"", &[(12, 29, "E011", "kind = \"mptcp\"")]),
            ("kind = \"mptcp\"", "profile = \"linux\"", &[(12, 13, "E003", "`kind`")]),
            ("\"mptcp\"", "\"tcp\", profile = \"linus\"", &[(12, 39, "E006", "did you mean `linux`?")]),
            ("\"mptcp\"", "\"tcp\", congestion = \"cubik\"", &[(12, 42, "E006", "did you mean `cubic`?")]),
            ("\"mptcp\"", "\"tcp\", congestion = { hystrat = true }", &[(12, 44, "E002", "`hystart`")]),
            (
                "\"mptcp\"",
                "\"tcp\", sack = false",
                &[(12, 36, "E012", "recovery = \"newreno\" and prr = false")],
            ),
            (
                "\"mptcp\"",
                "\"tcp\", profile = \"ns3\", recovery = \"rack\"",
                &[(12, 57, "E012", "set sack = true, or recovery = \"newreno\"")],
            ),
            ("\"mptcp\"", "\"tcp\", profile = \"ns3\", prr = true", &[(12, 52, "E012", "prr = false")]),
            ("\"mptcp\"", "\"mptcp\", recovery = \"snack\"", &[(12, 42, "E012", "set kind = \"tcp\"")]),
            (
                "\"mptcp\"",
                "\"mptcp\", profile = \"stp\"",
                &[(12, 41, "E012", "recovery = \"newreno\", \"sack\" or \"rack\"")],
            ),
            ("\"mptcp\"", "\"tcp\", recovery = \"snack\", sack = true", &[(12, 56, "E012", "sack = false")]),
            (
                "\"mptcp\"",
                "\"tcp\", recovery = \"stp\", acks_per_rtt = 2",
                &[(12, 62, "E012", "set acks_per_rtt = 0")],
            ),
            (
                "\"mptcp\"",
                "\"tcp\", recovery = \"stp\", timestamps = true",
                &[(12, 60, "E012", "timestamps = false")],
            ),
            ("\"mptcp\"", "\"tcp\", scps_peer = false", &[(12, 41, "E012", "recovery = \"snack\"")]),
            (
                "\"mptcp\"",
                "\"tcp\", receive_buffer = \"16MB\"",
                &[(12, 46, "E012", "receive_buffer_max = \"16MB\"")],
            ),
            ("\"mptcp\"", "\"tcp\", rto_min = \"3min\"", &[(12, 39, "E012", "rto_max = \"180s\"")]),
            ("\"mptcp\"", "\"tcp\", rto_initial = \"3min\"", &[(12, 43, "E012", "rto_max = \"180s\"")]),
            (
                "\"mptcp\"",
                "\"tcp\", send_buffer = \"1MB\", send_buffer_max = \"2MB\"",
                &[(12, 68, "E012", "send_buffer = \"auto\"")],
            ),
            ("\"mptcp\"", "\"tcp\", mss = \"0B\"", &[(12, 35, "E005", "at least \"1B\"")]),
            ("\"mptcp\"", "\"tcp\", dupthresh = 0", &[(12, 41, "E005", "from 1 to")]),
            ("\"mptcp\"", "\"tcp\", ack_every = 0", &[(12, 41, "E005", "from 1 to")]),
            ("\"mptcp\"", "\"tcp\", initial_window = 0", &[(12, 46, "E005", "from 1 to")]),
            (
                "\"mptcp\"",
                "\"tcp\", slow_start_limit = \"2\"",
                &[(12, 48, "E004", "leave out the quotes: 2")],
            ),
            ("\"mptcp\"", "\"mptcp\", path_manager = \"full-mesh\"", &[(12, 46, "E006", "`fullmesh`")]),
            (
                "\"mptcp\"",
                "\"mptcp\", path_manager = { kind = \"ndiffports\", subflows = 0 }",
                &[(12, 80, "E005", "from 1 to 64")],
            ),
            ("\"mptcp\" }", "\"mptcp\", reinjection = \"never\" }", &[(12, 45, "E006", "timeout, death")]),
            ("\"mptcp\" }", "\"mptcp\", reinject_on = \"fastest\" }", &[(12, 45, "E006", "lowest-rtt")]),
        ],
    );
}

#[test]
fn references_and_times() {
    check(
        BASE,
        &[
            ("\"terminal\"", "\"terminl\"", &[(10, 8, "E009", "did you mean `terminal`?")]),
            ("to = \"server\"", "to = \"terminal\"", &[(11, 6, "E015", "another node")]),
            ("link = \"beam1\"", "link = \"beam1.upp\"", &[(16, 8, "E009", "did you mean `beam1.up`?")]),
            ("\"12s\"", "\"30s\"", &[(15, 6, "E017", "earlier")]),
            ("set = { up = false }", "set = {}", &[(17, 7, "E003", "at least one of")]),
            ("\"upload\"", "\"upload\"\nvia = \"beam2\"", &[(10, 7, "E009", "did you mean `beam1`?")]),
            ("\"upload\"", "\"upload\"\nstart = \"9s\"\nstop = \"9s\"", &[(11, 8, "E018", "later")]),
            ("\"upload\"", "\"upload\"\nstart = \"30s\"", &[(10, 9, "E017", "earlier")]),
            ("\"upload\"", "\"upload\"\nlike = \"upload\"", &[(10, 8, "E010", "remove its `like`")]),
            ("\"upload\"", "\"upload\"\nlike = \"uplaod\"", &[(10, 8, "E009", "none to choose from")]),
            ("down = { rate = \"10Mbit/s\", delay = \"250ms\" }", "", &[(3, 1, "E003", "`down`")]),
            ("name = \"beam1\"", "name = \"beam1\"\nto = \"terminal\"", &[(5, 6, "E015", "different nodes")]),
            ("[[path]]", "[path]", &[(3, 1, "E004", "[[path]]")]),
            ("[[path]]", "[[paht]]", &[(3, 3, "E002", "did you mean `path`?")]),
            (
                "[[path]]\nname = \"beam1\"",
                "[[path]]\nname = \"beam1\"\nrate = \"3Mbit/s\"",
                &[(5, 1, "E002", "`both = { rate = ... }`")],
            ),
            (
                "[[flow]]",
                "[[path]]\nname = \"beam1\"\nboth = { rate = \"1Mbit/s\", delay = \"5ms\" }\n\n[[flow]]",
                &[(9, 8, "E008", "another name")],
            ),
            // Others refer to a flow by the name in the file, whatever its `count`.
            (
                "[[flow]]",
                "[[flow]]\nname = \"upload\"\nfrom = \"terminal\"\nto = \"server\"\ncount = 3\n\
                transport = { kind = \"tcp\" }\n\n[[flow]]",
                &[(16, 8, "E008", "another name")],
            ),
            // One mistake in `both` is one mistake, and an heir repeats none.
            (
                "[[flow]]",
                "[[path]]\nname = \"b\"\nboth = { rate = \"1Mbit\", delay = \"5ms\" }\n\n[[path]]\nname = \"c\"\nlike = \"b\"\n\n[[flow]]",
                &[(10, 17, "E005", "\"1Mbit/s\"")],
            ),
            (
                "[[flow]]",
                "[[path]]\nname = \"b\"\nboth = { delay = \"5ms\" }\n\n[[flow]]",
                &[(10, 8, "E003", "`rate`")],
            ),
            ("[[flow]]", "[[path]]\nname = \"b\"\n\n[[flow]]", &[(8, 1, "E003", "both = {")]),
            (
                "[[flow]]",
                "[[path]]\nname = \"b\"\nlike = \"c\"\n\n[[path]]\nname = \"c\"\nlike = \"b\"\n\n[[flow]]",
                &[(10, 8, "E010", "remove its `like`")],
            ),
        ],
    );
}

#[test]
fn topologies() {
    check(
        ROUTED,
        &[
            ("count = 2", "count = 2\nforward = false", &[(34, 6, "E014", "let r1, r2 pass packets on")]),
            ("\"r1\", \"b\"", "\"r1\", \"c\"", &[(22, 15, "E009", "nodes: a, r1, r2, b")]),
            ("\"r1\", \"b\"", "\"r\", \"b\"", &[(22, 9, "E009", "r1, r2")]),
            ("\"r1\", \"b\"", "\"r1\", \"r1\"", &[(22, 15, "E015", "different nodes")]),
            ("\"r1\", \"b\"", "\"r1\"", &[(22, 8, "E005", "2 node names")]),
            ("right = [\"r\"]", "right = [\"r\", \"r2\"]", &[(17, 15, "E008", "once")]),
            ("right = [\"r\"]", "right = [\"r\", \"a\"]", &[(17, 9, "E015", "one side")]),
            ("right = [\"r\"]", "right = \"r\"", &[(17, 9, "E004", "[\"r\"]")]),
            ("name = \"b\"", "name = \"r1\"", &[(12, 8, "E008", "another name")]),
            ("name = \"b\"", "name = \"b\"\n[[node]]\nname = \"x\"", &[(14, 8, "E014", "join it")]),
            ("to = \"b\"", "to = \"b\"\nvia = \"one\"", &[(34, 7, "E016", "left.a-r1, left.a-r2")]),
            ("count = 2", "count = 1001", &[(9, 9, "E005", "from 1 to 1000")]),
        ],
    );
}

#[test]
fn syntax() {
    check(
        BASE,
        &[
            ("\"30s\"", "30s", &[(1, 12, "E001", "write \"30s\"")]),
            ("\"30s\"", "\"30s", &[(1, 16, "E001", "close the quotes")]),
            ("\"30s\"", "", &[(1, 12, "E001", "")]),
            ("duration = \"30s\"", "duration = \"30s\"\nduration = \"9s\"", &[(2, 1, "E001", "given twice")]),
            ("[[path]]", "[[path]", &[(3, 8, "E001", "")]),
            ("delay = \"250ms\" }\ndown", "delay = \"250ms\"\ndown", &[(5, 8, "E001", "add `}`")]),
            // After a bad value the rest is checked all the same.
            (
                "\"3Mbit/s\", delay = \"250ms\"",
                "3Mbit/s, dely = \"250ms\"",
                &[(5, 17, "E001", "write \"3Mbit/s\""), (5, 26, "E002", "`delay`")],
            ),
        ],
    );
}

#[test]
fn nothing_to_run() {
    for (text, wanted) in [
        ("", vec!["E013"]),
        ("# only a comment\n", vec!["E013"]),
        ("name = \"x\"\n", vec!["E003", "E013", "E013"]),
        (
            "duration = \"3s\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"tcp\" }\n",
            vec!["E013", "E009", "E009"],
        ),
    ] {
        let found = parse(text, &[]).unwrap_err();
        assert_eq!(found.iter().map(|d| d.code.as_str()).collect::<Vec<_>>(), wanted, "{found}");
    }
}

#[test]
fn all_at_once_in_the_order_of_the_file() {
    let text = BASE
        .replace("\"30s\"", "30")
        .replace("rate = \"3Mbit/s\"", "rte = \"3Mbit/s\"")
        .replace("\"terminal\"", "\"terminl\"")
        .replace("\"mptcp\"", "\"tcp\", checksum = true")
        .replace("{ up = false }", "{ up = 3, delay = \"5\" }");
    let found = parse(&text, &[]).unwrap_err();
    let places: Vec<_> = found.iter().map(|d| (d.line, d.code.as_str())).collect();
    assert_eq!(
        places,
        [(1, "E004"), (5, "E002"), (10, "E009"), (12, "E011"), (17, "E004"), (17, "E005")],
        "{found}"
    );
    let json = found.to_json();
    assert_eq!(json[1]["key"], "path.beam1.up.rte");
    assert_eq!(json[1]["code"], "E002");
    assert_eq!(json[1]["source"], "up   = { rte = \"3Mbit/s\", delay = \"250ms\" }");
    assert_eq!(found.len(), 6);
}

#[test]
fn printed_with_the_line_and_a_caret() {
    let text = BASE.replace("rate = \"3Mbit/s\"", "rte = \"3Mbit/s\"");
    let printed = parse(&text, &[]).unwrap_err().to_string();
    let wanted = "\
test.toml:5:10: path.beam1.up.rte: `rte` is not a key of a link direction [E002]
  5 | up   = { rte = \"3Mbit/s\", delay = \"250ms\" }
    |          ^^^
  fix: did you mean `rate`? keys of a link direction: rate, delay, queue, queue_rtt, loss, shaper, faults, strip_mptcp";
    assert_eq!(printed, wanted);
}

#[test]
fn the_bases_are_good() {
    good(BASE, &[]);
    good(ROUTED, &[]);
}

/// Nine disjoint paths: a full mesh has nine pairs, not eighty-one, and a connection at most 64 subflows.
#[test]
fn a_path_manager_opens_no_more_subflows_than_there_can_be() {
    let file = |kind: &str, subflows: u32| {
        let path =
            |n| format!("[[path]]\nname = \"p{n}\"\nboth = {{ rate = \"1Mbit/s\", delay = \"10ms\" }}\n");
        let paths: String = (0..9).map(path).collect();
        format!(
            "duration = \"5s\"\n{paths}[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\napp = \"bulk\"\n\
             transport = {{ kind = \"mptcp\", path_manager = {{ kind = \"{kind}\", subflows = {subflows} }} }}\n"
        )
    };
    for kind in ["fullmesh", "per-path"] {
        good(&file(kind, 7), &[]);
        let found = parse(&file(kind, 8), &[]).unwrap_err().to_string();
        assert!(found.contains("would open 72 subflows") && found.contains("at most 64"), "{found}");
    }
}

/// Endpoints of the in-kernel path manager.
#[test]
fn endpoints() {
    check(
        MULTIPATH,
        &[
            ("\"in-kernel\"", "\"fullmesh\"", &[(23, 13, "E012", "path_manager = \"in-kernel\"")]),
            ("path = \"beam2\"", "path = \"beam\"", &[(24, 12, "E009", "`beam1`")]),
            ("[\"subflow\", \"backup\"]", "\"subflow\"", &[(24, 29, "E004", "[\"subflow\"]")]),
            ("[\"subflow\", \"backup\"]", "[]", &[(24, 29, "E005", "a list of some of")]),
            ("[\"subflow\", \"backup\"]", "[\"backup\", \"backup\"]", &[(24, 29, "E005", "once")]),
            ("[\"subflow\", \"backup\"]", "[\"subflw\"]", &[(24, 29, "E006", "`subflow`")]),
            (
                "[\"subflow\", \"backup\"]",
                "[\"fullmesh\"]",
                &[(24, 29, "E012", "[\"subflow\", \"fullmesh\"]")],
            ),
            ("[\"signal\"]", "[\"subflow\"]", &[(25, 45, "E012", "\"signal\" at the server")]),
            (
                "path = \"beam1\", end = \"server\"",
                "path = \"beam2\", end = \"client\"",
                &[(25, 12, "E008", "at one place")],
            ),
            ("endpoints = [", "endpoint = [", &[(23, 1, "E002", "`endpoints`")]),
            (
                "path_manager = \"in-kernel\"",
                "path_manager = { kind = \"in-kernel\", subflows = 9 }",
                &[(22, 49, "E005", "from 0 to 8")],
            ),
        ],
    );
}

/// Events of flows.
#[test]
fn flow_events() {
    check(
        MULTIPATH,
        &[
            ("flow = \"upload\"", "flow = \"uplaod\"", &[(34, 8, "E009", "`upload`")]),
            ("do = { join = \"beam2\" }", "", &[(32, 1, "E003", "do = { leave")]),
            ("flow = \"upload\"", "", &[(32, 1, "E003", "`flow`")]),
            ("flow = \"upload\"", "link = \"beam1\"", &[(35, 6, "E012", "two events")]),
            ("{ join = \"beam2\" }", "{}", &[(35, 6, "E003", "leave, join")]),
            ("{ join = \"beam2\" }", "{ end = \"client\" }", &[(35, 6, "E003", "leave, join")]),
            (
                "{ join = \"beam2\" }",
                "{ join = \"beam2\", backup = \"beam2\" }",
                &[(35, 33, "E012", "an event for each")],
            ),
            ("{ join = \"beam2\" }", "{ join = \"beam4\" }", &[(35, 15, "E009", "`beam1`")]),
            ("{ join = \"beam2\" }", "{ join = \"beam1\" }", &[(35, 15, "E012", "let it leave first")]),
            ("{ regular = \"beam2\" }", "{ join = \"beam2\" }", &[(40, 15, "E012", "take turns")]),
            ("{ join = \"beam2\" }", "{ abort = \"fast\" }", &[(35, 16, "E006", "ack, reset")]),
            ("at = \"3s\"", "at = \"30s\"", &[(33, 6, "E017", "longer `duration`")]),
        ],
    );
    check(
        BASE,
        &[
            (
                "link = \"beam1\"\nset = { up = false }",
                "flow = \"upload\"\ndo = { leave = \"beam1\", end = \"sever\" }",
                &[(17, 31, "E006", "`server`")],
            ),
            ("set = { up = false }", "", &[(14, 1, "E003", "`set`")]),
            ("link = \"beam1\"", "", &[(14, 1, "E003", "`link`")]),
        ],
    );
    let tcp = BASE
        .replace("\"mptcp\"", "\"tcp\"")
        .replace("link = \"beam1\"\nset = { up = false }", "flow = \"upload\"\ndo = { leave = \"beam1\" }");
    let found = parse(&tcp, &[]).unwrap_err();
    let found: Vec<_> = found.iter().map(|d| (d.line, d.column, d.code.as_str())).collect();
    assert_eq!(found, [(17, 16, "E011")]);
}

#[test]
fn applications_of_byte_streams_are_refused_over_datagrams() {
    let found = parse(&BASE.replacen("{ kind = \"mptcp\" }", "{ kind = \"udp\" }", 1), &[]).unwrap_err();
    let found: Vec<_> = found.iter().map(|d| (d.line, d.column, d.code.as_str(), d.help.as_str())).collect();
    let [(12, 22, "E012", help)] = found.as_slice() else { panic!("{found:?}") };
    assert!(help.contains("onoff, video, game") && !help.contains("bulk"), "{help}");
}

/// One weight for each subflow, where their number is known.
#[test]
fn weights_of_subflows() {
    let with = |weights: &str| {
        format!("{{ kind = \"mptcp\", scheduler = {{ kind = \"wrr\", weights = {weights} }} }}")
    };
    let [three_one, zero, number, words, one] = ["[3, 1]", "[0, 1]", "3", "[\"3\"]", "[3]"].map(with);
    let mptcp = "{ kind = \"mptcp\" }";
    for (text, expected) in [
        (&three_one, (12, 69, "E005", "one weight per subflow, in the order of the paths: [1]")),
        (&zero, (12, 69, "E005", "[0] alone")),
        (&number, (12, 69, "E004", "a list")),
        (&words, (12, 69, "E004", "a number")),
    ] {
        let found = parse(&BASE.replacen(mptcp, text, 1), &[]).expect_err("a mistake");
        let found: Vec<_> =
            found.iter().map(|d| (d.line, d.column, d.code.as_str(), d.help.clone())).collect();
        let (line, column, code, cure) = expected;
        assert!(
            matches!(found.as_slice(), [(l, c, k, help)] if (*l, *c, *k) == (line, column, code) && help.contains(cure)),
            "{text}: {found:?}"
        );
    }
    let document = good(&BASE.replacen(mptcp, &one, 1), &[]);
    let multipath = document.scenario.flows[0].transport.mptcp.as_ref().expect("MPTCP");
    assert_eq!(multipath.scheduler.options.numbers("weights"), [3.0]);
    // How many subflows there will be, the peer decides.
    good(
        &BASE.replacen(
            mptcp,
            &three_one.replace("\"mptcp\",", "\"mptcp\", path_manager = \"in-kernel\","),
            1,
        ),
        &[],
    );
}

#[test]
fn what_strips_options_and_how_many_flows() {
    let forms = "allowed: true, false, \"syn\", or a whole number of segments";
    let strip = |value: &str| format!("\"250ms\", strip_mptcp = {value} }}");
    for (value, cure) in [
        ("\"sym\"", forms),
        ("\"true\"", "leave out the quotes: true"),
        ("\"7\"", "leave out the quotes: 7"),
        ("0", forms),
        ("1.5", "give true, false, \"syn\", or a whole number of segments"),
    ] {
        let found = parse(&BASE.replacen("\"250ms\" }", &strip(value), 1), &[]).expect_err(value);
        assert_eq!(found.iter().map(|d| d.help.as_str()).collect::<Vec<_>>(), [cure], "{value}");
    }
    let second = "\n[[flow]]\nname = \"second\"\nlike = \"upload\"\ncount = 0\n";
    let all = good(&(MULTIPATH.to_owned() + second), &[]).scenario;
    assert_eq!(all.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(), ["upload", "other"]);
    let waiting = second.to_owned() + "[[flow]]\nname = \"third\"\nlike = \"upload\"\nafter = \"second\"\n";
    let found =
        parse(&(MULTIPATH.to_owned() + &waiting), &[]).expect_err("a wait for a flow that does not exist");
    assert!(found.iter().any(|d| d.message.contains("never ends")), "{found}");
    let none = MULTIPATH.replace("to = \"server\"\n", "to = \"server\"\ncount = 0\n");
    let found = parse(&none, &[]).expect_err("no flow sends");
    assert!(found.iter().any(|d| d.message.contains("all flows have `count = 0`")), "{found}");
}
