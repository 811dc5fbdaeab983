//! MPTCP options that a scripted peer sends, and those that it expects from the connection.

use transport::AddressPair;
use transport::mptcp::keys::{Hmac64, Hmac160, Key, Nonce, add_addr_hmac, join_hmac64, join_hmac160};
use transport::mptcp::option::{Dss, MptcpOption};
use transport::packet::Packet;
use transport::seq::Dsn;
use transport::tcp::segment::TcpSegment;

use super::line::{Mp, Pattern, Signal};
use crate::setups::{CLIENT_KEY, SERVER_KEY};

/// Keys and nonces of both ends, from which valid MPTCP options are made.
#[derive(Clone, Debug)]
pub(super) struct Secrets {
    own: Key,
    theirs: Key,
    /// Nonces of the connection in MP_JOIN, by subflow.
    nonces: [Nonce; 64],
}

/// Nonce of the peer in MP_JOIN.
const OWN_NONCE: Nonce = Nonce(0xb1b2_b3b4);

impl Secrets {
    /// Secrets of a peer that is the server, or the client.
    pub(super) fn new(peer_is_server: bool) -> Self {
        let (own, theirs) = if peer_is_server { (SERVER_KEY, CLIENT_KEY) } else { (CLIENT_KEY, SERVER_KEY) };
        Self { own, theirs, nonces: [Nonce(0); 64] }
    }

    /// Stores the nonce of an MP_JOIN that the connection has sent.
    pub(super) fn learn_nonce(&mut self, packet: &Packet) {
        let option = packet.segment().map(|segment| segment.mptcp);
        if let Some(MptcpOption::JoinSyn { nonce, .. } | MptcpOption::JoinSynAck { nonce, .. }) = option {
            self.nonces[packet.path.index()] = nonce;
        }
    }

    /// The option of a segment that the peer sends.
    pub(super) fn said(&self, pattern: &Pattern) -> MptcpOption {
        self.option(pattern, (self.own, OWN_NONCE), (self.theirs, self.nonces[usize::from(pattern.subflow)]))
    }

    /// The option that the connection should send; `None` if the script does not name one.
    pub(super) fn expected(&self, pattern: &Pattern, got: &TcpSegment) -> Option<MptcpOption> {
        if pattern.mp == Mp::default() {
            return None;
        }
        let theirs = (self.theirs, self.nonces[usize::from(pattern.subflow)]);
        let mut expected = self.option(pattern, theirs, (self.own, OWN_NONCE));
        if let (MptcpOption::JoinSyn { addresses, .. }, MptcpOption::JoinSyn { addresses: chosen, .. }) =
            (&mut expected, got.mptcp)
        {
            // The network chooses addresses: they are not compared.
            *addresses = chosen;
        }
        // An address ID that the script does not name is not compared.
        if let (
            MptcpOption::JoinSyn { id: want, .. } | MptcpOption::JoinSynAck { id: want, .. },
            MptcpOption::JoinSyn { id, .. } | MptcpOption::JoinSynAck { id, .. },
        ) = (&mut expected, got.mptcp)
            && pattern.mp.id.is_none()
        {
            *want = id;
        }
        // A Data ACK that the script does not name is not compared. It names none of the bytes that a mapping has around the payload.
        if let (MptcpOption::Dss(want), MptcpOption::Dss(dss)) = (&mut expected, got.mptcp) {
            want.data_ack = want.data_ack.or(dss.data_ack);
            want.margin = dss.margin;
        }
        if let (
            MptcpOption::CapableAck { after: Some(want), .. },
            MptcpOption::CapableAck { after: Some(after), .. },
        ) = (&mut expected, got.mptcp)
        {
            *want = after;
        }
        if let (
            MptcpOption::AddAddr { data_ack: want, .. }
            | MptcpOption::RemoveAddr { data_ack: want, .. }
            | MptcpOption::Prio { data_ack: want, .. },
            MptcpOption::AddAddr { data_ack, .. }
            | MptcpOption::RemoveAddr { data_ack, .. }
            | MptcpOption::Prio { data_ack, .. },
        ) = (&mut expected, got.mptcp)
            && pattern.mp.data_ack.is_none()
        {
            *want = data_ack;
        }
        Some(expected)
    }

    fn option(&self, pattern: &Pattern, own: (Key, Nonce), peer: (Key, Nonce)) -> MptcpOption {
        let (mp, flags) = (pattern.mp, pattern.flags);
        if mp.capable {
            return match (flags.syn, flags.ack) {
                (true, false) => MptcpOption::CapableSyn,
                (true, true) => MptcpOption::CapableSynAck(own.0),
                _ => MptcpOption::CapableAck { sender: own.0, receiver: peer.0, after: mp.dsn.map(|_| 0) },
            };
        }
        if mp.join {
            return join(pattern, own, peer);
        }
        if let Some((id, echo)) = mp.address {
            // An address that returns gets an ID that is 64 higher.
            let address = id % 64;
            let proof = add_addr_hmac(own.0, peer.0, id, [10, 0, address, 1].into(), 0);
            let hmac = if echo { Hmac64::default() } else { proof };
            let hmac = if mp.forged { Hmac64([7; 8]) } else { hmac };
            return MptcpOption::AddAddr {
                id,
                address,
                echo,
                hmac,
                data_ack: mp.data_ack.unwrap_or(Dsn::FIRST_DATA),
            };
        }
        if let Some(signal) = mp.signal {
            let data_ack = mp.data_ack.unwrap_or(Dsn::FIRST_DATA);
            let key = if mp.forged { Key(7) } else { peer.0 };
            return match signal {
                Signal::Remove(id) => MptcpOption::RemoveAddr { id, data_ack },
                Signal::Priority => MptcpOption::Prio { backup: mp.backup, data_ack },
                Signal::FastClose => MptcpOption::FastClose { key },
                Signal::Reset(reason) => MptcpOption::Reset(reason),
            };
        }
        if mp.data_ack.is_some() || mp.dsn.is_some() {
            return MptcpOption::Dss(Dss {
                data_ack: mp.data_ack,
                dsn: mp.dsn,
                data_fin: mp.data_fin,
                ..Dss::default()
            });
        }
        MptcpOption::None
    }
}

fn join(pattern: &Pattern, own: (Key, Nonce), peer: (Key, Nonce)) -> MptcpOption {
    let (mp, flags) = (pattern.mp, pattern.flags);
    let place = Some(mp.over.unwrap_or(pattern.subflow));
    match (flags.syn, flags.ack) {
        (true, false) => MptcpOption::JoinSyn {
            token: if mp.forged { own.0.token() } else { peer.0.token() },
            nonce: own.1,
            addresses: AddressPair { local: place, remote: place },
            id: mp.id.unwrap_or(pattern.subflow),
            backup: mp.backup,
        },
        (true, true) => MptcpOption::JoinSynAck {
            hmac: if mp.forged { Hmac64([7; 8]) } else { join_hmac64(own.0, peer.0, own.1, peer.1) },
            nonce: own.1,
            id: mp.id.unwrap_or(pattern.subflow),
            backup: mp.backup,
        },
        _ => MptcpOption::JoinAck {
            hmac: if mp.forged { Hmac160([7; 20]) } else { join_hmac160(own.0, peer.0, own.1, peer.1) },
        },
    }
}
