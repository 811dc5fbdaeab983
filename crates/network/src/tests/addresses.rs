//! Addresses that leave and come, backups and aborts, in a running world.

use units::Bytes;

use super::*;

/// Three paths of 3 Mbit/s and 50 ms, one flow of `transport`, and `extra` tables.
fn three_paths(app: &str, transport: &str, extra: &str) -> String {
    let mut text = String::from("name = \"addresses\"\nduration = \"20s\"\n");
    for name in ["a", "b", "c"] {
        text += &format!(
            "[[path]]\nname = \"{name}\"\nboth = {{ rate = \"3Mbit/s\", delay = \"50ms\", queue = \"100p\" }}\n"
        );
    }
    text + &format!(
        "[[flow]]\nname = \"up\"\nfrom = \"terminal\"\nto = \"server\"\napp = {{ kind = \"bulk\"{app} }}\n\
         transport = {{ kind = \"mptcp\", profile = \"linux-minrtt\"{transport} }}\n{extra}"
    )
}

fn event(at: &str, event: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nflow = \"up\"\ndo = {{ {event} }}\n")
}

/// Times at which packets with payload left the terminal over `duplex_link`, and the options that were seen.
fn sent(record: &RunRecord, subflow: usize) -> Vec<f64> {
    let name = format!("up.{subflow}");
    let data = lines(record).filter(|w| w[1] == "send" && w[2] == "terminal" && w[3] == name);
    let long = data.filter(|w| w.contains(&"1500"));
    long.map(|w| w[0].parse::<f64>().expect("a time") / 1e6).collect()
}

#[test]
fn a_path_leaves_and_comes_back() {
    let events = [event("5s", "leave = \"b\""), event("12s", "join = \"b\"")].concat();
    let record = checked(&three_paths("", "", &events), 1);
    let flow = &record.flows[0];
    let duplex_links: Vec<_> = flow.subflows.iter().map(|s| s.duplex_link).collect();
    assert_eq!(duplex_links, [Some(0), Some(1), Some(2), Some(1)]);
    // The terminal stops at once, and begins anew two round trips after the address is there.
    let (old, new) = (sent(&record, 1), sent(&record, 3));
    assert!(*old.last().expect("it was used") <= 5.0, "{:?}", old.last());
    assert!((12.2..12.5).contains(&new[0]), "{}", new[0]);
    assert!(flow.subflows.iter().all(|s| s.received > Bytes(100_000)));
    // No timeout is needed to find out.
    assert!(flow.subflows.iter().all(|s| s.sending.timeouts == 0), "{:?}", flow.subflows);
    let withdrawn = record.trace.lines().filter(|l| l.contains(" remove-addr ") && l.contains(" send "));
    assert_eq!(withdrawn.count(), 2, "on each subflow that was left");
}

/// 9 Mbit/s for 5 s, 6 for the rest.
#[test]
fn what_was_on_its_way_is_not_lost() {
    let record = checked(&three_paths(", size = \"12MB\"", "", &event("5s", "leave = \"b\"")), 1);
    let flow = &record.flows[0];
    assert!(flow.completed && flow.delivered == Bytes(12_000_000));
    assert!(flow.subflows.iter().map(|s| s.reinjected.0).sum::<u64>() > 0);
}

#[test]
fn every_path_leaves_and_one_returns() {
    let events = ["a", "b", "c"].map(|p| event("5s", &format!("leave = \"{p}\""))).concat();
    let record = checked(&three_paths(", size = \"3MB\"", "", &(events + &event("8s", "join = \"c\""))), 1);
    assert!(record.flows[0].completed, "{:?}", record.flows[0]);
}

#[test]
fn an_address_of_the_server_leaves_and_is_announced_again() {
    let events =
        [event("5s", "leave = \"b\", end = \"server\""), event("9s", "join = \"b\", end = \"server\"")]
            .concat();
    for transport in [
        "",
        ", path_manager = { kind = \"in-kernel\", add_addr_accepted = 1 }, endpoints = \
                          [{ path = \"b\", end = \"server\", flags = [\"signal\"] }]",
    ] {
        let record = checked(&three_paths("", transport, &events), 1);
        let over_b: Vec<_> = record.flows[0].subflows.iter().filter(|s| s.duplex_link == Some(1)).collect();
        assert_eq!(over_b.len(), 2, "{transport}");
        assert!(over_b.iter().all(|s| s.received > Bytes(100_000)), "{over_b:?}");
    }
}

