//! Overrides and inheritance: which value takes precedence.

mod common;

use common::{BASE, ROUTED, assert_round_trip, good, parse};
use scenario::model::Scenario;

/// `(up, down)` of the duplex link at this position, in Mbit/s.
fn rates(scenario: &Scenario, duplex_link: usize) -> (u64, u64) {
    let [up, down] = &scenario.duplex_links[duplex_link].directions;
    let rate = |direction: &scenario::model::Direction| {
        direction.rate[0].value().map_or(0, |rate| rate.0) / 1_000_000
    };
    (rate(up), rate(down))
}

/// An heir of the only path of the base.
fn with_heir(keys: &str) -> String {
    format!("{BASE}\n[[path]]\nname = \"beam2\"\nlike = \"beam1\"\n{keys}\n")
}

#[test]
fn an_heir_keeps_its_own() {
    let cases = [
        ("", (3, 10)),
        ("up = { rate = \"5Mbit/s\" }", (5, 10)),
        ("both = { rate = \"7Mbit/s\" }", (7, 7)),
        ("both = { rate = \"7Mbit/s\" }\nup = { rate = \"5Mbit/s\" }", (5, 7)),
    ];
    for (keys, wanted) in cases {
        let document = good(&with_heir(keys), &[]);
        assert_eq!(rates(&document.scenario, 1), wanted, "{keys}");
        assert_eq!(
            document.scenario.duplex_links[1].directions[0].delay,
            document.scenario.duplex_links[0].directions[0].delay
        );
        assert_round_trip(&document);
    }
}

#[test]
fn overrides_act_before_like_and_both() {
    let document = good(&with_heir(""), &[("path.beam1.up.rate", "4Mbit/s")]);
    assert_eq!((rates(&document.scenario, 0), rates(&document.scenario, 1)), ((4, 10), (4, 10)));
    let document = good(&with_heir("up = { rate = \"5Mbit/s\" }"), &[("path.beam1.up.rate", "4Mbit/s")]);
    assert_eq!((rates(&document.scenario, 0), rates(&document.scenario, 1)), ((4, 10), (5, 10)));
    let document = good(BASE, &[("path.beam1.both.rate", "9Mbit/s")]);
    assert_eq!(rates(&document.scenario, 0), (9, 9));
    let document = good(BASE, &[("path.beam1.both.rate", "9Mbit/s"), ("path.beam1.up.rate", "2Mbit/s")]);
    assert_eq!(rates(&document.scenario, 0), (2, 9));
    let document = good(BASE, &[("path.beam1.up.rate", "2Mbit/s"), ("path.beam1.both.rate", "9Mbit/s")]);
    assert_eq!(rates(&document.scenario, 0), (9, 9));
    assert_eq!(rates(&good(ROUTED, &[("link.one.both.rate", "6Mbit/s")]).scenario, 0), (6, 6));
}

#[test]
fn a_word_that_is_a_number_needs_no_quotes() {
    let http = ("flow.upload.app", "http");
    for version in ["1.2", "1.3"] {
        let document = good(BASE, &[http, ("flow.upload.app.tls", version)]);
        assert_eq!(document.scenario.flows[0].app.options.choice("tls").as_str(), version);
        assert_round_trip(&document);
    }
    assert!(parse(BASE, &[http, ("flow.upload.app.tls", "1.4")]).is_err());
}

