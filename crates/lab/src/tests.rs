//! `run` as a whole, over small scenarios.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use scenario::{Document, Registries};
use trace::{Data, Table};

use super::*;

const TWO_PATHS: &str = r#"
name = "two paths"
duration = "4s"

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms", queue = "50p", loss = { kind = "packet", probability = 0.01 } }

[[path]]
name = "b"
like = "a"

[[flow]]
name = "upload"
from = "terminal"
to = "server"
app = { kind = "bulk" }
compare_paths = true
transport = { kind = "mptcp" }

[[flow]]
name = "file"
from = "server"
to = "terminal"
start = "1s"
app = { kind = "bulk", size = "100kB" }
via = "b"
transport = { kind = "tcp" }

[[event]]
at = "2s"
link = "b"
set = { rate = "1Mbit/s", delay = "60ms" }
"#;

fn parse(text: &str) -> Document {
    Document::parse(text, "test.toml", &[], &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"))
}

fn run_with(document: &Document, seeds: &[u64], jobs: usize) -> Output {
    let jobs = NonZeroUsize::new(jobs).unwrap();
    let options = RunOptions { seeds: seeds.to_vec(), jobs, series: true, trace: true, capture: None };
    let never = AtomicBool::new(false);
    run(&document.scenario, &options, &|_, _| (), &never).unwrap()
}

fn table<'a>(output: &'a Output, name: &str) -> &'a Table {
    output.tables.iter().find(|t| t.name == name).unwrap()
}

fn data<'a>(output: &'a Output, name: &str, column: &str) -> &'a Data {
    &table(output, name).columns.iter().find(|c| c.name == column).unwrap().data
}

fn reals(output: &Output, name: &str, column: &str) -> Vec<Option<f64>> {
    let Data::Real(values) = data(output, name, column) else { panic!("{column}") };
    values.clone()
}

fn words(output: &Output, name: &str, column: &str) -> Vec<String> {
    let Data::Word { words, rows } = data(output, name, column) else { panic!("{column}") };
    rows.iter().map(|r| r.map_or(String::new(), |r| words[r as usize].clone())).collect()
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let document = parse(TWO_PATHS);
    let one = run_with(&document, &[3, 1, 2], 1);
    for jobs in [2, 5] {
        let many = run_with(&document, &[3, 1, 2], jobs);
        assert_eq!(one.tables, many.tables, "{jobs} workers");
        assert_eq!(one.traces, many.traces, "{jobs} workers");
        assert_eq!(
            (one.totals.events, one.totals.packet_hops),
            (many.totals.events, many.totals.packet_hops)
        );
    }
    assert_eq!(one.traces.iter().map(|t| t.seed).collect::<Vec<_>>(), [3, 1, 2]);
}

#[test]
fn tables_are_tidy() {
    let output = run_with(&parse(TWO_PATHS), &[1, 2], 2);
    let names: Vec<_> = output.tables.iter().map(|t| t.name).collect();
    assert_eq!(
        names,
        [
            "runs",
            "flows",
            "subflows",
            "legs",
            "failed_joins",
            "links",
            "messages",
            "measures",
            "pages",
            "delays",
            "series"
        ]
    );
    for table in &output.tables {
        let rows = table.columns[0].data.len();
        // Without proxies there are no legs, and no join fails.
        let empty = ["legs", "failed_joins"].contains(&table.name);
        assert_eq!(rows > 0 || table.name == "pages", !empty, "{}: rows", table.name);
        for column in &table.columns {
            assert_eq!(column.data.len(), rows, "{}.{}", table.name, column.name);
        }
    }
    assert_eq!(words(&output, "flows", "flow")[..4], ["upload", "upload@a", "upload@b", "file"]);
    assert_eq!(words(&output, "flows", "transport")[..4], ["mptcp", "tcp", "tcp", "tcp"]);
    assert_eq!(words(&output, "subflows", "path")[..5], ["a", "b", "a", "b", "b"]);
    assert_eq!(words(&output, "links", "link")[..4], ["a.up", "a.down", "b.up", "b.down"]);
}

