//! Models of rate, delay, queue and loss on links: what files may say, and what is wrong with files that they name.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{BASE, assert_round_trip, good, parse};
use scenario::model::{Choice, Direction, Setting};
use scenario::{Diagnostic, Document, Registries};
use units::{BitsPerSecond, Bytes, Nanos, QueueLimit};

/// BASE with more keys in the direction `up`.
fn up(keys: &str) -> String {
    BASE.replacen("delay = \"250ms\" }", &format!("delay = \"250ms\", {keys} }}"), 1)
}

fn direction(text: &str) -> Direction {
    let document = good(text, &[]);
    assert_round_trip(&document);
    document.scenario.duplex_links[0].directions[0].clone()
}

fn kind<T, F: registry::Family>(setting: &Setting<T, Choice<F>>) -> &str {
    match setting {
        Setting::Model(choice) => choice.name(),
        Setting::Value(_) => "a value",
    }
}

/// The only mistake.
fn mistake(text: &str) -> Diagnostic {
    let found = parse(text, &[]).expect_err(text);
    assert_eq!(found.len(), 1, "{found}");
    found.iter().next().unwrap().clone()
}

#[test]
fn queues_by_limit_name_and_table() {
    let of = |queue: &str| direction(&up(&format!("queue = {queue}"))).queue;
    assert_eq!(of("\"64KiB\""), Setting::Value(QueueLimit::Bytes(Bytes(65_536))));
    assert_eq!(kind(&of("\"codel\"")), "codel");
    let Setting::Model(choice) = of("{ kind = \"codel\", interval = \"700ms\", limit = \"64KiB\" }") else {
        panic!("a model");
    };
    assert_eq!(choice.options.duration("interval"), Nanos::from_millis(700));
    assert_eq!(choice.options.limit("limit"), QueueLimit::Bytes(Bytes(65_536)));
    for row in Registries::builtin().queues.iter() {
        assert_eq!(kind(&of(&format!("\"{}\"", row.name))), row.name);
    }
}

#[test]
fn queues_in_products_of_bandwidth_and_delay() {
    // 3 Mbit/s and 250 ms in both directions: 187.5 kB.
    assert_eq!(direction(&up("queue = \"2BDP\"")).queue.value(), Some(QueueLimit::Bytes(Bytes(375_000))));
    let text = up("queue = \"0.5BDP\", queue_rtt = \"100ms\"");
    assert_eq!(direction(&text).queue.value(), Some(QueueLimit::Bytes(Bytes(18_750))));
    assert!(good(&up("queue = \"2BDP\""), &[]).to_toml().contains("queue_rtt = \"500ms\""));
    let text = up("queue = { kind = \"codel\", limit = \"2BDP\" }");
    let Setting::Model(choice) = direction(&text).queue else { panic!("a model") };
    assert_eq!(choice.options.limit("limit"), QueueLimit::Bytes(Bytes(375_000)));
    let cases = [
        ("queue_rtt = \"1s\"".to_owned(), "E012", "only with a queue limit in BDP"),
        ("queue = \"0BDP\"".to_owned(), "E005", "looks like \"1.5BDP\""),
    ];
    for (keys, code, part) in cases {
        let found = mistake(&up(&keys));
        assert!(found.code.as_str() == code && found.message.contains(part), "{found}");
    }
    let jitter = "{ kind = \"uniform\", min = \"1ms\", max = \"2ms\", reorder = false }";
    let text = up("queue = \"1BDP\"").replacen("\"250ms\"", jitter, 1);
    assert!(mistake(&text).help.contains("queue_rtt"));
    direction(&text.replacen("\"1BDP\"", "\"1BDP\", queue_rtt = \"50ms\"", 1));
    let steps = "{ kind = \"steps\", times = [\"0s\"], rates = [\"1Mbit/s\"] }";
    let text = up("queue = \"1BDP\"").replacen("\"3Mbit/s\"", steps, 1);
    assert!(mistake(&text).message.contains("the rate is not one constant"));
    let event = BASE.replace("up = false", "queue = \"1BDP\"");
    assert!(mistake(&event).help.contains("packets or bytes"));
}

