//! Proxies: each key reaches the model, and mistakes say where they are and how to mend them.

mod common;

use common::{assert_round_trip, good};
use scenario::model::{CrashForm, ProxyHandshake};
use scenario::{Document, Registries, schema};

const CHAIN: &str = r#"
duration = "30s"

[[path]]
name = "satellite"
to   = "gateway"
both = { rate = "10Mbit/s", delay = "300ms" }

[[path]]
name = "internet"
from = "gateway"
both = { rate = "100Mbit/s", delay = "10ms" }

[[node]]
name = "aside"

[[link]]
name = "spur"
ends = ["gateway", "aside"]
both = { rate = "1Mbit/s", delay = "1ms" }

[[proxy]]
name   = "pep"
node   = "gateway"
kind   = "split"
client = { kind = "tcp" }
server = { kind = "tcp" }

[[flow]]
name      = "upload"
from      = "terminal"
to        = "server"
transport = { kind = "tcp" }

[[flow]]
name      = "calls"
from      = "terminal"
to        = "server"
app       = { kind = "onoff", rate = "1Mbit/s", off = "0s" }
transport = { kind = "udp" }

[[flow]]
name      = "probe"
from      = "terminal"
to        = "gateway"
transport = { kind = "tcp" }
"#;

/// Key, and overrides that change it.
const CHANGES: &[(&str, &[(&str, &str)])] = &[
    ("name", &[("proxy.pep.name", "box")]),
    ("like", &[]),
    // `a_proxy_on_a_path_is_a_node_and_a_leg` has these.
    ("path", &[]),
    ("client_leg", &[]),
    ("server_leg", &[]),
    ("node", &[("path.satellite.to", "modem"), ("path.internet.from", "modem"), ("proxy.pep.node", "modem")]),
    ("kind", &[("proxy.pep.kind", "mptcp"), ("proxy.pep.client.kind", "mptcp")]),
    ("handshake", &[("proxy.pep.handshake", "late")]),
    ("rate", &[("proxy.pep.rate", "5Mbit/s")]),
    ("connections", &[("proxy.pep.connections", "3")]),
    (
        "servers",
        &[
            ("flow.upload.transport.kind", "mptcp"),
            ("flow.upload.app", "{ kind = \"http\", page = \"lequipe\", mptcp_domains = \"main\" }"),
            ("proxy.pep.servers", "plain"),
        ],
    ),
    ("flows", &[("proxy.pep.flows", "[\"probe\"]"), ("flow.probe.to", "server")]),
    ("client", &[("proxy.pep.client.congestion", "newreno")]),
    ("server", &[("proxy.pep.server.send_buffer", "1MB")]),
];

#[test]
fn each_key_of_a_proxy_reaches_the_model() {
    let schema = schema(&Registries::builtin());
    let keys = schema["$defs"]["proxy"]["properties"].as_object().expect("a table of keys");
    for name in keys.keys() {
        let change = CHANGES.iter().find(|(key, _)| key == name);
        let (_, sets) = change.unwrap_or_else(|| panic!("no test changes proxy.{name}"));
        let text = if *name == "node" {
            CHAIN.replace("\"gateway\", \"aside\"", "\"modem\", \"aside\"")
        } else {
            CHAIN.into()
        };
        let text = if *name == "node" {
            text.replace("to        = \"gateway\"", "to        = \"modem\"")
        } else {
            text
        };
        let document = good(&text, sets);
        assert_round_trip(&document);
        let before = &good(CHAIN, &[]).scenario.proxies;
        assert!(sets.is_empty() || document.scenario.proxies != *before || *name == "node", "proxy.{name}");
    }
    let second = "[[proxy]]\nname = \"second\"\nlike = \"pep\"\n";
    let both = good(&format!("{CHAIN}{second}"), &[]).scenario.proxies;
    assert_eq!((&both[0].client, both[0].node), (&both[1].client, both[1].node));
}

#[test]
fn a_proxy_for_subflows_answers_late_and_shares_no_flow() {
    let proxy = |sets: &[(&str, &str)]| good(CHAIN, sets).scenario.proxies[0].handshake;
    assert_eq!(proxy(&[]), ProxyHandshake::Early);
    assert_eq!(proxy(&[("proxy.pep.kind", "one-subflow")]), ProxyHandshake::Late);
    assert_round_trip(&good(CHAIN, &[("proxy.pep.kind", "one-subflow")]));
    let second = format!("{CHAIN}[[proxy]]\nname = \"second\"\nlike = \"pep\"\nkind = \"one-subflow\"\n");
    let found = Document::parse(&second, "test.toml", &[], &Registries::builtin());
    let text = found.expect_err("two kinds for one flow").to_string();
    assert!(text.contains("one of them by the subflow") && text.contains("proxy.second.kind"), "{text}");
}

