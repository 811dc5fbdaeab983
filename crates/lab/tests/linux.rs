//! Seconds on the kernel of this machine, where it permits them; skipped with a reason elsewhere.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Backend, Linux, Output, RunError, RunOptions};
use scenario::{Document, Registries};
use trace::Table;

/// Two paths of 4 Mbit/s; an upload of 600 kB over MPTCP takes a second, the other flow has no end.
const TEXT: &str = r#"
name = "smoke"
duration = "5s"

[[path]]
name = "a"
both = { rate = "4Mbit/s", delay = "50ms", queue = "50kB" }

[[path]]
name = "b"
both = { rate = "4Mbit/s", delay = "50ms", queue = "50kB" }

[[flow]]
name = "two"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "600kB" }
[flow.transport]
kind = "mptcp"
profile = "linux"
scheduler = "minratio"
reinjection = "upstream"

[[flow]]
name = "one"
from = "server"
to = "terminal"
app = "bulk"
start = "2s"
transport = { kind = "tcp", profile = "linux", congestion = "newreno" }
"#;

fn number(tables: &[Table], (table, key): (&str, &str), column: &str) -> f64 {
    let table = tables.iter().find(|one| one.name == table).expect("a table");
    let names = table.columns.iter().find(|column| matches!(&*column.name, "flow" | "link")).expect("names");
    let row = (0..names.data.len()).find(|row| names.data.text(*row) == key).expect("a row");
    table.column(column).expect("a column").text(row).parse().expect("a number")
}

