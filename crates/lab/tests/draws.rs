//! Values drawn once per replication.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Output, RunOptions, Simulator};
use scenario::{Document, Registries};
use trace::Data;

const TEXT: &str = r#"
name = "drawn"
duration = "3s"

[[path]]
name = "a"
both = { rate = { draw = "uniform", from = "4Mbit/s", to = "8Mbit/s" }, delay = { draw = "uniform", from = "20ms", to = "25ms" }, queue = "50p", loss = { kind = "packet", probability = { draw = "uniform", from = "1%", to = "2%" } } }

[[path]]
name = "b"
both = { rate = "6Mbit/s", delay = "10ms", queue = "1BDP" }

[[flow]]
name = "upload"
from = "terminal"
to = "server"
compare_paths = true
transport = { kind = "mptcp", congestion = "lia" }
"#;

fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Document, String> {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Document::parse(text, "drawn.toml", &sets, &Registries::builtin()).map_err(|e| e.to_string())
}

fn run(document: &Document, seeds: &[u64], jobs: usize) -> Output {
    let jobs = NonZeroUsize::new(jobs).unwrap();
    let options = RunOptions { seeds: seeds.to_vec(), jobs, series: false, trace: false, capture: None };
    lab::run_on(&Simulator, document, &options, &|_, _| (), &AtomicBool::new(false)).unwrap()
}

