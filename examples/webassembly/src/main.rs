//! The same on the machine itself: `cargo run -- FILE` prints the tables of a scenario.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: webassembly SCENARIO.toml");
        return ExitCode::from(2);
    };
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"));
    match text.and_then(|text| webassembly::tables(&text)) {
        Ok(tables) => {
            print!("{tables}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
