//! Independent jobs over threads: an index is all that they share.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use network::Watch;

/// Calls `job` with `0..count`, each once, on up to `workers` threads. The results are in the order of the index;
/// `None` where `watch` was stopped before the job began.
pub(crate) fn run_all<T: Send>(
    count: usize,
    workers: NonZeroUsize,
    watch: &dyn Watch,
    job: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut finished = Vec::new();
        while !watch.is_stopped() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            finished.push((index, job(index)));
        }
        finished
    };
    let mut results: Vec<Option<T>> = Vec::new();
    results.resize_with(count, || None);
    thread::scope(|scope| {
        // This thread is one of the workers: most calls of a study have no other.
        let handles: Vec<_> = (1..workers.get().min(count)).map(|_| scope.spawn(work)).collect();
        work().into_iter().for_each(|(index, result)| results[index] = Some(result));
        for handle in handles {
            match handle.join() {
                Ok(finished) => {
                    finished.into_iter().for_each(|(index, result)| results[index] = Some(result))
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    results
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn workers(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn every_job_once_and_in_order_for_any_number_of_workers() {
        for n in [1, 2, 7, 100] {
            let results = run_all(23, workers(n), &AtomicBool::new(false), |i| i * i);
            assert_eq!(results, (0..23).map(|i| Some(i * i)).collect::<Vec<_>>(), "{n} workers");
        }
        assert!(run_all(0, workers(3), &AtomicBool::new(false), |i| i).is_empty());
    }

    #[test]
    fn nothing_begins_after_the_stop() {
        let stop = AtomicBool::new(false);
        let results = run_all(10, workers(1), &stop, |i| stop.store(i == 3, Ordering::Relaxed));
        assert_eq!(results.iter().flatten().count(), 4);
    }
}
