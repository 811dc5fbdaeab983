//! The effect of the scheduler on a transfer over unequal paths.

use trace::SeriesKey;

use std::collections::BTreeSet;

use super::*;

const SEEDS: u64 = 5;

/// A path: rate in Mbit/s, one-way delay in ms, queue, probability of loss.
type PathRow = (u64, u64, &'static str, f64);

/// 20 Mbit/s with 600 ms of round trip and 5 Mbit/s with 60 ms, with short queues.
const LONG_IS_WIDE: [PathRow; 2] = [(20, 300, "30p", 0.001), (5, 30, "30p", 0.001)];
/// 5 Mbit/s with 600 ms of round trip and 20 Mbit/s with 50 ms.
const LONG_IS_NARROW: [PathRow; 2] = [(5, 300, "100p", 0.001), (20, 25, "100p", 0.001)];

/// 2 MB over these paths; `extra` are further keys of the transport.
fn transfer(paths: &[PathRow], scheduler: &str, extra: &str) -> String {
    let path = |(i, (rate, delay, queue, loss)): (usize, &PathRow)| {
        format!(
            "[[path]]\nname = \"p{i}\"\nboth = {{ rate = \"{rate}Mbit/s\", delay = \"{delay}ms\", \
             queue = \"{queue}\", loss = {{ kind = \"packet\", probability = {loss} }} }}\n"
        )
    };
    let paths: String = paths.iter().enumerate().map(path).collect();
    format!(
        "name = \"unequal paths\"\nduration = \"120s\"\n{paths}\
         [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
         app = {{ kind = \"bulk\", size = \"2MB\" }}\n\
         transport = {{ kind = \"mptcp\", profile = \"linux-minrtt\", scheduler = \"{scheduler}\"{extra} }}\n"
    )
}

fn fixed(buffer: &str) -> String {
    format!(", receive_buffer = \"{buffer}\", receive_buffer_max = \"{buffer}\"")
}

/// Means over the seeds of the duration in seconds and of the out-of-order bytes.
fn means(text: &str) -> (f64, f64) {
    means_over(SEEDS, text)
}

/// `means` over this number of seeds.
fn means_over(seeds: u64, text: &str) -> (f64, f64) {
    let flows = (1..=seeds).map(|seed| {
        let flow = run(text, seed, NOTHING).flows.remove(0);
        assert!(flow.completed, "seed {seed}: {text}");
        ((flow.end - flow.start).as_secs_f64(), flow.ofo.mean)
    });
    let (duration, reordering) = flows.fold((0.0, 0.0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
    (duration / seeds as f64, reordering / seeds as f64)
}

/// The purpose of both: a receive buffer far below the 1.5 MB that the long path could hold is not blocked by what is
/// on its way there. Twenty seeds: over five the luck of a scheduler is 2 % of the order.
#[test]
fn blest_and_ecf_do_not_block_a_small_buffer() {
    for buffer in ["64KiB", "128KiB", "256KiB"] {
        let (duration, reordering) = means_over(20, &transfer(&LONG_IS_WIDE, "minrtt", &fixed(buffer)));
        for scheduler in ["blest", "ecf"] {
            let (d, r) = means_over(20, &transfer(&LONG_IS_WIDE, scheduler, &fixed(buffer)));
            assert!(d <= duration, "{scheduler}, {buffer}: {d} s, minrtt {duration} s");
            assert!(r < reordering, "{scheduler}, {buffer}: {r} B, minrtt {reordering} B");
        }
    }
}

/// With the buffers of the profile and a fast path that is also the wide one, and so for those that queue there: no slower, and
/// in better order. Twenty seeds: over five the luck of a scheduler is 2 %.
#[test]
fn waiting_for_a_fast_and_wide_path_is_worth_it() {
    let (duration, reordering) = means_over(20, &transfer(&LONG_IS_NARROW, "minrtt", ""));
    for scheduler in ["blest", "ecf", "otias", "sttf"] {
        let (d, r) = means_over(20, &transfer(&LONG_IS_NARROW, scheduler, ""));
        assert!(d <= 1.01 * duration, "{scheduler}: {d} s, minrtt {duration} s");
        assert!(r < reordering, "{scheduler}: {r} B, minrtt {reordering} B");
    }
}

/// The purpose of the remedies of minRTT/RP.
#[test]
fn penalisation_helps_where_the_receive_buffer_binds() {
    for buffer in ["128KiB", "256KiB"] {
        let (plain, _) = means(&transfer(&LONG_IS_WIDE, "minrtt", &fixed(buffer)));
        let (helped, _) = means(&transfer(&LONG_IS_WIDE, "minrtt_rp", &fixed(buffer)));
        assert!(helped < 0.8 * plain, "{buffer}: {helped} s, minrtt {plain} s");
    }
}

/// A second path that loses much costs nothing, and adds nothing either.
#[test]
fn redundant_is_as_good_as_the_best_path_alone() {
    let clean: PathRow = (10, 20, "100p", 0.0);
    let (alone, _) = means(&transfer(&[clean], "redundant", ""));
    for lossy in [(10, 20, "100p", 0.05), (10, 100, "100p", 0.03), (1, 300, "20p", 0.01)] {
        let (both, _) = means(&transfer(&[clean, lossy], "redundant", ""));
        assert!(both <= 1.03 * alone, "{both} s, alone {alone} s, beside {lossy:?}");
        assert!(both >= 0.97 * alone, "{both} s, alone {alone} s, beside {lossy:?}: copies are not goodput");
    }
}

/// Two paths of which each loses much hide each other's losses.
#[test]
fn redundant_hides_losses() {
    let lossy: PathRow = (10, 50, "100p", 0.03);
    let (alone, _) = means(&transfer(&[lossy], "redundant", ""));
    let (both, _) = means(&transfer(&[lossy; 2], "redundant", ""));
    assert!(both < 0.9 * alone, "{both} s, alone {alone} s");
}

/// Every scheduler delivers everything over such paths, also those that wait, queue or copy.
#[test]
fn every_scheduler_completes() {
    for row in schedulers::Registry::builtin().iter() {
        for buffer in ["16KiB", "4MiB"] {
            let record = run(&transfer(&LONG_IS_WIDE, row.name, &fixed(buffer)), 1, NOTHING);
            assert!(record.flows[0].completed, "{}, {buffer}", row.name);
        }
    }
}

/// The state of schedulers is in the series, of the subflow that it is about or of the first one.
#[test]
fn series_tell_what_schedulers_know() {
    let keys = |scheduler: &str, metric: &str| -> BTreeSet<SeriesKey> {
        let series = checked(&transfer(&LONG_IS_NARROW, scheduler, ""), 1).series;
        (0..series.len()).filter(|i| series.metric[*i] == metric).map(|i| series.key[i]).collect()
    };
    let first = BTreeSet::from([SeriesKey::Subflow(0, 0, 0)]);
    let subflows = BTreeSet::from([SeriesKey::Subflow(0, 0, 0), SeriesKey::Subflow(0, 0, 1)]);
    assert_eq!(keys("blest", "lambda"), first);
    assert_eq!(keys("ecf", "waiting"), first);
    assert_eq!(keys("minratio", "avg_pacing_rate_bit_s"), subflows);
    assert!(keys("espc", "cap_segments").is_subset(&subflows) && !keys("espc", "cap_segments").is_empty());
    assert!(keys("minrtt", "lambda").is_empty());
}
