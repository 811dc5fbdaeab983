//! The scenario files that come with Ropewalk, the schema and the reference page.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/pattern.rs"]
mod pattern;

use common::{BASE, ROUTED, assert_round_trip, files, good, parse, root, shipped};
use scenario::model::{Ecmp, Scenario};
use scenario::{Registries, reference_markdown, schema};
use serde_json::Value as Json;
use transport::config::PathManager;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

fn scenario(name: &str) -> Scenario {
    let (_, text) = shipped().into_iter().find(|(n, _)| n == name).unwrap_or_default();
    good(&text, &[]).scenario
}

#[test]
fn each_parses_and_survives_its_own_expansion() {
    for (_, text) in shipped() {
        assert_round_trip(&good(&text, &[]));
    }
}

#[test]
fn two_geo_beams_is_m_def() {
    let s = scenario("two-geo-beams.toml");
    assert_eq!((s.duration, s.seeds.len(), s.duplex_links.len()), (Nanos::from_secs(30), 20, 2));
    for link in &s.duplex_links {
        let [up, down] = &link.directions;
        let rates = (up.rate[0].value(), down.rate[0].value());
        assert_eq!(rates, (Some(BitsPerSecond(3_000_000)), Some(BitsPerSecond(10_000_000))));
        for direction in [up, down] {
            assert_eq!(direction.delay[0].value(), Some(Nanos::from_millis(250)));
            assert_eq!(direction.queue.to_string(), "1000p");
            let loss = direction.loss.first().map(|l| (l.name(), l.options.probability("probability").get()));
            assert_eq!(loss, Some(("packet", 0.01)));
        }
    }
    let flow = &s.flows[0];
    assert!(flow.compare_paths && !flow.opened_by_receiver);
    assert_eq!((flow.via, flow.stop), (Some(0), SimTime::from_secs(30)));
    let mptcp = flow.transport.mptcp.as_ref().map(|m| (m.scheduler.name(), &m.config.path_manager));
    assert_eq!(mptcp, Some(("minrtt", &PathManager::PerPath { subflows: 1 })));
    assert_eq!(
        (flow.transport.congestion.as_ref().unwrap().name(), flow.transport.tcp.segment.mss),
        ("cubic", Bytes(1448))
    );
}

#[test]
fn layered_graph_has_its_layers() {
    let s = scenario("layered-graph.toml");
    assert_eq!((s.ecmp, s.nodes.len()), (Ecmp::Flow, 30));
    assert_eq!(s.duplex_links.len(), 15 + 12 + 24 + 24 + 12 + 15);
    let names: Vec<(&str, &str)> =
        s.flows.iter().map(|f| (s.nodes[f.from].name.as_str(), s.nodes[f.to].name.as_str())).collect();
    let pairs = [
        ("left1", "right5"),
        ("left2", "right4"),
        ("left3", "right3"),
        ("left4", "right2"),
        ("left5", "right1"),
    ];
    assert_eq!(names, pairs);
    for flow in &s.flows {
        assert_eq!((flow.transport.congestion.as_ref().unwrap().name(), flow.via), ("lia", None));
        assert_eq!(flow.transport.mptcp.as_ref().map(|m| m.scheduler.name()), Some("roundrobin"));
    }
    assert!(s.duplex_links.iter().any(|c| c.name == "space-left.left-dish4-sat6"));
}

/// Enough of JSON Schema for our own.
fn violations(schema: &Json, root: &Json, value: &Json, path: &str) -> Vec<String> {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let target = root.pointer(reference.trim_start_matches('#'));
        return target.map_or(vec![format!("{path}: no {reference}")], |t| violations(t, root, value, path));
    }
    let mut found = Vec::new();
    if *schema == Json::Bool(false) {
        found.push(format!("{path}: refused"));
    }
    let kind = match value {
        Json::Object(_) => "object",
        Json::Array(_) => "array",
        Json::String(_) => "string",
        Json::Bool(_) => "boolean",
        Json::Number(n) if n.is_i64() => "integer",
        _ => "number",
    };
    if let Some(wanted) = schema.get("type").and_then(Json::as_str)
        && wanted != kind
        && !(wanted == "number" && kind == "integer")
    {
        found.push(format!("{path}: {kind} is not {wanted}"));
    }
    let limit = |name: &str| schema.get(name).and_then(Json::as_f64);
    if let Some(n) = value.as_f64()
        && (limit("minimum").is_some_and(|min| n < min) || limit("maximum").is_some_and(|max| n > max))
    {
        found.push(format!("{path}: {n} is out of bounds"));
    }
    if schema.get("const").is_some_and(|c| c != value) {
        found.push(format!("{path}: not the constant"));
    }
    if schema.get("enum").and_then(Json::as_array).is_some_and(|all| !all.contains(value)) {
        found.push(format!("{path}: {value} is none of the words"));
    }
    if let (Some(pattern), Some(text)) = (schema.get("pattern").and_then(Json::as_str), value.as_str())
        && !pattern::found(pattern, text)
    {
        found.push(format!("{path}: {text:?} does not match {pattern}"));
    }
    if let Some(any) = schema.get("anyOf").and_then(Json::as_array)
        && !any.iter().any(|s| violations(s, root, value, path).is_empty())
    {
        found.push(format!("{path}: {value} fits no alternative"));
    }
    for rule in schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
        if violations(&rule["if"], root, value, path).is_empty() {
            found.extend(violations(&rule["then"], root, value, path));
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            found.extend(violations(items, root, item, &format!("{path}.{index}")));
        }
    }
    let Some(object) = value.as_object() else { return found };
    for name in schema.get("required").and_then(Json::as_array).into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap_or_default()) {
            found.push(format!("{path}: {name} is missing"));
        }
    }
    for (key, value) in object {
        match schema.get("properties").and_then(|p| p.get(key)) {
            Some(property) => found.extend(violations(property, root, value, &format!("{path}.{key}"))),
            None if schema.get("additionalProperties") == Some(&Json::Bool(false)) => {
                found.push(format!("{path}.{key}: unknown"));
            }
            None => {}
        }
    }
    found
}