/// Limits 2 and 2, endpoints on all three paths: both others are joined. With a limit of one, one of them.
#[test]
fn in_kernel_limits() {
    let endpoints =
        ["a", "b", "c"].map(|p| format!("{{ path = \"{p}\", flags = [\"subflow\"] }}")).join(", ");
    for (limit, subflows) in [(2, 3), (1, 2), (0, 1)] {
        let transport = format!(
            ", path_manager = {{ kind = \"in-kernel\", subflows = {limit} }}, endpoints = [{endpoints}]"
        );
        let record = checked(&three_paths("", &transport, ""), 1);
        assert_eq!(record.flows[0].subflows.len(), subflows);
    }
}

/// `subflow` at the client and `signal` at the server on one path: two subflows there, as on Linux 6.18. The server's address is
/// withdrawn, and with it both.
#[test]
fn an_endpoint_of_each_end_opens_a_subflow_of_its_own() {
    let both =
        "{ path = \"b\", flags = [\"subflow\"] }, { path = \"b\", end = \"server\", flags = [\"signal\"] }";
    for (limit, links) in [(2, vec![0, 1, 1]), (1, vec![0, 1])] {
        let transport = format!(
            ", path_manager = {{ kind = \"in-kernel\", subflows = {limit}, add_addr_accepted = 1 }}, endpoints = [{both}]"
        );
        let record =
            checked(&three_paths("", &transport, &event("10s", "leave = \"b\", end = \"server\"")), 1);
        let subflows = &record.flows[0].subflows;
        assert_eq!(subflows.iter().filter_map(|s| s.duplex_link).collect::<Vec<_>>(), links);
        assert!(subflows.iter().all(|s| s.received > Bytes(500_000)), "{subflows:?}");
        for subflow in 1..links.len() {
            assert!(sent(&record, subflow).last().is_some_and(|at| *at < 10.1), "subflow {subflow}");
        }
    }
}

/// The backup carries nothing until the others have left, and nothing more when one is back.
#[test]
fn a_backup_steps_in_and_steps_back() {
    let transport = ", path_manager = \"in-kernel\", endpoints = \
                     [{ path = \"c\", flags = [\"subflow\", \"backup\"] }]";
    let events =
        [event("5s", "leave = \"a\""), event("10s", "join = \"a\""), event("14s", "backup = \"a\"")].concat();
    let record = checked(&three_paths("", transport, &events), 1);
    let backup = sent(&record, 1);
    assert!((5.0..5.1).contains(&backup[0]), "{:?}", backup.first());
    // The initial address is no endpoint: nothing is opened from it again.
    assert_eq!(record.flows[0].subflows.len(), 2);
    let transport = ", path_manager = \"in-kernel\", endpoints = [{ path = \"a\", flags = [\"subflow\"] }, \
                     { path = \"c\", flags = [\"subflow\", \"backup\"] }]";
    let record = checked(&three_paths("", transport, &events), 1);
    let backup = sent(&record, 1);
    let idle = |from: f64, until: f64| !backup.iter().any(|t| (from..until).contains(t));
    assert!(idle(0.0, 5.0) && !idle(5.0, 10.2) && idle(10.5, 14.0), "{backup:?}");
    // All are backups: they are as good as none.
    assert!(!idle(14.0, 20.0));
}

#[test]
fn an_abort_ends_the_transfer() {
    for form in ["ack", "reset"] {
        let record =
            checked(&three_paths(", size = \"9MB\"", "", &event("2s", &format!("abort = \"{form}\""))), 1);
        assert!(!record.flows[0].completed && record.flows[0].delivered > Bytes(100_000));
        let last =
            lines(&record).filter(|w| w[1] == "send").last().map(|w| w[0].parse::<f64>().expect("a time"));
        assert!(last.is_some_and(|t| t < 3e6), "{last:?}");
    }
}

/// One path whose directions have these middleboxes.
fn stripped(up: &str, down: &str) -> RunRecord {
    let text = format!(
        "name = \"strip\"\nduration = \"60s\"\n[[path]]\nname = \"a\"\n\
         both = {{ rate = \"3Mbit/s\", delay = \"50ms\", queue = \"100p\" }}\n\
         up = {{ strip_mptcp = {up} }}\ndown = {{ strip_mptcp = {down} }}\n\
         [[path]]\nname = \"b\"\nlike = \"a\"\nup = {{ strip_mptcp = false }}\ndown = {{ strip_mptcp = false }}\n\
         [[flow]]\nname = \"up\"\nfrom = \"terminal\"\nto = \"server\"\n\
         app = {{ kind = \"bulk\", size = \"2MB\" }}\n\
         transport = {{ kind = \"mptcp\", profile = \"linux-minrtt\" }}\n"
    );
    checked(&text, 1)
}

