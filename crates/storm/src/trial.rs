//! One scenario: it is parsed, shown, run in several ways, and everything that must hold is looked at.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use cpu_time::ProcessTime;
use lab::{Output, RunError, RunOptions};
use trace::Table;

use crate::case::{Case, parse};
use crate::invariants::{self, Verdict};

/// Outcome of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Everything holds; events and packet hops of all runs.
    Passed {
        /// Events taken out of the queues.
        events: u64,
        /// Packets that crossed a link.
        packet_hops: u64,
    },
    /// It took longer than allowed and was stopped.
    Stopped,
    /// Something does not hold.
    Found(String),
}

impl Outcome {
    /// The message without numbers and names: equal for two findings with one cause.
    pub fn kind(&self) -> Option<String> {
        let Self::Found(message) = self else { return None };
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let words = message.split_whitespace().filter(|word| !word.contains(digits) && !word.contains('/'));
        Some(words.take(9).collect::<Vec<_>>().join(" "))
    }
}

/// CPU time that a run may take after it was told to stop.
const TO_STOP: Duration = Duration::from_secs(60);
/// Between two looks at the clock of the CPU.
const LOOK: Duration = Duration::from_millis(25);

/// Runs `case` and checks it, for at most about `allowed` of the CPU time of the process: a busy machine stops nothing.
///
/// # Panics
/// If the run goes on for a minute of CPU time after it was told to stop: that is a finding, too, and nothing can be done
/// after it.
pub fn judge(case: &Case, allowed: Duration) -> Outcome {
    let cancel = Arc::new(AtomicBool::new(false));
    let (done, wait) = mpsc::channel();
    let worker = {
        let (case, cancel) = (case.clone(), Arc::clone(&cancel));
        thread::spawn(move || {
            // Sending fails when the receiver has given up; the outcome is then not needed.
            let _ = done.send(outcome(&case, &cancel));
        })
    };
    let outcome = within(&wait, allowed).or_else(|_| {
        cancel.store(true, Ordering::Relaxed);
        within(&wait, TO_STOP)
    });
    match (outcome, worker.is_finished()) {
        (Ok(outcome), _) => outcome,
        (Err(_), true) => Outcome::Found("the check itself has failed: see the panic above".into()),
        (Err(_), false) => panic!("the run does not stop:\n{}", case.toml),
    }
}

/// Waits for `allowed` of CPU time.
fn within<T>(wait: &mpsc::Receiver<T>, allowed: Duration) -> Result<T, mpsc::RecvTimeoutError> {
    let start = ProcessTime::now();
    loop {
        match wait.recv_timeout(LOOK) {
            Err(mpsc::RecvTimeoutError::Timeout) if start.elapsed() < allowed => {}
            other => return other,
        }
    }
}

fn outcome(case: &Case, cancel: &AtomicBool) -> Outcome {
    let mut work = (0, 0);
    match checks(case, cancel, &mut work) {
        Ok(()) => Outcome::Passed { events: work.0, packet_hops: work.1 },
        Err(Stop::Cancelled) => Outcome::Stopped,
        Err(Stop::Found(message)) => Outcome::Found(message),
    }
}

/// Why there is no verdict, or a bad one.
enum Stop {
    Cancelled,
    Found(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Found(message)
    }
}

fn checks(case: &Case, cancel: &AtomicBool, work: &mut (u64, u64)) -> Result<(), Stop> {
    round_trip(case)?;
    let seeds: Vec<u64> = case.document.scenario.seeds.iter().copied().take(2).collect();
    // Drawn values that contradict each other fail the run with a message: there is nothing to check.
    let Ok(scenario) = case.document.under(seeds[0]) else { return Ok(()) };
    let scenario = &*scenario;
    let mut run = |seeds: &[u64], jobs: usize, series: bool, trace: bool| -> Result<Output, Stop> {
        let jobs = NonZeroUsize::new(jobs).expect("a worker");
        let options = RunOptions { seeds: seeds.to_vec(), jobs, series, trace, capture: None };
        let output = lab::run(scenario, &options, &|_, _| (), cancel).map_err(|error| match error {
            RunError::Cancelled => Stop::Cancelled,
            RunError::Failed { message, .. } => Stop::Found(message),
            other => Stop::Found(other.to_string()),
        })?;
        work.0 += output.totals.events.unwrap_or_default();
        work.1 += output.totals.packet_hops;
        Ok(output)
    };
    // Time series of many samples say nothing that shorter ones do not.
    let samples = scenario.duration.0 / scenario.record_interval.0.max(1);
    let series = samples < 2000;
    let plain = run(&seeds, 1, series, false)?;
    invariants::check(scenario, &plain.tables)?;
    let threads = run(&seeds, 2, series, true)?;
    same(&plain.tables, &threads.tables, "two workers and a trace")?;
    // A single seed that records no series would only repeat the first run.
    if series || seeds.len() > 1 {
        let last = seeds.len() - 1;
        let alone = run(&seeds[last..], 1, false, false)?;
        last_alike(&plain.tables, &alone.tables, seeds[last])?;
    }
    Ok(())
}

/// The replication of the last seed has the same figures without those before it and without time series.
fn last_alike(all: &[Table], alone: &[Table], seed: u64) -> Verdict {
    let seed = seed.to_string();
    for (all, alone) in all.iter().zip(alone).filter(|(table, _)| table.name != "series") {
        let run = &all.column("run").ok_or_else(|| format!("no column {}.run", all.name))?;
        let rows: Vec<usize> = (0..run.len()).filter(|row| run.text(*row) == seed).collect();
        for (column, last) in all.columns.iter().zip(&alone.columns) {
            let here = rows.iter().map(|row| column.data.text(*row));
            let there = (0..last.data.len()).map(|row| last.data.text(row));
            if column.name != last.name || !here.eq(there) {
                return Err(format!(
                    "results change without other seeds and time series: {}.{}",
                    all.name, column.name
                ));
            }
        }
    }
    if all.len() == alone.len() { Ok(()) } else { Err("another number of tables without time series".into()) }
}

/// Tables of one scenario are the same to the byte. A figure that is not a number would differ from itself: it is
/// found before.
fn same(one: &[Table], other: &[Table], what: &str) -> Verdict {
    for (one, other) in one.iter().zip(other) {
        let column = one.columns.iter().zip(&other.columns).find(|(one, other)| one != other);
        if let Some((column, _)) = column {
            return Err(format!("results change with {what}: {}.{}", one.name, column.name));
        }
    }
    if one.len() == other.len() { Ok(()) } else { Err(format!("another number of tables with {what}")) }
}

/// Message about a whole scenario that is not its own expansion.
const WHOLE: &str = "the whole scenario expands to something else";

/// The expanded scenario means the same and expands to itself, with files and without.
fn round_trip(case: &Case) -> Verdict {
    let shown = case.document.to_toml();
    let again = parse(&shown).map_err(|mistakes| format!("what show prints is refused: {mistakes}"))?;
    if again.scenario != case.document.scenario {
        return Err("what show prints means something else".into());
    }
    if again.to_toml() != shown {
        return Err("what show prints expands to something else".into());
    }
    let whole = case.document.to_whole_toml();
    if whole == shown {
        // Without files it is the text that was parsed above.
        return if again.to_whole_toml() == whole { Ok(()) } else { Err(WHOLE.into()) };
    }
    match parse(&whole) {
        Ok(again) if again.to_whole_toml() == whole => Ok(()),
        Ok(_) => Err(WHOLE.into()),
        Err(mistakes) => Err(format!("the whole scenario is refused: {mistakes}")),
    }
}
