//! How a receiver reports, in the place of acknowledgements or besides them: one interface for SCPS-TP and STP.

use units::{Bytes, Nanos, SimTime};

use super::segment::SpaceSignal;
use super::snack::SnackReporter;
use super::stp::StpReporter;
use crate::config::{Reliability, TcpConfig};
use crate::seq::Seq;
use crate::tcp::ranges::{Range, RangeSet};
use crate::tcp::segment::TcpSegment;

/// Effect of an arrival on what the receiver owes its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A report is due and leaves at once.
    Now,
    /// Nothing is to be reported. A gap alone is no reason to acknowledge.
    InRhythm,
    /// Nothing is to be reported, and data is not acknowledged.
    AsBefore,
}

/// The reports of a receiver; one that only acknowledges has none.
#[derive(Clone, Debug)]
pub struct Reports {
    kind: Reporter,
}

#[derive(Clone, Debug)]
enum Reporter {
    /// SCPS-TP.
    Snack(SnackReporter),
    /// STP.
    Stp(StpReporter),
}

impl Reports {
    /// Reports that need no agreement of the peer: STP is not negotiated. `None` for any other configuration.
    pub fn unconditional(config: &TcpConfig) -> Option<Self> {
        (config.recovery.reliability == Reliability::Poll)
            .then(|| Self { kind: Reporter::Stp(StpReporter::default()) })
    }

    /// SNACKs of SCPS-TP, in units of `mss`.
    pub fn snack(mss: Bytes) -> Self {
        Self { kind: Reporter::Snack(SnackReporter::new(mss)) }
    }

    /// False if the peer learns by polls alone what has arrived and how large the window is.
    pub fn acknowledges(&self) -> bool {
        matches!(self.kind, Reporter::Snack(_))
    }

    /// A segment has arrived. `next` and `received` are the state of the receiver after it.
    pub fn arrived(
        &mut self,
        now: SimTime,
        segment: Range<Seq>,
        (next, received): (Seq, &RangeSet<Seq>),
    ) -> Due {
        let quiet = match &mut self.kind {
            Reporter::Snack(reporter) => {
                reporter.arrived(now, segment, (next, received));
                Due::InRhythm
            }
            Reporter::Stp(reporter) => {
                if !segment.is_empty() {
                    reporter.arrived(segment, next);
                }
                Due::AsBefore
            }
        };
        self.check();
        if self.is_due(now) { Due::Now } else { quiet }
    }

    /// The peer asks for a report with `signal`, on a segment that begins at `seq`. True if it gets one.
    pub fn on_signal(&mut self, signal: &SpaceSignal, seq: Seq) -> bool {
        let (Reporter::Stp(reporter), SpaceSignal::Poll { number }) = (&mut self.kind, signal) else {
            return false;
        };
        reporter.polled(*number, seq);
        self.check();
        true
    }

    /// True if a report is due at `now`.
    pub fn is_due(&self, now: SimTime) -> bool {
        match &self.kind {
            Reporter::Snack(reporter) => reporter.is_due(now),
            Reporter::Stp(reporter) => reporter.is_due(),
        }
    }

    /// Writes what is due into `segment`, an acknowledgement without data. `next` and `received` are the state of the
    /// receiver. Returns what is added to TCP, and whether more is due at once.
    pub fn report_into(
        &mut self,
        now: SimTime,
        (next, received): (Seq, &RangeSet<Seq>),
        round_trip: Nanos,
        segment: &mut TcpSegment,
    ) -> (Option<SpaceSignal>, bool) {
        let signal = match &mut self.kind {
            Reporter::Snack(reporter) => {
                reporter.report(now, (next, received), round_trip).map(SpaceSignal::Snack)
            }
            Reporter::Stp(reporter) => reporter.report(next, received, &mut segment.sack),
        };
        self.check();
        (signal, self.is_due(now))
    }

    #[inline]
    fn check(&self) {
        match &self.kind {
            Reporter::Snack(reporter) => reporter.check(),
            Reporter::Stp(reporter) => reporter.check(),
        }
    }
}
