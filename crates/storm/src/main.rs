//! `storm [FIRST [MANY [FOLDER]]]`: runs and judges the scenarios of the seeds from FIRST on, MANY of them or until
//! stopped; those that fail are written to FOLDER, as they are and smaller.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use storm::{Case, Grammar, Outcome, judge, minimise};

/// CPU time that a scenario may take before it is stopped. Of fifty, 49 take less, and the last would take half of the
/// time of all: only one in [`PATIENT`] is given more.
const ALLOWED: Duration = Duration::from_millis(150);
/// The same for each seed that is a multiple of [`PATIENT`].
const ALLOWED_LONG: Duration = Duration::from_secs(3);
/// Seeds between two that may take long.
const PATIENT: u64 = 100;
/// Runs for making one failure smaller.
const TRIES: usize = 600;
/// Scenarios between two lines of the report.
const REPORT: u64 = 500;

#[derive(Debug, Default)]
struct Tally {
    made: u64,
    refused: u64,
    stopped: u64,
    failed: u64,
    events: u64,
    packet_hops: u64,
    drawn: BTreeSet<String>,
}

impl Tally {
    fn report(&self, all: usize, seed: u64) -> io::Result<()> {
        writeln!(
            io::stdout(),
            "up to seed {seed}: {} scenarios, {} given up, {} stopped, {} failed; {:.1} million events, {:.1} million \
             packet hops; {} of {all} keys, options and algorithms",
            self.made,
            self.refused,
            self.stopped,
            self.failed,
            self.events as f64 / 1e6,
            self.packet_hops as f64 / 1e6,
            self.drawn.len(),
        )
    }
}

fn storm(first: u64, many: u64, folder: &Path) -> io::Result<bool> {
    let grammar = Grammar::builtin();
    let all = grammar.all();
    let mut tally = Tally::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    std::fs::create_dir_all(folder)?;
    for seed in (first..).take(usize::try_from(many).unwrap_or(usize::MAX)) {
        let Some(case) = Case::of_seed(&grammar, seed) else {
            tally.refused += 1;
            continue;
        };
        tally.made += 1;
        tally.drawn.extend(grammar.used(case.tree.as_object().expect("a table")));
        // If the process aborts, its scenario is left in this file.
        let current = folder.join(format!("current-{first}.toml"));
        std::fs::write(&current, &case.toml)?;
        let allowed = if seed % PATIENT == 0 { ALLOWED_LONG } else { ALLOWED };
        match judge(&case, allowed) {
            Outcome::Passed { events, packet_hops } => {
                tally.events += events;
                tally.packet_hops += packet_hops;
            }
            Outcome::Stopped => {
                tally.stopped += 1;
                std::fs::write(folder.join(format!("{seed}-slow.toml")), &case.toml)?;
            }
            found => {
                tally.failed += 1;
                let kind = found.kind().unwrap_or_default();
                let Outcome::Found(message) = &found else { continue };
                writeln!(io::stdout(), "seed {seed}: {message}")?;
                let told = |toml: &str| format!("# seed {seed}: {}\n{toml}", message.replace('\n', " "));
                std::fs::write(folder.join(format!("{seed}.toml")), told(&case.toml))?;
                // The second of a kind is as good as the first.
                if known.insert(kind) {
                    let smaller = folder.join(format!("{seed}-small.toml"));
                    std::fs::write(&smaller, told(&minimise(&case, TRIES, allowed).toml))?;
                    writeln!(io::stdout(), "  ropewalk run {}", smaller.display())?;
                }
            }
        }
        if tally.made % REPORT == 0 {
            tally.report(all.len(), seed)?;
        }
    }
    tally.report(all.len(), first.saturating_add(many - 1))?;
    let missing: Vec<&String> = all.difference(&tally.drawn).collect();
    if !missing.is_empty() && missing.len() < 50 {
        writeln!(io::stdout(), "not drawn: {missing:?}")?;
    }
    Ok(tally.failed == 0)
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise| given.get(at).map_or(Ok(otherwise), |text| text.parse::<u64>());
    let (Ok(first), Ok(many @ 1..)) = (number(0, 1), number(1, u64::MAX)) else {
        let _ = writeln!(io::stderr(), "storm [FIRST SEED [HOW MANY [FOLDER]]]");
        return ExitCode::from(2);
    };
    let folder = given.get(2).map_or_else(|| PathBuf::from("results/storm"), PathBuf::from);
    // One line for each panic: its message is told with the seed.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let _ = writeln!(io::stderr(), "panic at {place}");
    }));
    match storm(first, many, &folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}