const CRASH: &str = "[[event]]\nat = \"9s\"\nproxy = \"pep\"\ncrash = \"silent\"\n\
                     [[event]]\nat = \"3s\"\nproxy = \"pep\"\ncrash = \"reset\"\n";

#[test]
fn a_proxy_crashes_at_its_events() {
    let document = good(&format!("{CHAIN}{CRASH}"), &[]);
    assert_round_trip(&document);
    let crashes = &document.scenario.proxies[0].crashes;
    let found: Vec<_> = crashes.iter().map(|crash| (crash.at.0 / 1_000_000_000, crash.form)).collect();
    assert_eq!(found, [(3, CrashForm::Reset), (9, CrashForm::Silent)], "by time");
    for (text, words) in [
        (CRASH.replace("pep", "box"), "there is no proxy \"box\""),
        (CRASH.replace("crash = \"reset\"\n", ""), "`crash` is missing"),
        (CRASH.replace("proxy = \"pep\"\n", ""), "`proxy` is missing"),
        (
            CRASH.replace("proxy = \"pep\"", "proxy = \"pep\"\nlink = \"spur\""),
            "or a proxy (`proxy`, `crash`)",
        ),
    ] {
        let found = Document::parse(&format!("{CHAIN}{text}"), "test.toml", &[], &Registries::builtin());
        let told = found.expect_err(words).to_string();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_proxy_intercepts_tcp_between_others() {
    let flows = |sets: &[(&str, &str)]| good(CHAIN, sets).scenario.proxies[0].flows.clone();
    assert_eq!(flows(&[]), [0], "neither datagrams nor what ends at its node");
    assert_eq!(flows(&[("flow.upload.count", "3")]), [0, 1, 2]);
    assert_eq!(flows(&[("flow.calls.count", "0"), ("flow.probe.to", "server")]), [0, 1]);
}

/// Overrides, code, key, and some words of the message or its cure.
type Case = (&'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);

#[test]
fn mistakes_name_the_key_and_the_cure() {
    let cases: &[Case] = &[
        (&[("proxy.pep.node", "gate")], "E009", "proxy.pep.node", "there is no node \"gate\""),
        (&[("proxy.pep.node", "server")], "E012", "proxy.pep.node", "choose a node between the ends"),
        (
            &[("proxy.pep.flows", "[\"calls\"]")],
            "E012",
            "proxy.pep.flows",
            "a proxy intercepts TCP and MPTCP",
        ),
        (&[("proxy.pep.flows", "[\"probe\"]")], "E012", "proxy.pep.flows", "does not cross \"gateway\""),
        (&[("proxy.pep.flows", "[\"down\"]")], "E009", "proxy.pep.flows", "there is no flow \"down\""),
        (&[("proxy.pep.client.kind", "mptcp")], "E012", "proxy.pep.client.kind", "speaks TCP here"),
        (&[("proxy.pep.kind", "mptcp")], "E012", "proxy.pep.client.kind", "speaks MPTCP here"),
        (
            &[("proxy.pep.kind", "one-subflow"), ("proxy.pep.handshake", "early")],
            "E012",
            "proxy.pep.handshake",
            "the HMAC in the SYN/ACK is that of the server",
        ),
        (
            &[("proxy.pep.kind", "one-subflow"), ("proxy.pep.client.kind", "mptcp")],
            "E012",
            "proxy.pep.client.kind",
            "speaks TCP here",
        ),
        (
            &[("proxy.pep.kind", "one-subflow"), ("proxy.pep.server.recovery", "snack")],
            "E012",
            "proxy.pep.server.recovery",
            "both sides carry a subflow of MPTCP",
        ),
        (
            &[("proxy.pep.kind", "one-subflow"), ("proxy.pep.client.profile", "stp")],
            "E012",
            "proxy.pep.client.recovery",
            "recovery = \"stp\" is for TCP only",
        ),
        (&[("proxy.pep.server.kind", "udp")], "E012", "proxy.pep.server.kind", "set kind = \"tcp\""),
        (
            &[("proxy.pep.client.sack", "false")],
            "E012",
            "proxy.pep.client.sack",
            "but recovery = \"rack\" (from profile linux) and prr = true (from profile linux) need it",
        ),
    ];
    for (sets, code, key, words) in cases {
        let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let found = Document::parse(CHAIN, "test.toml", &sets, &Registries::builtin());
        let text = found.expect_err(key).to_string();
        assert!(text.contains(code) && text.contains(key) && text.contains(words), "{key}:\n{text}");
    }
    let dead =
        CHAIN.replace("name = \"aside\"", "name = \"aside\"\n[[node]]\nname = \"gateway\"\nforward = false");
    let text =
        Document::parse(&dead, "test.toml", &[], &Registries::builtin()).expect_err("no way").to_string();
    assert!(text.contains("no packet crosses \"gateway\": forward = false"), "{text}");
}

const ON_A_PATH: &str = r#"
duration = "30s"

[[path]]
name = "satellite"
down = { rate = "10Mbit/s", delay = "300ms" }
up   = { rate = "2Mbit/s", delay = "300ms" }

[[proxy]]
name       = "pep"
path       = "satellite"
server_leg = { both = { rate = "100Mbit/s", delay = "10ms" } }
kind       = "split"
client     = { kind = "tcp" }
server     = { kind = "tcp" }

[[flow]]
name      = "upload"
from      = "terminal"
to        = "server"
via       = "satellite"
transport = { kind = "tcp" }
"#;

/// Links by name with the names of their ends, and the delay of the first direction in ms.
fn links(document: &Document) -> Vec<(String, [String; 2], u64)> {
    let scenario = &document.scenario;
    let link = |link: &scenario::model::DuplexLink| {
        let delay = link.directions[0].delay[0].value().map_or(0, |delay| delay.0 / 1_000_000);
        (link.name.clone(), link.ends.map(|end| scenario.nodes[end].name.clone()), delay)
    };
    scenario.duplex_links.iter().map(link).collect()
}

#[test]
fn a_proxy_on_a_path_is_a_node_and_a_leg() {
    let found = |text: &str, sets: &[(&str, &str)]| {
        let document = good(text, sets);
        assert_round_trip(&document);
        links(&document)
    };
    let link = |name: &str, ends: [&str; 2], delay| (name.to_owned(), ends.map(str::to_owned), delay);
    let near = link("satellite", ["terminal", "pep"], 300);
    assert_eq!(found(ON_A_PATH, &[]), [near.clone(), link("pep", ["pep", "server"], 10)]);
    let set = [("proxy.pep.server_leg.both.delay", "20ms")];
    assert_eq!(found(ON_A_PATH, &set), [near, link("pep", ["pep", "server"], 20)]);
    let client =
        ON_A_PATH.replace("server_leg", "client_leg").replace("via       = \"satellite\"", "via = \"pep\"");
    let lan = link("pep", ["terminal", "pep"], 10);
    assert_eq!(found(&client, &[]), [link("satellite", ["pep", "server"], 300), lan.clone()]);
    // One at each end of the satellite link, the second like the first.
    let second = "[[proxy]]\nname = \"gateway\"\nlike = \"pep\"\nserver_leg = { both = { rate = \"50Mbit/s\", delay = \"7ms\" } }\n";
    let both = client.clone() + second;
    let text =
        Document::parse(&both, "test.toml", &[], &Registries::builtin()).expect_err("two legs").to_string();
    assert!(text.contains("two legs beside the path"), "{text}");
    let second = second.replace(
        "like = \"pep\"\n",
        "path = \"satellite\"\nkind = \"split\"\nclient = { kind = \"tcp\" }\nserver = { kind = \"tcp\" }\n",
    );
    let wan = link("gateway", ["gateway", "server"], 7);
    assert_eq!(found(&(client + &second), &[]), [link("satellite", ["pep", "gateway"], 300), lan, wan]);
}

#[test]
fn a_place_on_a_path_says_what_it_lacks() {
    for (old, new, words) in [
        ("path       = \"satellite\"", "path = \"sat\"", "there is no path \"sat\""),
        ("path       = \"satellite\"", "", "a leg of no path"),
        ("path       = \"satellite\"", "node = \"server\"\npath = \"satellite\"", "both `node` and `path`"),
        (
            "server_leg = { both = { rate = \"100Mbit/s\", delay = \"10ms\" } }",
            "",
            "the delay and rate of one leg are missing",
        ),
        (
            "server_leg = { both = { rate = \"100Mbit/s\", delay = \"10ms\" } }",
            "server_leg = { both = { rate = \"100Mbit/s\" } }",
            "delay",
        ),
        ("name       = \"pep\"", "name = \"server\"", "both ends are \"server\""),
    ] {
        let text = ON_A_PATH.replace(old, new);
        let found = Document::parse(&text, "test.toml", &[], &Registries::builtin());
        let found = found.map(|_| ()).expect_err(words).to_string();
        assert!(found.contains(words), "{found}");
    }
    let neither = CHAIN.replace("node   = \"gateway\"", "");
    let found = Document::parse(&neither, "test.toml", &[], &Registries::builtin());
    let found = found.map(|_| ()).expect_err("no place").to_string();
    assert!(found.contains("neither `node` nor `path` is given"), "{found}");
}