#[test]
fn a_bare_name_becomes_a_table_and_another_kind_drops_the_options() {
    let text = BASE.replace("\"mptcp\" }", "\"mptcp\", congestion = \"cubic\" }");
    let hystart = ("flow.upload.transport.congestion.hystart", "true");
    for base in [BASE, text.as_str()] {
        let choice = good(base, &[hystart]).scenario.flows[0].transport.congestion.clone().unwrap();
        assert_eq!((choice.name(), choice.options.choice("hystart").as_str()), ("cubic", "true"));
    }
    let text = BASE.replace(
        "delay = \"250ms\" }\ndown",
        "delay = \"250ms\", loss = { kind = \"packet\", probability = 0.1 } }\ndown",
    );
    let sets = [("path.beam1.up.loss.ratio", "1e-6"), ("path.beam1.up.loss.kind", "ber")];
    let loss = good(&text, &sets).scenario.duplex_links[0].directions[0].loss.clone();
    assert_eq!(
        loss.into_iter().next().map(|l| (l.name(), l.options.probability("ratio").get())),
        Some(("ber", 1e-6))
    );
    let loss = good(&text, &[("path.beam1.up.loss.probability", "5%")]).scenario.duplex_links[0].directions
        [0]
    .loss
    .clone();
    assert_eq!(loss.into_iter().next().map(|l| l.options.probability("probability").get()), Some(0.05));
    assert_eq!(
        good(&text, &[("path.beam1.up.loss", "none")]).scenario.duplex_links[0].directions[0].loss,
        []
    );
}

/// Keys that an override of `kind` leaves out, without places.
fn left_out(document: &scenario::Document) -> Vec<String> {
    let all = document.left_out().into_iter().flat_map(scenario::Diagnostics::iter);
    all.map(|one| format!("{}: {}", one.key, one.message)).collect()
}

#[test]
fn what_another_kind_leaves_out_has_its_place_and_the_key_in_its_stead() {
    let text = BASE.replace("\"mptcp\" }", "\"mptcp\", receive_buffer_max = \"512KiB\" }");
    let document = good(&text, &[("flow.upload.transport.kind", "cmt-sctp")]);
    let found = document.left_out().expect("a warning").to_string();
    let line = 1 + text.lines().position(|line| line.contains("512KiB")).unwrap();
    assert!(found.contains(&format!(":{line}:")), "{found}");
    assert!(found.contains("fix: set `receive_buffer`, which this kind has"), "{found}");
    let lossy = "delay = \"250ms\", loss = { kind = \"packet\", probability = 0.1 } }\ndown";
    let text = BASE.replace("delay = \"250ms\" }\ndown", lossy);
    assert_eq!(
        left_out(&good(&text, &[("path.beam1.up.loss.kind", "ber"), ("path.beam1.up.loss.ratio", "1e-6")])),
        ["path.beam1.up.loss.probability: probability = 0.1 is left out: kind = \"ber\" does not have it"]
    );
}

#[test]
fn another_kind_of_transport_drops_what_only_the_old_one_has() {
    let text = BASE.replace("\"mptcp\" }", "\"mptcp\", scheduler = \"roundrobin\", checksum = true }");
    let document = good(&text, &[("flow.upload.transport.kind", "tcp")]);
    assert_eq!(document.scenario.flows[0].transport.mptcp, None);
    assert_eq!(
        left_out(&document),
        [
            "flow.upload.transport.scheduler: scheduler = \"roundrobin\" is left out: kind = \"tcp\" does not have it",
            "flow.upload.transport.checksum: checksum = true is left out: kind = \"tcp\" does not have it",
        ]
    );
    assert_eq!(left_out(&good(&text, &[("flow.upload.transport.kind", "mptcp")])), [""; 0]);
    let heir = "\n[[flow]]\nname = \"plain\"\nlike = \"upload\"\ntransport = { kind = \"tcp\" }\n";
    let document = good(&format!("{text}{heir}"), &[]);
    assert_eq!(document.scenario.flows[1].transport.mptcp, None);
    assert_round_trip(&document);
    let sets = [("flow.upload.transport.kind", "tcp"), ("flow.upload.transport.checksum", "true")];
    let found = parse(&text, &sets).unwrap_err();
    assert_eq!(found.iter().map(|d| d.code.as_str()).collect::<Vec<_>>(), ["E011"], "{found}");
}

