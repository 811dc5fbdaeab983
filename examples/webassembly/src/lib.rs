//! A scenario in, its tables out, as text: what a page or Node needs of the laboratory.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use lab::RunOptions;
use scenario::{Document, Registries};

/// Runs the scenario under its first seed. Each table is its name, a line of column names, and a line per row, with
/// tabs between cells and an empty line behind it.
///
/// # Errors
/// The diagnostics of the scenario, or what went wrong in the run.
pub fn tables(text: &str) -> Result<String, String> {
    let document =
        Document::parse(text, "scenario.toml", &[], &Registries::builtin()).map_err(|e| e.to_string())?;
    // WebAssembly has no threads here.
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let never = AtomicBool::new(false);
    let output =
        lab::run_on(&lab::Simulator, &document, &options, &|_, _| (), &never).map_err(|e| e.to_string())?;
    Ok(output.tables.iter().map(table).collect())
}

fn table(table: &trace::Table) -> String {
    let names: Vec<_> = table.columns.iter().map(|column| &*column.name).collect();
    let mut told = format!("{}\n{}\n", table.name, names.join("\t"));
    let columns: Vec<_> = names.iter().filter_map(|name| table.column(name)).collect();
    for row in 0..columns.first().map_or(0, |column| column.len()) {
        let cells: Vec<_> = columns.iter().map(|column| column.text(row)).collect();
        writeln!(told, "{}", cells.join("\t")).expect("a String takes all");
    }
    told + "\n"
}

/// The functions that JavaScript calls. Text crosses byte by byte: slow, but without a raw pointer on either side.
#[cfg(target_family = "wasm")]
mod exports {
    use std::sync::Mutex;

    /// The scenario before the run, its tables afterwards.
    static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    fn held() -> std::sync::MutexGuard<'static, Vec<u8>> {
        TEXT.lock().expect("one thread")
    }

    /// Appends one byte to the scenario.
    #[unsafe(no_mangle)]
    pub extern "C" fn push(byte: u8) {
        held().push(byte);
    }

    /// Runs the scenario; 1 if there are tables, 0 if there is the text of an error.
    #[unsafe(no_mangle)]
    pub extern "C" fn run() -> u32 {
        let text = std::mem::take(&mut *held());
        let outcome =
            String::from_utf8(text).map_err(|e| e.to_string()).and_then(|text| crate::tables(&text));
        let succeeded = outcome.is_ok();
        *held() = outcome.unwrap_or_else(|error| error).into_bytes();
        u32::from(succeeded)
    }

    /// Bytes of the result.
    #[unsafe(no_mangle)]
    pub extern "C" fn length() -> usize {
        held().len()
    }

    /// One byte of the result; 0 behind its end.
    #[unsafe(no_mangle)]
    pub extern "C" fn byte(index: usize) -> u8 {
        held().get(index).copied().unwrap_or(0)
    }
}