fn to_json(value: &toml::Value) -> Json {
    match value {
        toml::Value::String(s) => s.as_str().into(),
        toml::Value::Integer(n) => (*n).into(),
        toml::Value::Float(x) => (*x).into(),
        toml::Value::Boolean(b) => (*b).into(),
        toml::Value::Array(items) => items.iter().map(to_json).collect(),
        toml::Value::Table(table) => table.iter().map(|(k, v)| (k.clone(), to_json(v))).collect(),
        toml::Value::Datetime(_) => Json::Null,
    }
}

/// The example of a link with several rates, delays, shapers and losses, as a whole scenario.
fn several() -> String {
    let page = std::fs::read_to_string(root().join("docs/howto/write-a-scenario.md")).unwrap();
    let (_, after) = page.split_once("## Several things on one link").unwrap();
    let (_, block) = after.split_once("```toml\n").unwrap();
    let (path, _) = block.split_once("```").unwrap();
    let (_, flow) = BASE.split_once("[[flow]]").unwrap();
    format!("duration = \"30s\"\n{path}[[flow]]{}", flow.replace("beam1", "ka"))
}

#[test]
fn the_example_of_several_models_on_one_link_is_one() {
    let document = good(&several(), &[]);
    assert_round_trip(&document);
    let [up, down] = &document.scenario.duplex_links[0].directions;
    assert_eq!([up.rate.len(), up.delay.len(), up.shapers.len(), up.loss.len()], [2; 4]);
    assert_eq!(
        (&up.rate, &up.delay, &up.shapers, &up.loss),
        (&down.rate, &down.delay, &down.shapers, &down.loss)
    );
}

#[test]
fn the_schema_accepts_files_and_their_expansions_and_refuses_others() {
    let schema = schema(&Registries::builtin());
    let check = |text: &str| {
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{e}"));
        violations(&schema, &schema, &to_json(&toml::Value::Table(table)), "")
    };
    let own = [("base", BASE.to_owned()), ("routed", ROUTED.to_owned()), ("several", several())];
    let own = own.map(|(name, text)| (name.to_owned(), text));
    for (name, text) in shipped().into_iter().chain(own) {
        assert_eq!(check(&text), Vec::<String>::new(), "{name}");
        assert_eq!(check(&good(&text, &[]).to_toml()), Vec::<String>::new(), "expanded {name}");
    }
    for (from, to) in [
        ("rate = ", "rte = "),
        ("\"mptcp\"", "\"tcp\", scheduler = \"minrtt\""),
        ("\"mptcp\"", "\"quic\""),
        ("duration = \"30s\"", ""),
        ("up = false", "up = 3"),
        ("\"mptcp\"", "\"mptcp\", congestion = \"nosuch\""),
        ("delay = \"250ms\"", "delay = \"250ms\", loss = { kind = \"packet\", probability = 2 }"),
        ("3Mbit/s", "3Mbit"),
        ("250ms", "250"),
        ("\"upload\"", "\"up load\""),
    ] {
        assert!(!check(&BASE.replace(from, to)).is_empty(), "{from} -> {to}");
    }
}

