//! The sending side of transports for space links: how a sender learns what has arrived by other means than TCP's
//! acknowledgements.
//!
//! A TCP sender has no policy. Other senders call theirs at these points: a segment of the peer has arrived (`reads`,
//! `measure`, `findings`), something has left (`on_sent`), data waits for an answer or for room (`wait`), time has come
//! (`deadline`, `expire`).

use units::{Bytes, Nanos, SimTime};

use super::poll::{Poller, SenderView};
use super::segment::SpaceSignal;
use crate::config::{Reliability, TcpConfig};
use crate::seq::Seq;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

/// How the peer reports.
#[derive(Clone, Debug)]
pub enum Policy {
    /// SCPS-TP: an acknowledgement may carry a SNACK (CCSDS 714.0-B). The data that it names is sent again at once, without a
    /// duplicate threshold. Whether that says anything about congestion is a setting.
    Snack,
    /// STP: reports answer polls.
    Poll(Poller),
}

/// Statement of a report about a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It has arrived.
    Arrived,
    /// The part last sent at this time or before is missing; the report says nothing about the rest.
    MissingSince(SimTime),
    /// The part that was sent only once is missing; the report says nothing about the rest.
    MissingOriginal,
}

/// Time samples from a report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Round-trip time.
    pub sample: Option<Nanos>,
    /// When the poll left that is answered.
    polled_at: Option<SimTime>,
}

/// A segment with what it says beyond TCP.
pub type Report<'a> = (&'a TcpSegment, Option<&'a SpaceSignal>);

impl Policy {
    /// That of a configuration; `None`: acknowledgements as TCP has them.
    pub fn new(config: &TcpConfig) -> Option<Box<Self>> {
        match config.recovery.reliability {
            Reliability::Acknowledged => None,
            Reliability::Snack { .. } => Some(Box::new(Self::Snack)),
            Reliability::Poll => {
                Some(Box::new(Self::Poll(Poller::new(config.timers.rto, config.timers.retries))))
            }
        }
    }

    /// False: no retransmission timer runs.
    pub fn has_retransmission_timer(&self) -> bool {
        matches!(self, Self::Snack)
    }

    /// True if a segment is a report or acknowledges; false for data in the other direction and the end of a handshake.
    pub fn reads(&self, signal: Option<&SpaceSignal>) -> bool {
        match self {
            Self::Snack => true,
            Self::Poll(_) => matches!(signal, Some(SpaceSignal::Stat { .. } | SpaceSignal::Ustat)),
        }
    }

    /// Time samples from a report. `newest` is when the newest segment left that its acknowledgement newly covers,
    /// if that was sent once: acknowledgements are held back on purpose, and this one has waited least.
    pub fn measure(
        &mut self,
        now: SimTime,
        signal: Option<&SpaceSignal>,
        newest: Option<SimTime>,
    ) -> Measured {
        match (self, signal) {
            (Self::Snack, _) => Measured { sample: newest.map(|at| now.since(at)), polled_at: None },
            (Self::Poll(poller), Some(SpaceSignal::Stat { number })) => {
                let polled_at = poller.answered(*number);
                Measured { sample: polled_at.map(|at| now.since(at)), polled_at }
            }
            (Self::Poll(_), _) => Measured::default(),
        }
    }

    /// Calls `note` with everything that a report says, in order. `mss` is the unit of a SNACK.
    ///
    /// Choice D-25: data sent less than a round trip ago is not missing, since a SNACK cannot know of it.
    pub fn findings(
        &self,
        now: SimTime,
        (segment, signal): Report<'_>,
        (measured, round_trip): (Measured, Option<Nanos>),
        mss: Bytes,
        mut note: impl FnMut(Range<Seq>, Finding),
    ) {
        match signal {
            Some(SpaceSignal::Snack(snack)) => {
                let since = now.0.checked_sub(round_trip.unwrap_or(Nanos::ZERO).0).map(SimTime);
                for (range, received) in snack.ranges(segment.ack, mss) {
                    if received {
                        note(range, Finding::Arrived);
                    } else if let Some(since) = since {
                        note(range, Finding::MissingSince(since));
                    }
                }
            }
            Some(SpaceSignal::Ustat) => {
                for gap in segment.sack.as_slice() {
                    note(*gap, Finding::MissingOriginal);
                }
            }
            Some(SpaceSignal::Stat { .. }) => {
                let Some(polled_at) = measured.polled_at else { return };
                let Some((part, missing)) = segment.sack.as_slice().split_first() else { return };
                // Data last sent before the poll is missing; the rest of the part has arrived.
                let mut arrived_from = part.start;
                for gap in missing {
                    note(Range::new(arrived_from, gap.start), Finding::Arrived);
                    note(*gap, Finding::MissingSince(polled_at));
                    arrived_from = gap.end;
                }
                note(Range::new(arrived_from, part.end), Finding::Arrived);
            }
            _ => {}
        }
    }

    /// A segment has left.
    pub fn on_sent(&mut self, now: SimTime, sender: SenderView) {
        if let Self::Poll(poller) = self {
            poller.count_segment();
            poller.schedule(now, sender);
        }
    }

    /// The state of the sender has changed, or it waits for room. True if the policy asks the peer by itself.
    pub fn wait(&mut self, now: SimTime, sender: SenderView) -> bool {
        match self {
            Self::Snack => false,
            Self::Poll(poller) => {
                poller.schedule(now, sender);
                true
            }
        }
    }

    /// The next deadline, `NEVER` if none.
    pub fn deadline(&self) -> SimTime {
        match self {
            Self::Snack => SimTime::NEVER,
            Self::Poll(poller) => poller.deadline(),
        }
    }

    /// Acts on the deadline if it is due. True if the peer has been silent for too long.
    pub fn expire(&mut self, now: SimTime) -> bool {
        match self {
            Self::Poll(poller) if poller.deadline() <= now => poller.expire(now),
            Self::Snack | Self::Poll(_) => false,
        }
    }

    /// The poll that leaves now, if one is due.
    pub fn take_poll(&mut self, now: SimTime, sender: SenderView) -> Option<SpaceSignal> {
        match self {
            Self::Snack => None,
            Self::Poll(poller) => poller.take(now, sender).map(|number| SpaceSignal::Poll { number }),
        }
    }

    /// True if it may have something to send even when no data waits.
    pub fn may_poll(&self) -> bool {
        matches!(self, Self::Poll(_))
    }
}