#[test]
fn a_fixed_send_buffer_drops_the_bound_of_one_that_grows() {
    let text = BASE.replace("\"mptcp\" }", "\"mptcp\", send_buffer_max = \"16MiB\" }");
    let key = "flow.upload.transport.send_buffer";
    assert_eq!(
        left_out(&good(&text, &[(key, "8MiB")])),
        [
            "flow.upload.transport.send_buffer_max: send_buffer_max = \"16MiB\" is left out: send_buffer = \"8MiB\" is fixed"
        ]
    );
    assert_eq!(left_out(&good(&text, &[(key, "expand")])), [""; 0]);
    // One of the two that was set beside it is a mistake of that command.
    let found =
        parse(&text, &[(key, "8MiB"), ("flow.upload.transport.send_buffer_max", "16MiB")]).unwrap_err();
    assert_eq!(found.iter().map(|d| d.code.as_str()).collect::<Vec<_>>(), ["E012"], "{found}");
}

#[test]
fn a_fixed_buffer_stays_fixed() {
    let size = |profile, sets: &[(&str, &str)]| {
        let mut all = vec![("flow.upload.transport.profile", profile)];
        all.extend(sets);
        let tcp = good(BASE, &all).scenario.flows[0].transport.tcp.clone();
        (tcp.buffers.receive_buffer.0, tcp.buffers.receive_buffer_max.0)
    };
    let small = [("flow.upload.transport.receive_buffer", "64KiB")];
    assert_eq!(size("ns3", &small), (65_536, 65_536));
    assert_eq!(size("linux", &small), (65_536, 6 << 20));
}

#[test]
fn values_need_no_quotes() {
    for (value, wanted) in [("other", "other"), ("\"other\"", "other"), ("two words", "two words"), ("", "")]
    {
        assert_eq!(good(BASE, &[("description", value)]).scenario.description, wanted);
    }
    assert_eq!(good(BASE, &[("seeds", "3")]).scenario.seeds, [1, 2, 3]);
    assert_eq!(good(BASE, &[("seeds", "[7, 5]")]).scenario.seeds, [7, 5]);
    assert_eq!(good(BASE, &[]).scenario.name, "test");
}

#[test]
fn mistakes_name_the_override_and_the_nearest_key() {
    let cases = [
        (("duratoin", "3s"), (1, "E002", "did you mean `duration`?")),
        (("path.beam1.up.rte", "3Mbit/s"), (15, "E002", "did you mean `rate`?")),
        (("path.beam.up.rate", "3Mbit/s"), (6, "E009", "did you mean `beam1`?")),
        (("flow.uplod.start", "3s"), (6, "E009", "did you mean `upload`?")),
        (("event.1.at", "3s"), (7, "E009", "known: 0")),
        (("path.beam1.up.rate", "3Mbps"), (20, "E005", "\"3Mbit/s\"")),
        (("path.beam1", "3"), (6, "E020", "add one of its keys")),
        (("path", "3"), (1, "E020", "path.beam1.up.rate")),
        (("path..up", "3"), (6, "E020", "path.beam1.up.rate=10Mbit/s")),
        (("", "3"), (1, "E020", "path.beam1.up.rate=10Mbit/s")),
        (("duration.x", "3"), (10, "E020", "set `duration` itself")),
        (("flow.upload.transport.congestion.hystrat", "true"), (34, "E002", "did you mean `hystart`?")),
        (
            ("flow.upload.transport.congestion.a.b", "true"),
            (34, "E020", "set `flow.upload.transport.congestion`"),
        ),
        (("flow.upload.transport.congestion", "cubik"), (34, "E006", "did you mean `cubic`?")),
        (("flow.upload.via", "beam2"), (17, "E009", "did you mean `beam1`?")),
        (("duration", "10s"), (6, "E017", "")),
    ];
    for (set, (column, code, cure)) in cases {
        let found = parse(BASE, &[("description", "first"), set]).unwrap_err();
        let first = found.iter().next().unwrap();
        assert_eq!((found.len(), first.code.as_str(), first.column), (1, code, column), "{found}");
        assert!(first.help.contains(cure), "{found}");
        // A shorter run leaves the event in the file behind.
        let place = if set.0 == "duration" { ("test.toml", 15) } else { ("--set", 2) };
        assert_eq!((first.file.as_str(), first.line), place, "{found}");
    }
}