/// An editor with the schema must not underline a value that the parser takes; it may underline one that the parser refuses.
#[test]
fn the_schema_and_the_parser_take_the_same_quantities() {
    let schema = schema(&Registries::builtin());
    let rate = r#"rate = "_", delay = "1ms""#;
    let delay = r#"rate = "3Mbit/s", delay = "_""#;
    let uniform =
        r#"rate = "3Mbit/s", delay = { kind = "uniform", min = "1ms", max = "_", reorder = false }"#;
    let queue = r#"rate = "3Mbit/s", delay = "1ms", queue = "_""#;
    let shaper = r#"rate = "3Mbit/s", delay = "1ms", shaper = { rate = "_", burst = "15kB" }"#;
    let burst = r#"rate = "3Mbit/s", delay = "1ms", shaper = { rate = "1bit/s", burst = "_" }"#;
    let loss = r#"rate = "3Mbit/s", delay = "1ms", loss = { kind = "packet", probability = "_" }"#;
    let (taken, refused) = (true, false);
    for (up, is, texts) in [
        (rate, taken, " 3 Mbit/s ,1_000bit/s,.5Gbit/s,2kbit/s"),
        (rate, refused, "unlimited,3Mbit,3,-3bit/s,1e6bit/s,3MBit/s"),
        (delay, taken, "250ms,0s,1us,7ns,0.5min"),
        (delay, refused, "unlimited,250,1h"),
        (uniform, taken, "9ms,9 ms,unlimited"),
        (uniform, refused, "9"),
        (queue, taken, "5p,1.5BDP,2KiB,7MB,9B,unlimited, unlimited "),
        (queue, refused, "5,Unlimited"),
        (shaper, taken, "unlimited,1bit/s"),
        (shaper, refused, "1"),
        (burst, taken, "1.5KiB,9kB"),
        (burst, refused, "unlimited"),
        (loss, taken, "1%, 1 % ,+1%,1e-3,0.5,.5,1.,1E-1%,5e+0%"),
        (loss, refused, "-1%,1 1,inf,1_0%"),
    ] {
        for text in texts.split(',') {
            let file = BASE.replace(r#"rate = "3Mbit/s", delay = "250ms""#, &up.replace('_', text));
            assert_eq!(parse(&file, &[]).is_ok(), is, "{up}: {text:?}");
            let table: toml::Table = file.parse().unwrap_or_else(|e| panic!("{e}"));
            let found = violations(&schema, &schema, &to_json(&toml::Value::Table(table)), "");
            assert_eq!(found.is_empty(), is, "{up}: {text:?}: {found:?}");
        }
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let file = root().join("docs/reference/scenario.md");
    let page = reference_markdown(&Registries::builtin());
    if std::env::var_os("ROPEWALK_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == page,
        "docs/reference/scenario.md is stale; write it anew: ROPEWALK_BLESS=1 cargo test -p scenario --test shipped"
    );
}

/// The description of each file, as rows of a table.
fn index(files: &[(String, String)]) -> String {
    let row = |(name, text): &(String, String)| {
        let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        let said = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        assert!(!said("description").is_empty(), "{name}: no description");
        assert!(
            text.lines().take(2).any(|line| line.starts_with("# ")),
            "{name}: does not say what to look for"
        );
        format!("| [{name}]({name}) | {} |\n", said("description"))
    };
    files.iter().map(row).collect()
}

#[test]
fn the_index_of_scenarios_and_studies_is_up_to_date() {
    let page = |what: &str, files: &[(String, String)]| {
        format!("{what}\n\n| File | What it is |\n|---|---|\n{}", index(files))
    };
    let pages = [("scenarios", page(SCENARIOS, &shipped())), ("studies", page(STUDIES, &files("studies")))];
    for (folder, page) in pages {
        let file = root().join(folder).join("README.md");
        if std::env::var_os("ROPEWALK_BLESS").is_some() {
            std::fs::write(&file, &page).unwrap();
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == page,
            "{folder}/README.md is stale; write it anew: ROPEWALK_BLESS=1 cargo test -p scenario --test shipped"
        );
    }
}

const SCENARIOS: &str = "\
# Scenarios

<!-- Generated from the descriptions in the files; a test says how to make it anew. -->

Each file says at its head what to look for. `ropewalk run scenarios/FILE` runs one, `--set KEY=VALUE` changes it, `ropewalk show`
prints it with all defaults. [How to write one](../docs/howto/write-a-scenario.md), [studies](../studies/README.md) of several
cases.";

const STUDIES: &str = "\
# Studies

<!-- Generated from the descriptions in the files; a test says how to make it anew. -->

`ropewalk study studies/FILE` runs all cases of one, `--dry-run` lists them. [How to write one](../docs/howto/run-a-study.md),
[scenarios](../scenarios/README.md). The studies behind the published experiments that are run again are in
[reproductions](../docs/reference/reproductions.md).";

#[test]
fn another_crate_can_register_its_own() {
    let mut registries = Registries::builtin();
    let own = congestion::Algorithm { name: "mine", ..*registries.congestion.get("newreno").unwrap() };
    registries.congestion.register(own);
    let sets = [("flow.upload.transport.congestion".to_owned(), "mine".to_owned())];
    let document = scenario::Document::parse(BASE, "test.toml", &sets, &registries).unwrap();
    assert_eq!(
        document.scenario.flows[0].transport.congestion.as_ref().map(scenario::model::Choice::name),
        Some("mine")
    );
    assert!(schema(&registries).to_string().contains("\"mine\""));
    assert!(reference_markdown(&registries).contains("`mine`"));
    assert_eq!(document.source(), BASE);

    let fault = |_: &registry::Options| {
        Err(registry::OptionFault { option: "a", message: "found 2".into(), help: "at most 1".into() })
    };
    registries.congestion.register(congestion::Algorithm { check: fault, ..own });
    let found = scenario::Document::parse(BASE, "test.toml", &sets, &registries).unwrap_err();
    let found: Vec<_> = found.iter().map(|d| (d.key.as_str(), d.help.as_str())).collect();
    assert_eq!(found, [("flow.upload.transport.congestion.a", "at most 1")]);
}
