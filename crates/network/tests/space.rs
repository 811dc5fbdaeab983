//! Transports for space links in whole networks: the shipped scenario shows what its comment promises.

use std::sync::atomic::AtomicBool;

use network::{Observe, World};
use scenario::{Document, Registries};
use trace::RunRecord;

/// The scenario that is shipped, not a copy of it.
fn shipped(sets: &[(&str, &str)], seed: u64) -> RunRecord {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/space-transports.toml");
    let text = std::fs::read_to_string(file).expect("a shipped scenario");
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let registries = Registries::builtin();
    let document = Document::parse(&text, file, &sets, &registries).unwrap_or_else(|e| panic!("{e}"));
    let observe = Observe { series: false, trace: false };
    let world = World::new(&document.scenario, seed, observe);
    world.run(&AtomicBool::new(false)).expect("not cancelled")
}

/// Goodputs in bit/s and loads of the return paths in bit/s: TCP, STP, SCPS-TP with Vegas and at a fixed rate.
fn figures(record: &RunRecord) -> ([f64; 4], [f64; 4]) {
    let seconds = record.end.as_secs_f64();
    let flows = [0, 1, 2, 3].map(|i| record.flows[i].delivered.as_f64() * 8.0 / seconds);
    let back = [0, 1, 2, 3].map(|i| record.links[2 * i + 1].bytes.as_f64() * 8.0 / seconds);
    (flows, back)
}

/// One packet of 1500 bytes in 84 is spoilt. TCP is left with the square-root law, 237 kbit/s; a fixed rate loses what
/// is lost; and the return paths carry little or next to nothing.
#[test]
fn over_bit_errors_a_sender_that_takes_them_for_corruption_keeps_the_path() {
    for seed in 1..=4 {
        let (goodput, back) = figures(&shipped(&[], seed));
        let [tcp, stp, vegas, fixed] = goodput;
        assert!((0.1e6..0.3e6).contains(&tcp) && (0.1e6..0.3e6).contains(&stp), "{goodput:?}");
        assert!((0.7e6..1.5e6).contains(&vegas), "{goodput:?}");
        // 1.9 Mbit/s on the wire; the run begins with a round trip and a half of silence.
        let sent = 1.9e6 * 1460.0 / 1500.0 * (1.0 - 1.5 * 0.55 / 120.0);
        assert!((0.975..0.992).contains(&(fixed / sent)), "{goodput:?}");
        assert!(back[1] < 2.5e3 && back[2] < 2.5e3 && back[3] < 2.5e3 && back[0] > 4e3, "{back:?}");
    }
}

#[test]
fn without_losses_all_use_the_path() {
    let record = shipped(&[("path.tcp.both.loss", "none")], 1);
    let (goodput, back) = figures(&record);
    for (i, goodput) in goodput.iter().enumerate() {
        assert!(*goodput > 0.8 * 2e6 * 1460.0 / 1500.0, "flow {i}: {goodput}");
    }
    // An ACK for every second segment against five STATs, or fewer than four ACKs, per second.
    assert!(back[0] > 15.0 * back[1] && back[0] > 25.0 * back[3], "{back:?}");
    assert_eq!(
        (record.links[4].drops_queue, record.links[6].drops_queue),
        (0, 0),
        "SCPS-TP overflows nothing"
    );
}
