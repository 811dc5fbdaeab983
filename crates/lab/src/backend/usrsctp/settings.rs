//! Settings of an association of the library: plain data, and their lines for the program.

use std::fmt::Write as _;

use network::NodeId;
use units::{Bytes, Nanos, SimTime};

/// One association, its hosts and what it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Association {
    /// Node of the end that opens it and sends.
    pub from: NodeId,
    /// Node of the end that listens and receives.
    pub to: NodeId,
    /// When it is opened.
    pub start: SimTime,
    /// User messages.
    pub traffic: Traffic,
    /// Settings of both ends.
    pub settings: Settings,
}

/// User messages of an association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes of the messages of one frame, from 8 on each. Frames are all alike; there is one message at least.
    pub frame: Vec<Bytes>,
    /// How many frames; `None`: until the end of the run.
    pub count: Option<u64>,
    /// Time between two frames; `None`: as soon as the send buffer has room, for frames of one message.
    pub interval: Option<Nanos>,
    /// Delivered without order.
    pub unordered: bool,
}

impl Traffic {
    /// As much as the send buffer takes, in messages of this size.
    pub fn bulk(message: Bytes) -> Self {
        Self { frame: vec![message], count: None, interval: None, unordered: false }
    }

    /// Bytes of the message with this number.
    pub fn size(&self, number: u64) -> Bytes {
        debug_assert!(!self.frame.is_empty(), "a frame has a message");
        self.frame[(number % self.frame.len() as u64) as usize]
    }
}

/// `sctp_cmt_on_off` of the library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cmt {
    /// One path, the others for failover.
    #[default]
    Off,
    /// All paths at once, with windows of their own.
    Base,
    /// Coupled by resource pooling, version 1.
    RpV1,
    /// The same, version 2.
    RpV2,
    /// Coupled as MPTCP is, by LIA.
    Mptcp,
}

/// Settings of both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether and how paths are used at once.
    pub cmt: Cmt,
    /// Delayed acknowledgements for CMT.
    pub dac: bool,
    /// The send buffer is divided among paths.
    pub split_send: bool,
    /// The receive buffer of the peer is divided among paths.
    pub split_receive: bool,
    /// Non-renegable selective acknowledgements.
    pub nr_sack: bool,
    /// Send buffer.
    pub send_buffer: Bytes,
    /// Receive buffer.
    pub receive_buffer: Bytes,
    /// A SACK for every n-th packet.
    pub sack_every: u32,
    /// Least RTO.
    pub rto_min: Nanos,
    /// Time between two looks at timers, in whole milliseconds: 1, or 10 as the library has it by itself.
    pub tick: Nanos,
    /// Packets to an address of the peer have the address of the interface that they leave by as their source. The
    /// library itself writes its first address into all of them, so that all SACKs come back on one path.
    pub source_by_path: bool,
    /// CRC32c is computed; otherwise it is 0 at both ends, which changes no figure.
    pub checksums: bool,
    /// Further bytes per packet on the wire.
    pub overhead: Bytes,
    /// Further sysctls of the library, which come last.
    pub sysctls: Vec<(String, u32)>,
}

impl Default for Settings {
    /// One path, everything else as the library has it; windows are not limited by the number of chunks.
    fn default() -> Self {
        Self {
            cmt: Cmt::Off,
            dac: false,
            split_send: false,
            split_receive: false,
            nr_sack: false,
            send_buffer: Bytes(262_144),
            receive_buffer: Bytes(131_072),
            sack_every: 2,
            rto_min: Nanos::from_millis(1_000),
            tick: Nanos::from_millis(1),
            source_by_path: true,
            checksums: false,
            overhead: Bytes::ZERO,
            sysctls: Vec::new(),
        }
    }
}

/// Extensions that are not used are off; 512 waiting chunks, the default, would limit every window.
const ALWAYS: [(&str, u32); 7] = [
    ("sctp_asconf_enable", 0),
    ("sctp_auto_asconf", 0),
    ("sctp_auth_enable", 0),
    ("sctp_reconfig_enable", 0),
    ("sctp_pr_enable", 0),
    ("sctp_ecn_enable", 0),
    ("sctp_max_chunks_on_queue", 1_000_000),
];

impl Settings {
    /// The sysctls of an end, in the order in which they are set.
    pub fn sysctls(&self) -> Vec<(String, u32)> {
        let splitting = u32::from(self.split_send) | u32::from(self.split_receive) << 1;
        let bytes = |size: Bytes| u32::try_from(size.0).unwrap_or(u32::MAX);
        let ours = [
            ("sctp_cmt_on_off", self.cmt as u32),
            ("sctp_cmt_use_dac", u32::from(self.dac)),
            ("sctp_buffer_splitting", splitting),
            ("sctp_nrsack_enable", u32::from(self.nr_sack)),
            ("sctp_sendspace", bytes(self.send_buffer)),
            ("sctp_recvspace", bytes(self.receive_buffer)),
            ("sctp_sack_freq_default", self.sack_every),
            ("sctp_rto_min_default", (self.rto_min.0 / Nanos::from_millis(1).0) as u32),
        ];
        let named = |(name, value): (&str, u32)| (name.to_owned(), value);
        let all = ALWAYS.into_iter().chain(ours).map(named);
        all.chain(self.sysctls.iter().cloned()).collect()
    }

    /// The lines that an end is configured with.
    pub(super) fn lines(&self, place: &Place<'_>) -> String {
        let mut text = format!("seed {}\nport {}\n", place.seed, place.port);
        let mut line = |name: &str, value: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {value}");
        };
        line("role", if place.opens { "client" } else { "server" });
        line("checksums", if self.checksums { "1" } else { "0" });
        let dotted = |[a, b, c, d]: [u8; 4]| format!("{a}.{b}.{c}.{d}");
        // The library lists the address that was bound last first (`sctp_insert_laddr`), and its peer numbers paths in that order.
        place.local.iter().rev().for_each(|address| line("local", &dotted(*address)));
        place.peer.iter().for_each(|address| line("peer", &dotted(*address)));
        self.sysctls().iter().for_each(|(name, value)| line("sysctl", &format!("{name} {value}")));
        text
    }
}

/// Where an end is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'p> {
    /// Seed of its random numbers.
    pub(super) seed: u64,
    /// Port of both ends.
    pub(super) port: u16,
    /// It opens the association.
    pub(super) opens: bool,
    /// Its addresses.
    pub(super) local: &'p [[u8; 4]],
    /// Addresses of its peer.
    pub(super) peer: &'p [[u8; 4]],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_sysctls_of_the_library() {
        let settings = Settings {
            cmt: Cmt::RpV2,
            split_receive: true,
            sysctls: vec![("sctp_initial_cwnd".into(), 10)],
            ..Settings::default()
        };
        let sysctls = settings.sysctls();
        let value = |name: &str| sysctls.iter().find(|(one, _)| one == name).map(|(_, value)| *value);
        assert_eq!(value("sctp_cmt_on_off"), Some(3));
        assert_eq!(value("sctp_buffer_splitting"), Some(2));
        assert_eq!(value("sctp_rto_min_default"), Some(1000));
        assert_eq!(sysctls.last(), Some(&("sctp_initial_cwnd".to_owned(), 10)));
        let place =
            Place { seed: 7, port: 5001, opens: true, local: &[[10, 0, 0, 1]], peer: &[[10, 0, 0, 2]] };
        let lines = settings.lines(&place);
        assert!(lines.starts_with(
            "seed 7\nport 5001\nrole client\nchecksums 0\nlocal 10.0.0.1\npeer 10.0.0.2\nsysctl "
        ));
    }
}
