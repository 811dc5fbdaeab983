//! A congestion control and a scheduler from outside, and a scenario that names them.

pub mod in_order;
pub mod scalable;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::{Output, RunOptions};
use scenario::{Document, Registries};
use trace::Data;

/// Everything that comes with Ropewalk, and ours.
pub fn registries() -> Registries {
    let mut registries = Registries::builtin();
    registries.congestion.register(scalable::ROW);
    registries.schedulers.register(in_order::ROW);
    registries
}

/// Runs a scenario file with all its seeds. `changes` are `(key, value)` as in `ropewalk run --set`.
///
/// # Errors
/// The file cannot be read, has mistakes (each named with its line), or the run failed.
pub fn run(file: &Path, changes: &[(&str, &str)]) -> Result<Output, Box<dyn std::error::Error>> {
    let registries = registries();
    let text = std::fs::read_to_string(file)?;
    let changes: Vec<_> = changes.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let document = Document::parse(&text, &file.to_string_lossy(), &changes, &registries)?;
    let options = RunOptions {
        seeds: document.scenario.seeds.clone(),
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        series: false,
        trace: false,
        capture: None,
    };
    Ok(lab::run_on(&lab::Simulator, &document, &options, &|_, _| {}, &AtomicBool::new(false))?)
}

/// A column of numbers.
///
/// # Panics
/// If there is no such table, or no such column of numbers.
pub fn numbers(output: &Output, table: &str, column: &str) -> Vec<f64> {
    let table = output.tables.iter().find(|t| t.name == table).expect("a table that every run has");
    match table.column(column) {
        Some(Data::Real(values)) => values.iter().map(|x| x.unwrap_or(f64::NAN)).collect(),
        other => panic!("{column} is {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_runs_with_both_and_the_metered_path_comes_second() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.toml");
        let ours = run(&file, &[]).unwrap();
        let usual = run(&file, &[("flow.upload.transport.scheduler", "minrtt")]).unwrap();
        // Rows alternate: the beam is subflow 0, LTE subflow 1.
        let metered =
            |output| numbers(output, "subflows", "share").chunks(2).map(|s| s[1]).sum::<f64>() / 3.0;
        assert!(metered(&ours) < metered(&usual), "{} < {}", metered(&ours), metered(&usual));
        assert!(numbers(&ours, "flows", "completion_s").iter().all(|t| t.is_finite()), "all data arrived");
    }

    #[test]
    fn a_wrong_option_is_found_like_any_other() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.toml");
        let mistake = run(&file, &[("flow.upload.transport.congestion.a", "3")]).unwrap_err().to_string();
        assert!(mistake.contains("congestion.a") && mistake.contains("0.0001 to 1"), "{mistake}");
    }
}
