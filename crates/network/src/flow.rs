//! The two applications of a flow, and where the flow stands.
//!
//! May: ask the application, write to and read from the flow's connections. May not: send packets or choose
//! times other than those the application and the read rate ask for.

use apps::{App, SenderView};
use engine::LazyTimer;
use transport::Connection;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use crate::record::FlowRecord;
use crate::recorder::Recorder;

/// A reader that takes its time.
#[derive(Clone, Copy, Debug)]
struct PacedReader {
    rate: BitsPerSecond,
    /// Read in one go, if so much is there.
    chunk: Bytes,
    next: SimTime,
    timer: LazyTimer,
}

/// One flow.
#[derive(Debug)]
pub(crate) struct Flow {
    app: Box<dyn App>,
    reader: Option<PacedReader>,
    /// When it starts, and when its application stops writing at the latest.
    pub(crate) start: SimTime,
    pub(crate) stop: SimTime,
    pub(crate) started: bool,
    written: Bytes,
    closed: bool,
    wake: SimTime,
    timer: LazyTimer,
    pub(crate) recorder: Recorder,
    /// Filled in when the flow's interval is over.
    pub(crate) record: Option<FlowRecord>,
    /// Nothing remains to be written or delivered.
    pub(crate) done: bool,
}

impl Flow {
    /// A flow between `start` and `stop`; `mss` is the least that a paced reader reads at a time.
    pub(crate) fn new(app: Box<dyn App>, start: SimTime, stop: SimTime, mss: Bytes) -> Self {
        let reader = app.read_rate().map(|rate| PacedReader {
            rate,
            chunk: rate.bytes_in(Nanos::from_millis(1)).max(mss),
            next: SimTime::ZERO,
            timer: LazyTimer::default(),
        });
        Self {
            app,
            reader,
            start,
            stop,
            started: false,
            written: Bytes::ZERO,
            closed: false,
            wake: start,
            timer: LazyTimer::default(),
            recorder: Recorder::new(start),
            record: None,
            done: false,
        }
    }

    /// Size of the transfer, if it has one.
    pub(crate) fn total(&self) -> Option<Bytes> {
        self.app.total()
    }

    /// True if the transfer has a size and the application wrote all of it.
    pub(crate) fn wrote_all(&self) -> bool {
        self.closed && self.app.total().is_some_and(|total| self.written >= total)
    }

    /// True if the application has written its last byte and all bytes were delivered.
    pub(crate) fn delivered_all(&self, delivered: Bytes) -> bool {
        self.closed && delivered >= self.written
    }

    /// True if the transfer has no size, or was stopped before all was written: its interval ends with writing.
    pub(crate) fn stopped(&self) -> bool {
        self.closed && !self.wrote_all()
    }

    /// The end of the interval of a flow that is still going on when the run ends after `duration`: what is
    /// written may be delivered until then, but nothing is written after `stop`.
    pub(crate) fn last_end(&self, duration: SimTime) -> SimTime {
        if self.wrote_all() { duration } else { self.stop }
    }

    /// Lets the sending application write as much as it wants and the connection takes. Returns the instant to push
    /// into the queue for its next wake-up, if one is needed.
    pub(crate) fn write(&mut self, now: SimTime, sender: &mut Connection) -> Option<SimTime> {
        while self.started && !self.closed {
            let space = sender.send_space();
            if space == Bytes::ZERO && now < self.wake {
                break;
            }
            let view = SenderView { now, started: self.start, stop: self.stop, written: self.written, space };
            let wish = self.app.poll_write(&view);
            self.wake = wish.wake;
            let write = wish.write.min(space);
            if write > Bytes::ZERO {
                sender.write(now, write);
                self.written += write;
                self.recorder.wrote(now, self.written);
            }
            if wish.close {
                sender.close(now);
                self.closed = true;
                self.wake = SimTime::NEVER;
            }
            // Nothing more is wanted, or nothing more fits.
            if write == Bytes::ZERO || write == space {
                break;
            }
        }
        // A wish in the past would stop the clock.
        self.timer.set(self.wake.max(now))
    }

    /// A wake-up of the sending application came out of the queue. False if it was a stale one.
    pub(crate) fn wake_fires(&mut self, now: SimTime) -> bool {
        self.timer.fires(now)
    }

    /// Lets the receiving application read. Returns the instant to push for its next turn, if one is needed.
    pub(crate) fn read(&mut self, now: SimTime, receiver: &mut Connection) -> Option<SimTime> {
        let readable = receiver.readable();
        if readable == Bytes::ZERO {
            return None;
        }
        let Some(reader) = &mut self.reader else {
            receiver.read(now, readable);
            return None;
        };
        if now >= reader.next {
            let bytes = readable.min(reader.chunk);
            receiver.read(now, bytes);
            reader.next = now + reader.rate.time_to_send(bytes);
        }
        reader.timer.set(reader.next)
    }

    /// A wake-up of the receiving application came out of the queue. False if it was a stale one.
    pub(crate) fn read_fires(&mut self, now: SimTime) -> bool {
        self.reader.as_mut().is_some_and(|reader| reader.timer.fires(now))
    }
}
