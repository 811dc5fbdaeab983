//! `cargo run --release`: our algorithms beside the usual ones.

use std::path::Path;

use own_algorithms::{numbers, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.toml");
    println!("{:<10} {:<10} {:>14} {:>14}", "congestion", "scheduler", "completion [s]", "share of LTE");
    for (congestion, scheduler) in
        [("scalable", "in-order"), ("scalable", "minrtt"), ("newreno", "in-order"), ("newreno", "minrtt")]
    {
        let changes = [
            ("flow.upload.transport.congestion", congestion),
            ("flow.upload.transport.scheduler", scheduler),
        ];
        let output = run(&file, &changes)?;
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        let completion = mean(numbers(&output, "flows", "completion_s"));
        let lte = mean(numbers(&output, "subflows", "share").chunks(2).map(|shares| shares[1]).collect());
        println!("{congestion:<10} {scheduler:<10} {completion:>14.2} {lte:>14.3}");
    }
    Ok(())
}
