//! Bulk transfer: as much as the connection takes, by size, by duration, or to the end of the run.

use units::{BitsPerSecond, Bytes, Nanos, OptionKind, OptionSpec, SimTime};

use crate::{Algorithm, App, SenderView, Wish};

pub(crate) const ROW: Algorithm = Algorithm {
    name: "bulk",
    summary: "one transfer as fast as it goes, by size, by duration, or to the end of the run",
    source: "iperf-like transfer",
    notes: "",
    options: &[
        OptionSpec {
            name: "size",
            kind: OptionKind::Size,
            default: Some("unlimited"),
            doc: "bytes to send; the flow completes when all are delivered",
        },
        OptionSpec {
            name: "duration",
            kind: OptionKind::Duration,
            default: Some("unlimited"),
            doc: "stop writing this long after the start",
        },
        OptionSpec {
            name: "read_rate",
            kind: OptionKind::Rate,
            default: Some("unlimited"),
            doc: "rate at which the receiving application reads; the rest waits in the receive buffer",
        },
    ],
    build: |options| {
        Box::new(Bulk::new(options.size("size"), options.duration("duration"), options.rate("read_rate")))
    },
};

/// Keeps the send buffer full.
#[derive(Clone, Debug)]
pub struct Bulk {
    size: Bytes,
    duration: Nanos,
    read_rate: BitsPerSecond,
}

impl Bulk {
    /// `Bytes::MAX`, the longest duration and the largest rate stand for "no limit".
    pub fn new(size: Bytes, duration: Nanos, read_rate: BitsPerSecond) -> Self {
        Self { size, duration, read_rate }
    }
}

impl App for Bulk {
    fn poll_write(&mut self, view: &SenderView) -> Wish {
        let stop = view.stop.min(view.started + self.duration);
        let left = self.size.saturating_sub(view.written);
        if view.now >= stop {
            return Wish { write: Bytes::ZERO, close: true, wake: SimTime::NEVER };
        }
        let write = left.min(view.space);
        // With data left, the deadline must be met even if no space ever appears.
        let close = write == left && self.size != Bytes::MAX;
        Wish { write, close, wake: if close { SimTime::NEVER } else { stop } }
    }

    fn read_rate(&self) -> Option<BitsPerSecond> {
        (self.read_rate.0 != u64::MAX).then_some(self.read_rate)
    }

    fn total(&self) -> Option<Bytes> {
        (self.size != Bytes::MAX).then_some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(now: u64, written: u64, space: u64) -> SenderView {
        SenderView {
            now: SimTime::from_secs(now),
            started: SimTime::ZERO,
            stop: SimTime::from_secs(30),
            written: Bytes(written),
            space: Bytes(space),
        }
    }

    #[test]
    fn by_size_it_closes_with_the_last_byte() {
        let mut app = Bulk::new(Bytes(1000), Nanos(u64::MAX), BitsPerSecond(u64::MAX));
        let wish = app.poll_write(&view(0, 0, 600));
        assert_eq!((wish.write, wish.close), (Bytes(600), false));
        let wish = app.poll_write(&view(0, 600, 600));
        assert_eq!((wish.write, wish.close), (Bytes(400), true));
        assert_eq!(app.total(), Some(Bytes(1000)));
    }

    #[test]
    fn by_duration_it_closes_on_time() {
        let mut app = Bulk::new(Bytes::MAX, Nanos::from_secs(5), BitsPerSecond(u64::MAX));
        assert_eq!(app.poll_write(&view(0, 0, 600)).wake, SimTime::from_secs(5));
        assert!(app.poll_write(&view(5, 600, 600)).close);
    }
}