#[test]
fn several_loss_models_at_once() {
    let of = |loss: &str| direction(&up(&format!("loss = {loss}"))).loss;
    let kinds = |loss: &str| of(loss).into_iter().map(|choice| choice.name()).collect::<Vec<_>>();
    let both = "[{ kind = \"ber\", ratio = 1e-6 }, { kind = \"packet\", probability = 0.01 }, \"none\"]";
    assert_eq!(kinds(both), ["ber", "packet"]);
    assert_eq!(kinds("\"none\""), Vec::<String>::new());
    // A list is inherited as a whole.
    let text = up(&format!("loss = {both}")) + "[[path]]\nname = \"beam2\"\nlike = \"beam1\"\n";
    assert_eq!(good(&text, &[]).scenario.duplex_links[1].directions[0].loss.len(), 2);
    let found = parse(&text, &[("path.beam1.up.loss.ratio", "1e-5")]).unwrap_err();
    assert!(found.to_string().contains("as a whole"), "{found}");
    let bad = mistake(&up("loss = [{ kind = \"ber\" }]"));
    assert_eq!(bad.code.as_str(), "E003");
}

#[test]
fn several_rates_delays_and_shapers_at_once() {
    let steps = "{ kind = \"steps\", times = [\"0s\", \"5s\"], rates = [\"1Mbit/s\", \"9Mbit/s\"] }";
    let jitter = "{ kind = \"uniform\", min = \"0s\", max = \"20ms\", reorder = false }";
    let orbit = "{ kind = \"geo\", satellite_lon = 0, terminal_lat = 0, terminal_lon = 0, gateway_lat = 0, gateway_lon = 0 }";
    let shapers = "[{ rate = \"1Mbit/s\", burst = \"15kB\" }, { rate = \"2Mbit/s\", burst = \"3kB\" }]";
    let text = up(&format!("shaper = {shapers}"))
        .replacen("\"3Mbit/s\"", &format!("[\"3Mbit/s\", {steps}]"), 1)
        .replacen("\"250ms\"", &format!("[\"5ms\", {orbit}, {jitter}]"), 1);
    let found = direction(&text);
    assert_eq!(found.rate.iter().map(kind).collect::<Vec<_>>(), ["a value", "steps"]);
    assert_eq!(found.delay.iter().map(kind).collect::<Vec<_>>(), ["a value", "geo", "uniform"]);
    assert_eq!(found.shapers.iter().map(|shaper| shaper.burst.0).collect::<Vec<_>>(), [15_000, 3000]);
    // A list is inherited and replaced as a whole.
    let two = text.clone() + "[[path]]\nname = \"beam2\"\nlike = \"beam1\"\nup = { rate = \"1Mbit/s\" }\n";
    let like = good(&two, &[("path.beam1.up.shaper", "[{ rate = \"7Mbit/s\", burst = \"3kB\" }]")]);
    let beam2 = &like.scenario.duplex_links[1].directions[0];
    assert_eq!((beam2.rate.len(), beam2.delay.len(), beam2.shapers.len()), (1, 3, 1));
    for part in ["rate.times", "delay.max", "shaper.burst", "delay.3", "delay.-1.max", "delay.2.max.x"] {
        let found = parse(&text, &[(&format!("path.beam1.up.{part}"), "3")]).unwrap_err();
        let help = ["as a whole", "delay.2.max` itself"];
        assert!(help.iter().any(|help| found.to_string().contains(help)), "{found}");
    }
    // Its parts can be set, by position.
    let sets = [
        ("path.beam1.up.delay.0", "7ms"),
        ("path.beam1.up.delay.2.max", "9ms"),
        ("path.beam1.up.shaper.1.burst", "4kB"),
    ];
    let changed = &good(&text, &sets).scenario.duplex_links[0].directions[0];
    assert_eq!(changed.delay[0], Setting::Value(Nanos::from_millis(7)));
    let Setting::Model(jittered) = &changed.delay[2] else { panic!("a model") };
    assert_eq!(jittered.options.duration("max"), Nanos::from_millis(9));
    assert_eq!(changed.shapers[1].burst, Bytes(4000));
    // A table of options alone does not complete a value that a list gives.
    let options = two.replacen("up = { rate = \"1Mbit/s\" }", "up = { delay = { max = \"9ms\" } }", 1);
    assert!(mistake(&options).message.contains("`kind` is missing"));
    // `both` with a list, a direction with a part of its own.
    let both = BASE.replacen("up   = {", &format!("both = {{ delay = [\"5ms\", {jitter}] }}\nup   = {{"), 1);
    let both = good(
        &both.replacen(
            "down = { rate = \"10Mbit/s\", delay = \"250ms\" }",
            "down = { rate = \"10Mbit/s\" }",
            1,
        ),
        &[],
    );
    let delays = both.scenario.duplex_links[0].directions.each_ref().map(|direction| direction.delay.len());
    assert_eq!(delays, [1, 2]);
    // An override of `both` holds for both directions, whatever the file says of one.
    let text = BASE.replacen("up   = {", &format!("both = {{ delay = [\"5ms\", {jitter}] }}\nup   = {{"), 1);
    let all = good(&text, &[("path.beam1.both.delay.0", "6ms")]);
    let delays =
        all.scenario.duplex_links[0].directions.each_ref().map(|direction| direction.delay[0].value());
    assert_eq!(delays, [Some(Nanos::from_millis(6)); 2]);
}

