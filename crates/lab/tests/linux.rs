//! Five seconds on the kernel of this machine, where it permits them; skipped with a reason elsewhere.
#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::{Backend, Linux, RunError, RunOptions};
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

#[test]
fn two_flows_over_two_paths_of_the_kernel() {
    let skipped = |why: String| {
        // The reason stands in the output of the test.
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
    };
    let linux = Linux::new(std::env::temp_dir());
    if let Err(why) = linux.prepare() {
        return skipped(why.to_string());
    }
    let document = Document::parse(TEXT, "smoke.toml", &[], &Registries::builtin());
    let document = document.unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: true, trace: false, capture: None };
    let output = match lab::run_on(&linux, &document, &options, &|_, _| (), &AtomicBool::new(false)) {
        Ok(output) => output,
        // A machine with other work says so, and has no result.
        Err(RunError::Failed { message, .. }) if message.starts_with("not exact enough") => {
            return skipped(message);
        }
        Err(RunError::Failed { message, .. }) if message.contains("MPTCP needs") => return skipped(message),
        Err(error) => panic!("{error}"),
    };
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
