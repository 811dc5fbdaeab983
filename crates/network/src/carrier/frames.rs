//! The bytes of the packets on links.
//!
//! May: keep them until the last copy has arrived or is lost. May not: look into them.

use transport::packet::Packet;
use units::SimTime;

use crate::net::address::PacketAddresses;
use crate::net::middlebox::MiddleboxAccess;
use crate::net::tap::{LinkEvent, PacketEvent, Tap};
use crate::net::topology::LinkId;

/// Multipath TCP in a packet, as middleboxes read it and change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multipath {
    /// No option of it.
    #[default]
    None,
    /// An option on a segment without SYN.
    Segment,
    /// An option on a SYN.
    Syn,
    /// There was an option, which is to be overwritten with padding.
    Stripped,
}

/// The body of a packet whose bytes are kept elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    number: u32,
    pub(crate) multipath: Multipath,
}

impl MiddleboxAccess for Frame {
    fn is_multipath(&self) -> bool {
        matches!(self.multipath, Multipath::Segment | Multipath::Syn)
    }

    fn is_syn(&self) -> bool {
        self.multipath == Multipath::Syn
    }

    fn strip_multipath(&mut self) {
        self.multipath = Multipath::Stripped;
    }
}

/// The bytes by frame; numbers are used again.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Bytes, and how many packets on links have them.
    kept: Vec<(Vec<u8>, u32)>,
    free: Vec<u32>,
}

impl Frames {
    /// Keeps the bytes of one packet.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>, multipath: Multipath) -> Frame {
        let number = self.free.pop().unwrap_or(self.kept.len() as u32);
        match self.kept.get_mut(number as usize) {
            Some(place) => *place = (bytes, 1),
            None => self.kept.push((bytes, 1)),
        }
        self.check();
        Frame { number, multipath }
    }

    /// The bytes of a packet that leaves the links.
    pub(crate) fn take(&mut self, frame: Frame) -> Vec<u8> {
        let (bytes, packets) = &mut self.kept[frame.number as usize];
        debug_assert!(*packets > 0, "frame {} left before", frame.number);
        *packets -= 1;
        let taken = if *packets > 0 {
            bytes.clone()
        } else {
            self.free.push(frame.number);
            std::mem::take(bytes)
        };
        self.check();
        taken
    }

    /// Frames that are on links.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.kept.len() - self.free.len()
    }

    fn check(&self) {
        debug_assert!(self.free.len() <= self.kept.len(), "a frame was given back twice");
        debug_assert!(
            self.free.last().is_none_or(|&frame| self.kept[frame as usize].1 == 0),
            "a free frame is on no link"
        );
    }
}

impl Tap<Frame> for Frames {
    fn is_tracing(&self) -> bool {
        false
    }

    fn packet_event(
        &mut self,
        _now: SimTime,
        event: PacketEvent,
        _link: LinkId,
        _addresses: PacketAddresses,
        packet: &Packet<Frame>,
    ) {
        match event {
            PacketEvent::DropQueue
            | PacketEvent::DropError
            | PacketEvent::DropDown
            | PacketEvent::DropCheck => {
                self.take(packet.body);
            }
            PacketEvent::Duplicate => self.kept[packet.body.number as usize].1 += 1,
            PacketEvent::Mark => {}
        }
    }

    fn crosses(
        &mut self,
        _now: SimTime,
        _link: LinkId,
        _leaves: bool,
        _addresses: PacketAddresses,
        _packet: (u32, &Packet<Frame>),
    ) {
    }

    fn link_event(&mut self, _now: SimTime, _event: LinkEvent, _link: LinkId) {}
}