#[test]
fn totals_are_the_sums_of_the_runs() {
    let output = run_with(&parse(TWO_PATHS), &[1, 2], 2);
    for (column, total) in
        [("events", output.totals.events.unwrap()), ("packet_hops", output.totals.packet_hops)]
    {
        let Data::Integer(values) = data(&output, "runs", column) else { panic!("{column}") };
        assert_eq!(values.iter().sum::<u64>(), total, "{column}");
    }
}

#[test]
fn the_benefit_is_paired_with_the_baselines_of_the_same_seed() {
    let output = run_with(&parse(TWO_PATHS), &[1, 2], 2);
    let goodput = reals(&output, "flows", "goodput_bit_s");
    let (best, sum) = (reals(&output, "flows", "benefit_vs_best"), reals(&output, "flows", "benefit_vs_sum"));
    for upload in [0, 4] {
        let [multi, a, b] = [0, 1, 2].map(|i| goodput[upload + i].unwrap());
        assert_eq!(best[upload], Some(multi / a.max(b)));
        assert_eq!(sum[upload], Some(multi / (a + b)));
        assert_eq!(best[upload + 1..upload + 4], [None; 3]);
    }
}

#[test]
fn goodput_and_completion_follow_from_times_and_bytes() {
    let output = run_with(&parse(TWO_PATHS), &[2], 1);
    let [start, end, goodput, completion] =
        ["start_s", "end_s", "goodput_bit_s", "completion_s"].map(|column| reals(&output, "flows", column));
    let Data::Integer(delivered) = data(&output, "flows", "delivered_bytes") else { panic!() };
    for row in 0..4 {
        let lasted = end[row].unwrap() - start[row].unwrap();
        let expected = delivered[row] as f64 * 8.0 / lasted;
        assert!((goodput[row].unwrap() / expected - 1.0).abs() < 1e-12, "row {row}");
    }
    assert_eq!(delivered[3], 100_000);
    let last = reals(&output, "flows", "last_delivery_s");
    assert_eq!(last[3], end[3]);
    assert!(last[0].unwrap() <= end[0].unwrap() && last[0].unwrap() > end[0].unwrap() - 1.0);
    assert_eq!(completion[0], None);
    assert!((completion[3].unwrap() - (end[3].unwrap() - 1.0)).abs() < 1e-9);
    let [size, delay] = ["size_bytes", "delay_s"].map(|c| data(&output, "messages", c));
    assert_eq!(size, &Data::Integer(vec![100_000]));
    assert_eq!(delay, &Data::Real(vec![completion[3]]));
}

/// A file over a path that loses nothing: its wire rate is what the link carried, over the time that it took.
#[test]
fn the_rate_on_the_wire_is_that_of_the_link() {
    let text = r#"
name = "wire"
duration = "20s"
[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "40ms", queue = "1000p" }
[[flow]]
name = "file"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "1MB" }
transport = { kind = "tcp", profile = "rfc", timestamps = false }
"#;
    let output = run_with(&parse(text), &[1], 1);
    let one = |column| reals(&output, "flows", column)[0].unwrap();
    let Data::Integer(carried) = data(&output, "links", "bytes") else { panic!("bytes") };
    let seconds = one("end_s") - one("start_s");
    assert!((one("wire_bit_s") * seconds / 8.0 / carried[0] as f64 - 1.0).abs() < 1e-9);
    // Segments of 1460 bytes in packets of 1500, the last one of 1360, a SYN with options and an ACK.
    assert!((one("wire_bit_s") * seconds / 8.0 - 1e6 - 685.0 * 40.0).abs() < 120.0);
    assert_eq!((one("seen_retransmitted_share"), one("seen_late_share")), (0.0, 0.0));
    assert_eq!(reals(&output, "flows", "meta_ofo_mean_bytes"), [None]);
}

#[test]
fn a_baseline_alone_is_the_same_flow_written_by_hand() {
    let by_hand = TWO_PATHS.replace(
        "compare_paths = true\ntransport = { kind = \"mptcp\" }",
        "via = \"a\"\ntransport = { kind = \"tcp\" }",
    );
    assert_ne!(by_hand, TWO_PATHS);
    let (all, alone) = (run_with(&parse(TWO_PATHS), &[7], 1), run_with(&parse(&by_hand), &[7], 1));
    let goodput = |output: &Output| reals(output, "flows", "goodput_bit_s");
    assert_eq!(goodput(&all)[1], goodput(&alone)[0]);
}

