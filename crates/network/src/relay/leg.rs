//! A leg: the end of a connection that a proxy has.
//!
//! May: say which relay it belongs to. May not: move bytes; the relay does.

use transport::Connection;
use transport::packet::{Packet, PathId};
use units::SimTime;

use crate::flow::recorder::Recorder;

/// A relay of some proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelayId(pub(crate) u32);

/// Which side of its relay an end is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegEnd {
    /// Towards the client.
    Client,
    /// Towards the server.
    Server,
}

impl LegEnd {
    /// Both sides.
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// 0 towards the client, 1 towards the server.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// The other side.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// One end of a relay.
#[derive(Debug)]
pub(crate) struct Leg {
    connection: Connection,
    relay: RelayId,
    /// The number that its only subflow has at the peer: not zero where a plain TCP end answers the SYN of a further
    /// subflow of an MPTCP connection that it knows nothing of.
    known_as: PathId,
    recorder: Recorder,
    /// When the proxy may pass on more of what waits here; `NEVER` while nothing waits for that.
    resumes: SimTime,
    /// The power of the proxy has failed: nothing is taken in, and nothing leaves.
    silent: bool,
}

impl Leg {
    /// An end that closes when its relay says so. `known_as` is the number of its first subflow at the peer.
    pub(crate) fn new(mut connection: Connection, relay: RelayId, known_as: PathId) -> Self {
        connection.hold_open();
        let (recorder, resumes) = (Recorder::default(), SimTime::NEVER);
        Self { connection, relay, known_as, recorder, resumes, silent: false }
    }

    /// Its relay.
    pub(crate) fn relay(&self) -> RelayId {
        self.relay
    }

    /// Its protocol machine.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The same, to be called.
    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// It is asked again for what waits at this time.
    pub(crate) fn resume_at(&mut self, at: SimTime) {
        self.resumes = at;
    }

    /// When something is to be done: a deadline, or the proxy may pass on more.
    pub(crate) fn wake_at(&mut self) -> SimTime {
        if self.silent { SimTime::NEVER } else { self.connection.wake_at().min(self.resumes) }
    }

    /// Acts on what is due. False if nothing is.
    pub(crate) fn on_timeout(&mut self, now: SimTime) -> bool {
        if self.silent {
            return false;
        }
        let due = self.connection.next_deadline() <= now;
        if due {
            self.connection.on_timeout(now);
        }
        let resumes = self.resumes <= now;
        if resumes {
            self.resumes = SimTime::NEVER;
        }
        due || resumes
    }

    /// The power of the proxy fails.
    pub(crate) fn fall_silent(&mut self) {
        self.silent = true;
    }

    /// Nothing leaves any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Congestion windows over time.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Takes in a packet.
    pub(crate) fn receive(&mut self, now: SimTime, packet: &Packet) {
        if self.silent {
            return;
        }
        if self.known_as == PathId::FIRST {
            self.connection.on_packet(now, packet);
        } else {
            self.connection.on_packet(now, &Packet { path: PathId::FIRST, ..*packet });
        }
    }

    /// The path that the peer knows by the number of the subflow in `packet`, which is about to leave. Returns the
    /// subflow as this end numbers it.
    pub(crate) fn show(&self, packet: &mut Packet) -> PathId {
        let own = packet.path;
        if self.known_as != PathId::FIRST {
            packet.path = self.known_as;
        }
        own
    }

    /// Its senders may have changed.
    pub(crate) fn record(&mut self, now: SimTime) {
        for subflow in 0..self.connection.subflow_count() {
            self.recorder.sent(now, &self.connection, PathId(subflow as u8));
        }
    }
}