#[test]
fn what_cannot_be_one_of_several() {
    let list = |rate: &str| BASE.replacen("\"3Mbit/s\"", rate, 1);
    let trace = "{ kind = \"opportunities\", file = \"3\\n5\\n\" }";
    assert_eq!(direction(&list(&format!("[{trace}]"))).rate.len(), 1);
    let cases = [
        (list("[]"), "up.rate", "an empty list"),
        (list("[\"3Mbit/s\", 4]"), "up.rate.1", "found the number 4"),
        (list("[\"3Mbit/s\", \"step\"]"), "up.rate.1", "not a rate model"),
        (list(&format!("[\"3Mbit/s\", {trace}]")), "up.rate.1", "`opportunities` has no rate at an instant"),
        (up("loss = []"), "up.loss", "an empty list"),
        (up("shaper = [{ rate = \"1Mbit/s\" }]"), "up.shaper.0.burst", "missing"),
        (up("shaper = \"1Mbit/s\""), "up.shaper", "expected a table"),
        (
            up("queue = \"1BDP\"").replacen("\"250ms\"", "[\"1ms\", \"2ms\"]", 1),
            "up.queue_rtt",
            "not one constant",
        ),
        (up("queue = [\"10p\"]"), "up.queue", "found a list"),
    ];
    for (text, key, part) in cases {
        let found = mistake(&text);
        assert!(found.key.ends_with(key) && found.message.contains(part), "{key} {part}\n{found}");
        assert!(found.line == 5 && found.width > 0, "{found}");
    }
    let both = list(&format!("[\"3Mbit/s\", {trace}]")).replacen("up   = {", "both = {", 1).replacen(
        "down = { rate = \"10Mbit/s\", delay = \"250ms\" }",
        "",
        1,
    );
    assert_eq!(parse(&both, &[]).unwrap_err().len(), 1);
}

#[test]
fn rates_delays_shapers_and_faults() {
    let text = up("shaper = { rate = \"2Mbit/s\", burst = \"15kB\" }, faults = { duplicate = 0.1 }");
    let direction = direction(&text);
    assert_eq!(direction.shapers[0].burst, Bytes(15_000));
    assert_eq!(direction.faults.duplicate.get().to_string(), "0.1");
    let off = text.replacen("\"2Mbit/s\"", "\"unlimited\"", 1);
    assert_eq!(good(&off, &[]).scenario.duplex_links[0].directions[0].shapers, []);
    let event = BASE.replace(
        "up = false",
        "rate = { kind = \"markov\", rates = [\"1Mbit/s\", \"2Mbit/s\"], dwell = [\"1s\", \"2s\"] }",
    );
    let document = good(&event, &[]);
    assert_round_trip(&document);
    assert_eq!(document.scenario.events[0].rate.as_ref().map(|rate| kind(&rate[0])), Some("markov"));
    let plain = good(&event, &[("event.0.set.rate", "3Mbit/s")]);
    assert_eq!(plain.scenario.events[0].rate, Some(vec![Setting::Value(BitsPerSecond(3_000_000))]));
}