/// One run on the kernel; `None`, with the reason in the output of the test, where this machine permits none.
fn on_kernel(text: &str, name: &str, sets: &[(&str, &str)]) -> Option<Output> {
    let skipped = |why: String| {
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        None
    };
    let linux = Linux::new(std::env::temp_dir());
    if let Err(why) = linux.prepare() {
        return skipped(why.to_string());
    }
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let document = Document::parse(text, name, &sets, &Registries::builtin());
    let document = document.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: true, trace: false, capture: None };
    match lab::run_on(&linux, &document, &options, &|_, _| (), &AtomicBool::new(false)) {
        Ok(output) => Some(output),
        // A machine with other work says so, and has no result.
        Err(RunError::Failed { message, .. }) if message.starts_with("not exact enough") => skipped(message),
        Err(RunError::Failed { message, .. }) if message.contains("MPTCP needs") => skipped(message),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn two_flows_over_two_paths_of_the_kernel() {
    let Some(output) = on_kernel(TEXT, "smoke.toml", &[]) else { return };
    let tables = &output.tables;
    assert!((number(tables, ("flows", "two"), "delivered_bytes") - 600e3).abs() < 1.0);
    // 8 Mbit/s from the second round trip on: 0.6 s of transmission at least, and slow start.
    let took = number(tables, ("flows", "two"), "completion_s");
    assert!((0.7..2.0).contains(&took), "600 kB took {took} s");
    // 3 s less two round trips and slow start, at 4 Mbit/s less headers.
    let goodput = number(tables, ("flows", "one"), "goodput_bit_s");
    assert!((2.0e6..4e6 * 1448.0 / 1500.0).contains(&goodput), "{goodput} bit/s");
    let subflows = tables.iter().find(|table| table.name == "subflows").unwrap();
    assert_eq!(subflows.column("subflow").unwrap().len(), 3, "two of MPTCP, one of TCP");
    // All bytes have crossed the links.
    let carried = ["a.up", "b.up"].map(|link| number(tables, ("links", link), "bytes"));
    assert!(carried[0] > 100e3 && carried[1] > 100e3 && carried[0] + carried[1] < 800e3, "{carried:?}");
    let series = tables.iter().find(|table| table.name == "series").unwrap();
    assert!(series.column("metric").unwrap().len() > 100);
    assert_eq!(output.accuracies.len(), 1);
    assert!(output.accuracies[0].1.packets > 1000);
}

/// The kernel's values for keys of the profile `linux-minrtt` that it does not support.
const AS_LINUX: [(&str, &str); 2] =
    [("flow.upload.transport.scheduler", "minratio"), ("flow.upload.transport.reinjection", "upstream")];

/// A shipped scenario, shortened.
fn shipped(name: &str, sets: &[(&str, &str)]) -> Option<Output> {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    on_kernel(&text, &path, &[&AS_LINUX, sets].concat())
}

/// `(path, bytes_sent)` of the subflows of the only flow.
fn subflows(tables: &[Table]) -> Vec<(String, f64)> {
    let table = tables.iter().find(|table| table.name == "subflows").expect("a table");
    let column = |name| table.column(name).expect("a column");
    let (paths, sent) = (column("path"), column("bytes_sent"));
    (0..paths.len()).map(|row| (paths.text(row), sent.text(row).parse().expect("a number"))).collect()
}

/// The first and the last sample in which a link carried packets, in seconds.
fn busy(tables: &[Table], link: &str) -> [f64; 2] {
    let series = tables.iter().find(|table| table.name == "series").expect("a table");
    let column = |name| series.column(name).expect("a column");
    let (times, links, metrics, values) = (column("t_s"), column("link"), column("metric"), column("value"));
    let number = |data: &trace::Data, row| data.text(row).parse::<f64>().expect("a number");
    let rows = (0..times.len()).filter(|row| links.text(*row) == link);
    let busy: Vec<f64> = rows
        .filter(|row| metrics.text(*row) == "throughput_bit_s" && number(values, *row) > 0.0)
        .map(|row| number(times, row))
        .collect();
    [*busy.first().expect("it carries something"), *busy.last().expect("it carries something")]
}

/// The client joins the first address of the server from its second one, and reaches it over the second path.
#[test]
fn a_path_that_joins_carries_a_subflow_to_the_first_address_of_the_server() {
    let sets = [("duration", "6s"), ("event.1.at", "2s"), ("event.2.at", "2s")];
    let Some(output) = shipped("path-join", &sets) else { return };
    let tables = &output.tables;
    let found = subflows(tables);
    let [(first, _), (second, sent)] = &found[..] else { panic!("two subflows: {found:?}") };
    assert_eq!((&**first, &**second), ("beam1", "beam2"));
    let carried = ["beam2.up", "beam2.down"].map(|link| number(tables, ("links", link), "bytes"));
    assert!(*sent > 20e3 && carried[0] > *sent, "{sent} bytes of payload, {carried:?} on the link");
    assert!(carried[1] > 1e3, "the answers of the server take the same path: {carried:?}");
    assert!(busy(tables, "beam2.up")[0] >= 2.0, "not before its address is there");
}

/// In the other direction: the server sends over the path of the address that has joined it, until that address leaves.
#[test]
fn a_path_that_is_removed_leaves_its_data_to_the_other() {
    let sets = [
        ("duration", "6s"),
        ("flow.upload.from", "server"),
        ("flow.upload.to", "terminal"),
        ("flow.upload.opened_by", "receiver"),
        ("event.0.at", "3500ms"),
        ("event.1.at", "3500ms"),
    ];
    let Some(output) = shipped("path-removal", &sets) else { return };
    let tables = &output.tables;
    let found = subflows(tables);
    let [(first, _), (second, sent)] = &found[..] else { panic!("two subflows: {found:?}") };
    assert_eq!((&**first, &**second), ("beam1", "beam2"));
    let carried = ["beam2.down", "beam2.up"].map(|link| number(tables, ("links", link), "bytes"));
    assert!(*sent > 20e3 && carried[0] > *sent && carried[1] > 1e3, "{sent} bytes, {carried:?}");
    let ([from, until], last) = (busy(tables, "beam2.down"), busy(tables, "beam1.down")[1]);
    assert!(from < 2.5 && until <= 4.0, "busy from {from} to {until} s");
    assert!(last > 5.0, "the first path carries on: {last}");
}
