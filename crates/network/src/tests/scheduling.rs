//! What the choice of the scheduler does to a transfer over unequal paths.

use super::*;

const SEEDS: u64 = 5;

/// 2 MB over 20 Mbit/s with 600 ms of round trip and 5 Mbit/s with 60 ms, with short queues and a receive buffer that
/// is far below the 1.5 MB that the long path could hold.
fn unequal(scheduler: &str, buffer: &str) -> String {
    let link = |rate: u64, delay: u64| {
        format!(
            "{{ rate = \"{rate}Mbit/s\", delay = \"{delay}ms\", queue = \"30p\", \
             loss = {{ kind = \"packet\", probability = 0.001 }} }}"
        )
    };
    format!(
        "name = \"unequal paths\"\nduration = \"120s\"\n\
         [[path]]\nname = \"geo\"\nboth = {}\n[[path]]\nname = \"lte\"\nboth = {}\n\
         [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
         app = {{ kind = \"bulk\", size = \"2MB\" }}\n\
         transport = {{ kind = \"mptcp\", scheduler = \"{scheduler}\", \
         receive_buffer = \"{buffer}\", receive_buffer_max = \"{buffer}\" }}\n",
        link(20, 300),
        link(5, 30)
    )
}

/// Means over the seeds of the duration in seconds and of the out-of-order bytes.
fn duration_and_reordering(scheduler: &str, buffer: &str) -> (f64, f64) {
    let text = unequal(scheduler, buffer);
    let flows = (1..=SEEDS).map(|seed| {
        let flow = run(&text, seed, NOTHING).flows.remove(0);
        assert!(flow.completed, "{scheduler}, {buffer}, seed {seed}");
        ((flow.end - flow.start).as_secs_f64(), flow.ofo_mean)
    });
    let (duration, reordering) = flows.fold((0.0, 0.0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
    (duration / SEEDS as f64, reordering / SEEDS as f64)
}

/// The purpose of both: a small receive buffer is not blocked by what is on its way over the long path.
#[test]
fn blest_and_ecf_do_not_block_a_small_buffer() {
    for buffer in ["64KiB", "128KiB", "256KiB"] {
        let (duration, reordering) = duration_and_reordering("minrtt", buffer);
        for scheduler in ["blest", "ecf"] {
            let (d, r) = duration_and_reordering(scheduler, buffer);
            assert!(d <= duration, "{scheduler}, {buffer}: {d} s, minrtt {duration} s");
            assert!(r < reordering, "{scheduler}, {buffer}: {r} B, minrtt {reordering} B");
        }
    }
}

/// Every scheduler delivers everything over such paths, also those that may wait.
#[test]
fn every_scheduler_completes() {
    for row in schedulers::Registry::builtin().iter() {
        for buffer in ["16KiB", "4MiB"] {
            let record = run(&unequal(row.name, buffer), 1, NOTHING);
            assert!(record.flows[0].completed, "{}, {buffer}", row.name);
        }
    }
}