#[test]
fn options_that_do_not_fit_each_other() {
    let steps = |times: &str, rates: &str, more: &str| {
        let model = format!("{{ kind = \"steps\", times = {times}, rates = {rates}{more} }}");
        BASE.replacen("\"3Mbit/s\"", &model, 1)
    };
    let markov = |more: &str| {
        let model = format!("{{ kind = \"markov\", rates = [\"1Mbit/s\", \"2Mbit/s\"], {more} }}");
        BASE.replacen("\"3Mbit/s\"", &model, 1)
    };
    let two = "[\"0s\", \"5s\"]";
    let rates = "[\"1Mbit/s\", \"2Mbit/s\"]";
    let cases = [
        (steps(two, "[\"1Mbit/s\"]", ""), "up.rate.rates", "found 1 items, but `times` asks for 2"),
        (steps("[\"5s\", \"5s\"]", rates, ""), "up.rate.times", "found 5s after 5s"),
        (steps(two, rates, ", repeat = \"5s\""), "up.rate.repeat", "the last time is \"5s\""),
        (steps(two, "[]", ""), "up.rate.rates", "an empty list"),
        (steps(two, "\"1Mbit/s\"", ""), "up.rate.rates", "expected a list of rates"),
        (steps(two, "[\"1Mbit/s\", 2]", ""), "up.rate.rates", "found the number 2"),
        (markov("dwell = [\"1s\"]"), "up.rate.dwell", "asks for 2"),
        (markov("dwell = [\"1s\", \"1s\"], first = 3"), "up.rate.first", "there are 2 states"),
        (markov("dwell = [\"1s\", \"1s\"], jump = [0, 1, 1]"), "up.rate.jump", "asks for 4"),
        (markov("dwell = [\"1s\", \"1s\"], jump = [1, 1, 1, 0]"), "up.rate.jump", "state 1 follows itself"),
        (
            BASE.replacen(
                "\"250ms\"",
                "{ kind = \"uniform\", min = \"3ms\", max = \"2ms\", reorder = true }",
                1,
            ),
            "up.delay.max",
            "below min",
        ),
        (
            BASE.replacen("\"250ms\"", "{ kind = \"normal\", mean = \"3ms\", deviation = \"1ms\" }", 1),
            "reorder",
            "missing",
        ),
        (
            up("queue = { kind = \"red\", min_threshold = 0.7 }"),
            "up.queue.max_threshold",
            "below min_threshold",
        ),
        (up("queue = \"codl\""), "up.queue", "not a queue discipline"),
        (up("shaper = { rate = \"1Mbit/s\" }"), "up.shaper.burst", "missing"),
        (up("faults = { corrupt = 2 }"), "up.faults.corrupt", "between 0 and 1"),
    ];
    for (text, key, part) in cases {
        let found = mistake(&text);
        assert!(found.key.ends_with(key) && found.message.contains(part), "{key} {part}\n{found}");
        assert!(found.line == 5 && found.width > 0, "{found}");
    }
}

/// A folder of its own with a scenario file in it.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ropewalk-models-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn load(folder: &std::path::Path, rate: &str) -> Result<Document, scenario::Diagnostics> {
    let text = BASE.replacen("\"3Mbit/s\"", rate, 1);
    let file = folder.join("scenario.toml");
    Document::parse(&text, &file.to_string_lossy(), &[], &Registries::builtin())
}