fn column(output: &Output, name: &str) -> Vec<f64> {
    match output.tables[0].column(name) {
        Some(Data::Real(values)) => values.iter().map(|value| value.unwrap()).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

fn drawn(document: &Document, seed: u64) -> Vec<(String, f64)> {
    document.draws().iter().map(|draw| (draw.column(), draw.value(seed))).collect()
}

const RATE: &str = "path.a.both.rate_bit_s";

#[test]
fn draws_are_columns_of_the_table_of_runs() {
    let document = parse(TEXT, &[]).unwrap();
    let output = run(&document, &[1, 2, 3], 2);
    assert_eq!(output.tables, run(&document, &[1, 2, 3], 1).tables, "the number of workers shows");
    for (name, low, high) in
        [(RATE, 4e6, 8e6), ("path.a.both.delay_s", 0.02, 0.025), ("path.a.both.loss.probability", 0.01, 0.02)]
    {
        let values = column(&output, name);
        assert!(values.iter().all(|value| (low..=high).contains(value)), "{name}: {values:?}");
        let different: BTreeSet<u64> = values.iter().map(|value| value.to_bits()).collect();
        assert_eq!(different.len(), 3, "{name}: {values:?}");
    }
    // A seed has its values whichever others are run.
    assert_eq!(column(&run(&document, &[3], 1), RATE), column(&output, RATE)[2..]);
}

#[test]
fn the_drawn_values_are_those_that_the_run_has() {
    let document = parse(TEXT, &[]).unwrap();
    let values = drawn(&document, 7);
    let text = |name: &str| values.iter().find(|(column, _)| column == name).unwrap().1;
    // The same scenario with the values written in their places has the same tables, baselines included.
    let nanos = (text("path.a.both.delay_s") * 1e9).round();
    let fixed = parse(
        TEXT,
        &[
            ("path.a.both.rate", &format!("\"{}bit/s\"", text(RATE))),
            ("path.a.both.delay", &format!("\"{nanos}ns\"")),
            (
                "path.a.both.loss.probability",
                &format!("\"{}%\"", text("path.a.both.loss.probability") * 100.0),
            ),
        ],
    )
    .unwrap();
    assert!(fixed.draws().is_empty());
    let (drawn, written) = (run(&document, &[7], 1), run(&fixed, &[7], 1));
    assert_eq!(drawn.tables[1..], written.tables[1..]);
    // Both directions have one draw, for it is written once.
    let scenario = document.under(7).unwrap();
    let [down, up] = &scenario.duplex_links[0].directions;
    assert_eq!(format!("{:?}", down.rate), format!("{:?}", up.rate));
}

#[test]
fn a_draw_depends_on_its_key_and_the_seed_alone() {
    let all = parse(TEXT, &[]).unwrap();
    let more = "{ draw = \"uniform\", from = \"5Mbit/s\", to = \"7Mbit/s\" }";
    let added =
        parse(TEXT, &[("path.b.both.rate", more), ("flow.upload.transport.congestion", "\"olia\"")]).unwrap();
    for seed in [1, 2, 99] {
        let before = drawn(&all, seed);
        let after = drawn(&added, seed);
        assert_eq!(after.len(), before.len() + 1);
        assert!(before.iter().all(|one| after.contains(one)), "{before:?}\n{after:?}");
    }
}

#[test]
fn the_expanded_scenario_draws_the_same() {
    for document in [
        parse(TEXT, &[]).unwrap(),
        parse(
            TEXT,
            &[("path.b.both.delay", "{ draw = \"uniform\", from = \"5ms\", to = \"50ms\", stream = \"b\" }")],
        )
        .unwrap(),
    ] {
        for text in [document.to_toml(), document.to_whole_toml()] {
            let again = parse(&text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert!(text.contains("stream = \"path.a.both.rate\""), "{text}");
            assert_eq!(again.to_toml(), document.to_toml());
            for seed in [1, 5] {
                assert_eq!(drawn(&again, seed), drawn(&document, seed));
                assert!(run(&again, &[seed], 1).tables == run(&document, &[seed], 1).tables, "{text}");
            }
        }
    }
}

#[test]
fn what_follows_from_a_draw_is_not_fixed() {
    // The size of a queue in round trips follows from the delay, the end of a flow from the duration.
    let sets = [("duration", "{ draw = \"uniform\", from = \"2s\", to = \"4s\" }")];
    let document = parse(TEXT, &sets).unwrap();
    let again = parse(&document.to_toml(), &[]).unwrap();
    for seed in 1..4 {
        let [one, two] = [document.under(seed).unwrap(), again.under(seed).unwrap()];
        assert_eq!(format!("{one:?}"), format!("{two:?}"));
        assert!(
            one.duration.0 > 2_000_000_000 && one.flows[0].stop.0 == one.duration.0,
            "{:?}",
            one.flows[0]
        );
    }
}

#[test]
fn mistakes_have_a_place_and_a_cure() {
    let told = |value: &str| parse(TEXT, &[("path.b.both.rate", value)]).map(|_| ()).unwrap_err();
    for (value, wanted) in [
        ("{ draw = \"uniform\", from = \"5Mbit/s\" }", "`to` is missing"),
        ("{ draw = \"unifrom\", from = \"5Mbit/s\", to = \"6Mbit/s\" }", "not a distribution"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"6ms\" }", "not of one kind"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"4Mbit/s\" }", "nothing is drawn"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"fast\" }", "cannot be drawn"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"6Mbit/s\", steam = \"x\" }", "`stream`"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"6Mbit/s\", stream = \"a b\" }", "expected a name"),
        (
            "{ draw = \"uniform\", from = \"5Mbit/s\", to = \"6Mbit/s\", stream = \"path.a.both.rate\" }",
            "other bounds",
        ),
        // The keys themselves say what they allow, at either bound.
        ("{ draw = \"uniform\", from = \"5ms\", to = \"6ms\" }", "a rate looks like"),
        ("{ draw = \"uniform\", from = \"5Mbit/s\", to = \"9999999Gbit/s\" }", "--set:1:"),
    ] {
        let text = told(value);
        assert!(
            text.contains(wanted) && text.contains("--set:1:") && text.contains("fix: "),
            "{value}\n{text}"
        );
    }
    let seeds =
        parse(TEXT, &[("seeds", "{ draw = \"uniform\", from = 2, to = 5 }")]).map(|_| ()).unwrap_err();
    assert!(seeds.contains("changes the seeds"), "{seeds}");
}