/// The baselines of concurrent transfer are associations that know no other path: where one fails all stops.
#[test]
fn a_baseline_of_an_association_has_one_path() {
    let path = |name: &str, delay: u64| {
        format!("[[path]]\nname = \"{name}\"\nboth = {{ rate = \"4Mbit/s\", delay = \"{delay}ms\" }}\n")
    };
    let flow = |rest: &str| {
        format!(
            "[[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\n\
             app = {{ kind = \"bulk\" }}\n{rest}\n"
        )
    };
    let head = "name = \"x\"\nduration = \"10s\"\n";
    let outage = "[[event]]\nat = \"5s\"\nlink = \"a\"\nset = { up = false }\n";
    let compared = flow("compare_paths = true\ntransport = { kind = \"cmt-sctp\" }");
    let output =
        run_with(&parse(&format!("{head}{}{}{compared}{outage}", path("a", 20), path("b", 40))), &[3], 1);
    assert_eq!(words(&output, "flows", "flow"), ["f", "f@a", "f@b"]);
    let goodput = |output: &Output| reals(output, "flows", "goodput_bit_s");
    let [both, a, b] = goodput(&output)[..] else { panic!("three rows") };
    assert!(both > b && b > a, "{both:?}, {a:?}, {b:?}");
    let by_hand = format!("{head}{}{}", path("a", 20), flow("transport = { kind = \"sctp\" }"));
    assert_eq!(goodput(&run_with(&parse(&format!("{by_hand}{outage}")), &[3], 1))[0], a);
}

#[test]
fn duplex_links_that_lead_nowhere_are_no_paths() {
    let text = r#"
name = "a dead end"
duration = "1s"
node = [
  { name = "left", forward = false }, { name = "right", forward = false },
  { name = "relay" }, { name = "island" },
]
link = [
  { name = "dead", ends = ["left", "island"], both = { rate = "1Mbit/s", delay = "1ms" } },
  { name = "near", ends = ["left", "relay"], both = { rate = "1Mbit/s", delay = "1ms" } },
  { name = "far", ends = ["relay", "right"], both = { rate = "1Mbit/s", delay = "1ms" } },
]
flow = [{ name = "f", from = "left", to = "right", compare_paths = true, transport = { kind = "mptcp" } }]
"#;
    let output = run_with(&parse(text), &[1], 1);
    assert_eq!(words(&output, "flows", "flow"), ["f", "f@near"]);
}

#[test]
fn events_are_described_by_duplex_link_or_direction() {
    let marks = marks(&parse(TWO_PATHS).scenario);
    let [mark] = marks.as_slice() else { panic!("{marks:?}") };
    assert_eq!((mark.links.as_str(), mark.what.as_str()), ("b", "rate 1Mbit/s, delay 60ms"));
    assert!((mark.at.as_secs_f64() - 2.0).abs() < 1e-12);
    let one_way = TWO_PATHS.replace("link = \"b\"", "link = \"b.down\"");
    assert_eq!(super::marks(&parse(&one_way).scenario)[0].links, "b.down");
}