#[test]
fn files_are_found_beside_the_scenario_and_their_mistakes_have_a_line() {
    let folder = folder("wrong");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("opportunities", b"1\n-5\n", ":2: found the time -5, which is negative", "whole milliseconds"),
        ("opportunities", b"7\n5\n", ":2: found 5, which is before the line above", "whole milliseconds"),
        ("opportunities", b"", ": the file has no lines", "whole milliseconds"),
        ("opportunities", b"1\n\xff\xfe\n", ":2: the file is binary, not text", "whole milliseconds"),
        ("opportunities", b"1\n2\n3\0\n", ":3: the file is binary, not text", "whole milliseconds"),
        ("opportunities", b"1\ntwo\n", ":2: found \"two\"", "whole milliseconds"),
        (
            "series",
            b"0 1Mbit/s\n5 2Mbit/s\n5 3Mbit/s\n",
            ":3: found the time 5, which is not after",
            "times rising",
        ),
        ("series", b"0 1Mbit/s\n-1 2Mbit/s\n", ":2: found the time -1, which is negative", "times rising"),
        ("series", b"0 1Mbit/s\n1 -2\n", ":2: found -2, which is negative", "times rising"),
        ("series", b"0\n", ":1: number of columns: found 1; expected 2", "a time and a value"),
        ("series", b"0 1e6\n", ":1: found \"1e6\" without a unit", "unit = \"Mbit/s\""),
        (
            "series",
            b"1714564800 1Mbit/s\n",
            ": begins at 1714564800s, a time of a clock",
            "origin = \"first\"",
        ),
    ];
    for (kind, bytes, message, help) in cases {
        write("data", bytes);
        let found = load(&folder, &format!("{{ kind = \"{kind}\", file = \"data\" }}")).unwrap_err();
        let one = found.iter().next().unwrap();
        let shown = format!("{}{message}", folder.join("data").display());
        assert!(found.len() == 1 && one.message.starts_with(&shown) && one.help.contains(help), "{found}");
        assert_eq!((one.line, one.code.as_str(), one.key.as_str()), (5, "E022", "path.beam1.up.rate.file"));
        assert!(one.file.ends_with("scenario.toml"));
    }
    let missing = load(&folder, "{ kind = \"series\", file = \"nowhere\" }").unwrap_err().to_string();
    assert!(
        missing.contains("cannot read") && missing.contains("from the folder of the scenario"),
        "{missing}"
    );
    let directory = load(&folder, "{ kind = \"series\", file = \".\" }").unwrap_err().to_string();
    assert!(directory.contains("it is not a file"), "{directory}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_a_file_holds_reaches_the_model() {
    let folder = folder("right");
    std::fs::write(folder.join("rate.csv"), "0,1Mbit/s\n10,20Mbit/s\n").unwrap();
    let document = load(&folder, "{ kind = \"series\", file = \"rate.csv\", repeat = \"20s\" }").unwrap();
    let Setting::Model(choice) = &document.scenario.duplex_links[0].directions[0].rate[0] else {
        panic!("a model")
    };
    assert_eq!(choice.options.file("file").text(), "0,1Mbit/s\n10,20Mbit/s\n");
    assert!(document.to_toml().contains("file = \"rate.csv\""));
    let short = load(&folder, "{ kind = \"series\", file = \"rate.csv\", repeat = \"10s\" }").unwrap_err();
    assert!(short.to_string().contains("the last time is \"10s\""), "{short}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A text of several lines is the content itself; a whole scenario holds all files and needs none.
#[test]
fn a_whole_scenario_needs_no_files() {
    let folder = folder("whole");
    std::fs::write(folder.join("rate.csv"), "0,1Mbit/s\n10,20Mbit/s").unwrap();
    let model = "{ kind = \"series\", file = \"rate.csv\" }";
    let document = load(&folder, model).unwrap();
    let whole = document.to_whole_toml();
    assert!(whole.contains("file = \"0,1Mbit/s\\n10,20Mbit/s\"") && !whole.contains("rate.csv"), "{whole}");
    let again = good(&whole, &[]);
    assert_eq!(again.to_whole_toml(), whole);
    let rows = |document: &Document| {
        let Setting::Model(choice) = &document.scenario.duplex_links[0].directions[0].rate[0] else {
            panic!("a model")
        };
        choice.options.file("file").text().trim_end().to_owned()
    };
    assert_eq!(rows(&again), rows(&document));
    // Another content is another scenario, though the path is the same.
    std::fs::write(folder.join("rate.csv"), "0,2Mbit/s").unwrap();
    let other = load(&folder, model).unwrap();
    assert_ne!(other.to_whole_toml(), whole);
    assert_eq!(rows(&good(&other.to_whole_toml(), &[])), rows(&other));
    assert_eq!(good(BASE, &[]).to_whole_toml(), good(BASE, &[]).to_toml());
    let wrong = BASE.replacen("\"3Mbit/s\"", "{ kind = \"series\", file = \"0 1Mbit/s\\n0 2Mbit/s\\n\" }", 1);
    assert!(mistake(&wrong).message.starts_with("the text:2: found the time 0"));
    std::fs::remove_dir_all(folder).unwrap();
}
