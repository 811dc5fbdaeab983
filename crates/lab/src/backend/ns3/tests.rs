//! The parser of what the program prints. The translation is tested from outside (`tests/ns3.rs`).

use scenario::{Document, Registries};
use trace::metrics::TABLES;

use super::outcome::parse;
use super::*;

const TEXT: &str = r#"
duration = "20s"
path = [{ name = "a", both = { rate = "4Mbit/s", delay = "40ms" } }]
[[flow]]
name = "f"
count = 2
from = "server"
to = "terminal"
app = { kind = "bulk", size = "1MB" }
transport = { kind = "tcp" }
"#;

/// Printed by the program with ns-3.37: the second flow was not complete after 20 s.
const PRINTED: &str = r#"{"start_s": [0, 18.75], "delivered_bytes": [1000000, 502600], "completion_s": [2.28217, null], "cpu_s": 0.030986, "packet_hops": 1634}"#;

fn scenario() -> scenario::model::Scenario {
    let parsed = Document::parse(TEXT, "test.toml", &[], &Registries::builtin());
    parsed.unwrap_or_else(|e| panic!("{e}")).scenario
}

#[test]
fn a_line_of_the_program_becomes_a_record() {
    let replication = parse(PRINTED, &scenario(), 7).unwrap();
    assert_eq!(replication.cpu, Some(std::time::Duration::from_micros(30_986)));
    let record = replication.record;
    assert_eq!((record.seed, record.packet_hops, record.end.0), (7, 1_634, 20_000_000_000));
    let [done, open] = record.flows.as_slice() else { panic!("two flows") };
    assert_eq!((done.start.0, done.end.0, done.completed), (0, 2_282_170_000, true));
    assert_eq!((open.start.0, open.end.0, open.completed), (18_750_000_000, 20_000_000_000, false));
    assert_eq!([done.delivered.0, open.delivered.0], [1_000_000, 502_600]);
    assert_eq!([done.messages.len(), open.messages.len()], [1, 0]);
}

#[test]
fn what_it_does_not_print_is_an_error_that_names_it() {
    for (old, new, says) in [
        ("\"cpu_s\": 0.030986, ", "", "cpu_s is no time"),
        ("[0, 18.75]", "[0]", "1 of 2 start_s"),
        ("502600", "-1", "flow 1: delivered_bytes is no count"),
        ("2.28217", "\"soon\"", "flow 0: completion_s is no time"),
        ("}", "", "EOF"),
    ] {
        let why = parse(&PRINTED.replace(old, new), &scenario(), 7).unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn what_it_measures_is_specified_and_flags_are_all_measured() {
    assert!(MEASURED.unspecified().is_empty(), "{:?}", MEASURED.unspecified());
    for table in TABLES.iter().filter(|table| MEASURED.has_table(table)) {
        for column in table.columns.iter().filter(|column| column.kind == trace::Kind::Flag) {
            assert!(MEASURED.has(table, column), "{}.{} cannot be empty", table.name, column.name);
        }
    }
}