/// Flow and baselines, some of which end early, count with the duration of the scenario.
#[test]
fn the_simulated_spans_of_all_runs_add_up() {
    let document = parse(TWO_PATHS);
    let options =
        RunOptions { seeds: vec![1, 2], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let (control, total) = (Control::default(), AtomicUsize::new(0));
    let note = |_, all| total.store(all, Ordering::Relaxed);
    run_on(&Simulator, &document, &options, &note, &control).unwrap();
    let all = total.into_inner() as f64 * document.scenario.duration.as_secs_f64();
    assert!(all > 0.0 && (control.simulated_s() - all).abs() < 1e-6, "{} of {all}", control.simulated_s());
}

#[test]
fn a_set_cancel_flag_ends_the_run() {
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let set = AtomicBool::new(true);
    let outcome = run(&parse(TWO_PATHS).scenario, &options, &|_, _| (), &set);
    assert_eq!(outcome, Err(RunError::Cancelled));
}

#[test]
fn a_panic_names_its_seed() {
    let mut scenario = parse(TWO_PATHS).scenario;
    scenario.flows[1].from = 99;
    let options =
        RunOptions { seeds: vec![5], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let outcome = run(&scenario, &options, &|_, _| (), &AtomicBool::new(false));
    let Err(RunError::Failed { scenario, seed, baseline, message, help }) = outcome else {
        panic!("it cannot run")
    };
    assert_eq!((scenario.as_str(), seed, baseline), ("two paths", 5, None));
    assert!(message.contains("99"), "{message}");
    assert!(help.contains("--seed 5"), "{help}");
}

#[test]
fn a_failure_outweighs_the_cancellations_it_caused() {
    let failed = RunError::Failed {
        scenario: "two paths".into(),
        seed: 7,
        baseline: Some("upload@a".into()),
        message: "cwnd below one MSS".into(),
        help: "repeat it with --seed 7".into(),
    };
    let outcomes = vec![Some(Err(RunError::Cancelled)), Some(Err(failed.clone())), None];
    let error = settle(outcomes).err().unwrap();
    assert_eq!(error, failed);
    let text = error.to_string();
    for part in ["two paths", "seed 7", "upload@a", "cwnd below one MSS", "--seed 7"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn progress_counts_every_simulation() {
    let seen = std::sync::Mutex::new(Vec::new());
    let options =
        RunOptions { seeds: vec![1, 2], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let note = |done, total| seen.lock().unwrap().push((done, total));
    let never = AtomicBool::new(false);
    run(&parse(TWO_PATHS).scenario, &options, &note, &never).unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..=6).map(|n| (n, 6)).collect::<Vec<_>>());
}

#[test]
fn the_catalogue_lists_every_registry() {
    let all = catalogue(&Registries::builtin());
    for kind in
        ["congestion", "schedulers", "path-managers", "rates", "delays", "queues", "loss", "apps", "profiles"]
    {
        let entries = all[kind].as_array().unwrap_or_else(|| panic!("no {kind}"));
        assert!(!entries.is_empty() && entries.iter().all(|e| e["name"].is_string()), "{kind}");
    }
}

#[test]
fn times_by_limit_sum_to_the_lifetime_of_the_flow() {
    let output = run_with(&parse(TWO_PATHS), &[1], 1);
    let total = |table_name: &str, row: usize| -> f64 {
        let limited = |column: &&trace::Column| column.name.starts_with("limited_");
        let columns = table(&output, table_name).columns.iter().filter(limited);
        let seconds = |column: &trace::Column| {
            let Data::Real(values) = &column.data else { panic!("{}", column.name) };
            values[row].unwrap()
        };
        columns.map(seconds).sum()
    };
    let [start, end] = ["start_s", "end_s"].map(|column| reals(&output, "flows", column));
    let flows = words(&output, "flows", "flow");
    let lifetime = |row: usize| end[row].unwrap() - start[row].unwrap();
    for (row, flow) in flows.iter().enumerate() {
        assert!((total("flows", row) - lifetime(row)).abs() < 1e-6, "{flow}");
    }
    for (row, flow) in words(&output, "subflows", "flow").iter().enumerate() {
        let of = flows.iter().position(|name| name == flow).unwrap();
        assert!((total("subflows", row) - lifetime(of)).abs() < 1e-6, "{flow}");
    }
}

#[test]
fn a_proxy_makes_a_row_of_each_leg() {
    let text = "duration = \"20s\"\n\
        [[path]]\nname = \"near\"\nto = \"gateway\"\nboth = { rate = \"10Mbit/s\", delay = \"100ms\" }\n\
        [[path]]\nname = \"far\"\nlike = \"near\"\nfrom = \"gateway\"\nto = \"server\"\n\
        [[proxy]]\nname = \"pep\"\nnode = \"gateway\"\nkind = \"split\"\nclient = { kind = \"tcp\" }\n\
        server = { kind = \"tcp\" }\n\
        [[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\napp = { kind = \"bulk\", size = \"200kB\" }\n\
        transport = { kind = \"tcp\" }\n";
    let output = run_with(&parse(text), &[1], 1);
    assert_eq!(words(&output, "legs", "from"), ["terminal", "gateway"]);
    assert_eq!(words(&output, "legs", "to"), ["gateway", "server"]);
    assert_eq!(words(&output, "legs", "path"), ["near", "far"]);
}
