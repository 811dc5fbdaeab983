//! Every shipped scenario and every case of the shipped studies and reproductions gives the results on record, to
//! the byte. A difference means that MODEL_VERSION must be raised, or that a change meant to keep results did not.
//!
//! `digests/record.json` has the digest of the tables of each case under seed 1, by study in the order of its cases;
//! `digests/columns.json` names the columns and series that the digests cover: those added later are not compared.
//! `digests/quick.jsonl` has the cases that every test run repeats. `make digests` repeats all of them: it sets
//! `ROPEWALK_CASES` to the list that `tools/digests.py` has written. With `ROPEWALK_BLESS=1` that list is recorded. Without a list
//! `ROPEWALK_BLESS=1` renews the digests of the quick cases alone, and `ROPEWALK_BLESS=listed` those of a list of some cases.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cpu_time::ThreadTime;
use lab::RunOptions;
use scenario::{Document, Registries};
use serde_json::Value;
use sha2::{Digest, Sha256};
use trace::Table;

/// A shipped scenario, and the first case of a study, is quick up to this many milliseconds of one core.
const QUICK_MS: u128 = 400;

/// Study or scenario to the digests of its cases.
type Record = BTreeMap<String, Vec<String>>;

/// Table to the names that a digest covers: columns, and in the table `series` values of `metric` as `metric:NAME`.
type Covered = BTreeMap<String, Vec<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn record(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests").join(name)
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let text = std::fs::read_to_string(record(name)).unwrap_or_else(|e| panic!("digests/{name}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("digests/{name}: {e}"))
}

fn write(name: &str, text: &str) {
    std::fs::write(record(name), text).unwrap_or_else(|e| panic!("digests/{name}: {e}"));
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a map of strings") + "\n"
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string in the list of cases")
}

/// The tables of one case under seed 1, with time series where the case asks for them.
fn tables(case: &Value) -> Vec<Table> {
    let path = root().join(text(&case["scenario"]));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let sets = case["set"].as_array().expect("a list of overrides");
    let sets: Vec<_> = sets.iter().map(|set| (text(&set[0]).to_owned(), text(&set[1]).to_owned())).collect();
    let registries = Registries::builtin();
    let document = Document::parse(&source, &path.to_string_lossy(), &sets, &registries)
        .unwrap_or_else(|e| panic!("{}: {e}", case["case"]));
    let series = case["series"] == true;
    let options = RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series, trace: false, capture: None };
    let never = AtomicBool::new(false);
    let output = lab::run(&document.scenario, &options, &|_, _| (), &never);
    output.unwrap_or_else(|e| panic!("{}: {e}", case["case"])).tables
}

/// The content of tables, for a record.
fn cover(covered: &mut Covered, tables: &[Table]) {
    for table in tables {
        let names = covered.entry(table.name.into()).or_default();
        let mut add = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        table.columns.iter().for_each(|column| add(column.name.to_string()));
        if let Some(metrics) = table.column("metric") {
            (0..metrics.len()).for_each(|row| add(format!("metric:{}", metrics.text(row))));
        }
    }
}

/// SHA-256 over the covered cells as text, row by row.
fn digest(covered: &Covered, tables: &[Table]) -> String {
    let mut hash = Sha256::new();
    for table in tables {
        let Some(names) = covered.get(table.name) else { continue };
        hash.update(table.name);
        let column = |name: &String| table.column(name).unwrap_or_else(|| panic!("no {}.{name}", table.name));
        let columns: Vec<_> = names.iter().filter(|name| !name.starts_with("metric:")).map(column).collect();
        let metrics = table.column("metric");
        for row in 0..columns.first().map_or(0, |data| data.len()) {
            if metrics.is_some_and(|data| !names.contains(&format!("metric:{}", data.text(row)))) {
                continue;
            }
            let cells: Vec<String> = columns.iter().map(|data| data.text(row)).collect();
            hash.update(cells.join("\t"));
            hash.update("\n");
        }
    }
    let mut told = String::new();
    hash.finalize().iter().take(8).for_each(|byte| write!(told, "{byte:02x}").expect("a String"));
    told
}

/// Does `work` for each case on all cores, in the order of the cases.
fn each<T: Send>(cases: &[Value], work: impl Fn(&Value) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let outcome = work(case);
                    done.lock().expect("no case has panicked").push((index, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no case has panicked");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn cases() -> Vec<Value> {
    let path = std::env::var("ROPEWALK_CASES").map_or_else(|_| record("quick.jsonl"), PathBuf::from);
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    lines.lines().map(|line| serde_json::from_str(line).expect("a case per line")).collect()
}

fn index(case: &Value) -> usize {
    case["index"].as_u64().expect("the place of a case in its study") as usize
}

/// Runs the listed cases and writes the record anew.
fn bless(cases: &[Value]) {
    let shipped: Vec<Value> = cases.iter().filter(|case| case["series"] == true).cloned().collect();
    let mut covered = Covered::new();
    each(&shipped, tables).iter().for_each(|tables| cover(&mut covered, tables));
    let found = each(cases, |case| {
        let start = ThreadTime::now();
        (digest(&covered, &tables(case)), start.elapsed().as_millis())
    });
    let (mut told, mut quick) = (Record::new(), String::new());
    for (case, (digest, ms)) in cases.iter().zip(found) {
        told.entry(text(&case["study"]).into()).or_default().push(digest);
        if index(case) == 0 && ms <= QUICK_MS {
            writeln!(quick, "{case}").expect("a String");
        }
    }
    write("quick.jsonl", &quick);
    write("record.json", &pretty(&told));
    write("columns.json", &pretty(&covered));
}

/// Runs the listed cases and writes their digests into the record, which keeps all others and its columns.
fn renew(cases: &[Value]) {
    let (covered, mut told): (Covered, Record) = (read("columns.json"), read("record.json"));
    let found = each(cases, |case| digest(&covered, &tables(case)));
    for (case, digest) in cases.iter().zip(found) {
        let study = told.entry(text(&case["study"]).into()).or_default();
        study.resize(study.len().max(index(case) + 1), String::new());
        study[index(case)] = digest;
    }
    write("record.json", &pretty(&told));
}

#[test]
fn results_are_those_on_record() {
    let cases = cases();
    match (std::env::var("ROPEWALK_BLESS").as_deref(), std::env::var("ROPEWALK_CASES")) {
        (Ok("1"), Ok(_)) => return bless(&cases),
        (Ok("1"), Err(_)) | (Ok("listed"), Ok(_)) => return renew(&cases),
        _ => {}
    }
    let (covered, record): (Covered, Record) = (read("columns.json"), read("record.json"));
    let found = each(&cases, |case| digest(&covered, &tables(case)));
    let recorded = |case: &Value| record.get(text(&case["study"])).and_then(|study| study.get(index(case)));
    let differs = |(case, found): &(&Value, &String)| recorded(case) != Some(*found);
    let differing: Vec<_> = cases.iter().zip(&found).filter(differs).map(|(case, _)| &case["case"]).collect();
    assert!(differing.is_empty(), "{} of {} differ: {differing:#?}", differing.len(), cases.len());
}