/// Whatever a middlebox on the first path takes away, and from when on: all arrives, if need be as plain TCP.
#[test]
fn middleboxes_on_the_first_path() {
    for (up, down, subflows) in [
        ("true", "false", 1),
        ("false", "true", 1),
        ("\"syn\"", "false", 1),
        ("false", "\"syn\"", 1),
        ("1", "false", 1),
        ("2", "2", 1),
        ("200", "false", 2),
        ("false", "200", 2),
    ] {
        let record = stripped(up, down);
        let flow = &record.flows[0];
        assert!(flow.completed && flow.delivered == Bytes(2_000_000), "{up} {down}: {flow:?}");
        assert_eq!(flow.subflows.len(), subflows, "{up} {down}");
        assert_eq!(flow.fell_back, subflows == 1, "{up} {down}");
    }
}

/// A middlebox on the way of both subflows begins to take options away at any time while the second one joins. One end may have become plain
/// TCP before the other knows: what it takes in is what was written, once.
#[test]
fn middleboxes_while_a_subflow_joins() {
    for (packets, app) in (1..60).flat_map(|n| ["\"bulk\"", "{ kind = \"video\" }"].map(|app| (n, app))) {
        for (up, down) in [(packets.to_string(), "false".into()), ("false".into(), packets.to_string())] {
            let text = format!(
                "name = \"strip\"\nduration = \"4s\"\n[[path]]\nname = \"a\"\n\
                 up = {{ rate = \"1.2Mbit/s\", delay = \"20ms\", queue = \"20p\", strip_mptcp = {up} }}\n\
                 down = {{ rate = \"3Mbit/s\", delay = \"1ms\", queue = \"20p\", strip_mptcp = {down} }}\n\
                 [[flow]]\nname = \"up\"\nfrom = \"terminal\"\nto = \"server\"\napp = {app}\n\
                 transport = {{ kind = \"mptcp\", path_manager = \"ndiffports\" }}\n"
            );
            let _ = checked(&text, 1);
        }
    }
}

/// The middlebox begins at any time of a short transfer, even when both DATA_FINs are acknowledged and only the FINs of TCP are left: a
/// complete transfer has not failed. Another flow delays the SYN of the second subflow.
#[test]
fn middleboxes_at_the_end_of_a_transfer() {
    for packets in 1..25 {
        for segments in [1, 3, 5] {
            let text = format!(
                "name = \"strip\"\nduration = \"20s\"\n[[path]]\nname = \"a\"\n\
                 up = {{ rate = \"239kbit/s\", delay = \"20ms\", strip_mptcp = {packets} }}\n\
                 down = {{ rate = \"395kbit/s\", delay = \"1ms\" }}\n\
                 [[flow]]\nname = \"other\"\nfrom = \"terminal\"\nto = \"server\"\nstart = \"20ms\"\n\
                 app = {{ kind = \"bulk\", size = \"15kB\" }}\n\
                 transport = {{ kind = \"tcp\", initial_window = 4 }}\n\
                 [[flow]]\nname = \"up\"\nfrom = \"terminal\"\nto = \"server\"\n\
                 app = {{ kind = \"bulk\", size = \"{}B\" }}\n\
                 transport = {{ kind = \"mptcp\", path_manager = \"ndiffports\" }}\n",
                1424 * segments
            );
            let flow = &checked(&text, 1).flows[1];
            assert!(flow.completed && flow.failure.is_none(), "{:?}: {text}", flow.failure);
        }
    }
}

/// One end becomes plain TCP while a subflow joins; the other has that subflow, and takes the FIN of TCP without an option
/// for the end of the first.
#[test]
fn a_fin_alone_needs_no_option() {
    let record = checked(include_str!("../../../storm/corpus/found/fin-without-its-option.toml"), 1);
    let flow = &record.flows[0];
    assert!(flow.completed && flow.failure.is_none(), "{:?}", flow.failure);
}

/// A middlebox on the second path keeps it from joining, or costs it when it appears.
#[test]
fn middleboxes_on_the_second_path() {
    for (direction, strip) in [("up", "true"), ("down", "true"), ("up", "\"syn\""), ("down", "150")] {
        let event = "[[event]]\nat = \"0s\"\nlink = \"b.DIRECTION\"\nset = { strip_mptcp = STRIP }\n";
        let event = event.replace("DIRECTION", direction).replace("STRIP", strip);
        let record = checked(&three_paths(", size = \"3MB\"", "", &event), 1);
        let flow = &record.flows[0];
        assert!(flow.completed && !flow.fell_back, "{direction} {strip}: {flow:?}");
        assert!(strip == "150" || flow.subflows[1].received == Bytes(0), "{direction} {strip}: {flow:?}");
    }
}
