//! The first segments of an endpoint: SYN, SYN/ACK, and a RST in their place.

use units::SimTime;

use super::{Endpoint, State, Written};
use crate::convert::ConvertMessage;
use crate::packet::Packet;
use crate::seq::Seq;
use crate::space::SpaceSignal;
use crate::tcp::segment::Flags;

impl Endpoint {
    /// The SYN or SYN/ACK of this end has this payload: one end is a client, the other a converter.
    pub fn say(&mut self, message: ConvertMessage) {
        self.handshake.say(message);
    }

    #[cold]
    pub(super) fn opening_or_closing_segment(
        &mut self,
        now: SimTime,
        packet: &mut Packet,
    ) -> Option<Written> {
        if std::mem::take(&mut self.send_reset) {
            let segment = self.header(now, self.sender.nxt(), packet);
            segment.flags = Flags { rst: true, ack: true, ..Flags::default() };
            return Some(Written::LAST);
        }
        match self.state {
            State::Idle | State::Dead(_) | State::Established => None,
            State::SynSent | State::SynReceived => self.syn(now, packet),
        }
    }

    fn syn(&mut self, now: SimTime, packet: &mut Packet) -> Option<Written> {
        if !self.handshake.take_due(now, &self.config.timers.rto) {
            return None;
        }
        let passive = self.state == State::SynReceived;
        let segment = self.header(now, Seq::SYN, packet);
        if passive {
            self.receiver.acknowledge_into(now, 0, &mut segment.sack);
        }
        segment.flags = Flags { syn: true, ack: passive, ..Flags::default() };
        self.ecn.offer(passive, &mut segment.flags);
        segment.ack = Seq(u64::from(passive));
        packet.retransmission = self.handshake.tries() > 0;
        let agrees = self.extras.as_deref().and_then(|extras| extras.syn_signal(passive));
        if let Some(signal) = agrees.or(self.handshake.message().map(SpaceSignal::Convert)) {
            packet.add_signal(signal);
        }
        Some(Written::CONTROL)
    }
}
