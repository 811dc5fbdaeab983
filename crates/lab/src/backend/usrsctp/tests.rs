//! Columns and refusals. Runs are tested from outside (`tests/usrsctp.rs`).

use scenario::{Document, Registries};
use trace::metrics::TABLES;

use super::*;

const TEXT: &str = r#"
duration = "5s"
path = [{ name = "a", both = { rate = "4Mbit/s", delay = "40ms" } }]
[[flow]]
name = "f"
from = "terminal"
to = "server"
app = { kind = "bulk", size = "1452000B" }
[flow.transport]
kind = "sctp"
profile = "freebsd"
timer_defects = "both"
"#;

fn refused(text: &str) -> Vec<&'static str> {
    let parsed = Document::parse(text, "test.toml", &[], &Registries::builtin());
    let scenario = parsed.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario;
    Usrsctp::new(PathBuf::new()).unsupported(&scenario).iter().map(|one| one.key).collect()
}

#[test]
fn keys_without_counterpart_are_refused() {
    assert_eq!(refused(TEXT), [""; 0]);
    let without = TEXT.replace("1452000B", "1MB") + "idle_decay = true\n";
    assert_eq!(refused(&without), ["transport.idle_decay", "app"]);
    let tcp = TEXT.split("[flow.transport]").next().unwrap().to_owned() + "transport = { kind = \"tcp\" }";
    assert_eq!(refused(&tcp), ["transport.kind"]);
    // One key in the place of all that another profile decides.
    let rfc = TEXT.replace("profile = \"freebsd\"\ntimer_defects = \"both\"\n", "");
    assert_eq!(refused(&rfc), ["transport.profile"]);
    let burst = TEXT.to_owned() + "burst = \"packets\"\n";
    assert_eq!(refused(&burst), ["transport.burst"]);
}

#[test]
fn measured_columns_are_specified_and_flags_are_all_measured() {
    assert!(MEASURED.unspecified().is_empty(), "{:?}", MEASURED.unspecified());
    for table in TABLES.iter().filter(|table| MEASURED.has_table(table)) {
        for column in table.columns.iter().filter(|column| column.kind == trace::Kind::Flag) {
            assert!(MEASURED.has(table, column), "{}.{} cannot be empty", table.name, column.name);
        }
    }
}
