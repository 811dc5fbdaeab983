//! The usual way of a subflow: that of its endpoint, while nothing waits here for the data before it.

use congestion::Paths;
use units::SimTime;

use super::Subflow;
use crate::packet::Packet;
use crate::seq::Dsn;
use crate::tcp::ranges::Range;
use crate::tcp::segment::TcpSegment;

impl Subflow {
    /// As `on_next_data` of the endpoint, while nothing waits here for the data before it.
    #[inline(always)]
    pub(in crate::mptcp) fn on_next_data(&mut self, now: SimTime, segment: &TcpSegment) -> bool {
        let taken = self.mappings.is_empty() && self.endpoint.on_next_data(now, segment);
        if taken {
            self.health.on_segment(now, false);
        }
        taken
    }

    /// As `on_new_ack` of the endpoint.
    #[inline(always)]
    pub(in crate::mptcp) fn on_new_ack(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        paths: Paths<'_>,
    ) -> bool {
        let taken = self.endpoint.on_new_ack(now, segment, paths);
        if taken {
            self.health.on_segment(now, true);
        }
        taken
    }

    /// As `write_ack` of the endpoint.
    #[inline(always)]
    pub(in crate::mptcp) fn write_ack(&mut self, now: SimTime, blocks: usize, packet: &mut Packet) -> bool {
        self.endpoint.write_ack(now, blocks, packet)
    }

    /// As `rests_now` of the endpoint.
    #[inline]
    pub(in crate::mptcp) fn rests_now(&mut self, now: SimTime) -> bool {
        self.endpoint.rests_now(now)
    }

    /// As `pass` of the endpoint.
    #[inline(always)]
    pub(in crate::mptcp) fn pass(
        &mut self,
        now: SimTime,
        data: Range<Dsn>,
        blocks: usize,
        packet: &mut Packet,
    ) -> bool {
        self.next_copy = data.end;
        self.endpoint.pass(now, data, blocks, packet)
    }
}
