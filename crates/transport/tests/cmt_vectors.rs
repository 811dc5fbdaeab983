//! Test vector CM-1 to the letter: an association of two paths, a scripted peer, and how many missing reports each SACK is. The initial windows
//! of RP2-1.

use std::collections::BTreeSet;
use std::sync::Arc;

use registry::{OptionValue, Options};
use testkit::association::{self, leaving_by_path};
use testkit::setups::{scheduler, sctp_end};
use transport::Role;
use transport::packet::PathId;
use transport::sctp::chunk::{AddressList, Control, Cookie, DataChunks, Init, Sack, SctpPacket};
use transport::sctp::config::{CmtConfig, InitialWindow, MaxBurst};
use transport::sctp::gaps::GapBlocks;
use transport::sctp::tsn::{StreamId, Tag, Tsn};
use transport::sctp::{Association, AssociationSetup, SctpConfig, UserMessage};
use transport::tcp::ranges::{Range, RangeSet};
use units::{Bytes, SimTime};

/// Tag of the scripted peer.
const PEER: Tag = Tag(77);
/// Tag of the end under test, as `sctp_end` sets it for clients.
const OWN: Tag = Tag(0x0102_0304);
/// TSNs of the vectors count from 1, those of the machine from 0.
const FIRST: u64 = 1;

/// An association that has sent TSN 1, 3, 5, ... on path A and 2, 4, 6, ... on B; without concurrent transfer all on A.
struct Sender {
    end: Association,
    arrived: BTreeSet<u64>,
    now: SimTime,
}

impl Sender {
    fn new(cmt: Option<CmtConfig>) -> Self {
        let mut config = SctpConfig { cmt, ..SctpConfig::default() };
        config.window.initial = InitialWindow::Bytes(Bytes(30_000));
        config.window.burst = MaxBurst::Unlimited;
        config.heartbeat.confirm = false;
        let setup = sctp_end(&config, "sctp", 2, Role::Client);
        let mut end =
            Association::new(AssociationSetup { scheduler: cmt.map(|_| scheduler("roundrobin")), ..setup });
        let peer = Init {
            tag: PEER,
            window: 1_000_000,
            streams: 10,
            addresses: AddressList::new([0, 1].into_iter()),
        };
        let cookie = Cookie { own: PEER, peer, made: SimTime::from_millis(10), ..Cookie::default() };
        end.open();
        leaving_by_path(&mut end, SimTime::ZERO);
        let mut sender = Self { end, arrived: BTreeSet::new(), now: SimTime::from_millis(20) };
        sender.hears(Control::InitAck(peer, cookie));
        sender.hears(Control::CookieAck);
        (0..16).for_each(|_| {
            sender.end.send(UserMessage { stream: StreamId(0), unordered: false, size: Bytes(1452) });
        });
        let sent = leaving_by_path(&mut sender.end, sender.now);
        let sent = sent.into_iter().filter(|(_, packet)| !packet.data.is_empty());
        let sent: Vec<_> = sent.map(|(path, packet)| (packet.data.first().0 + FIRST, path)).collect();
        let path = |tsn: u64| PathId(if cmt.is_some() && tsn.is_multiple_of(2) { 1 } else { 0 });
        let expected: Vec<_> = (1..=16).map(|tsn| (tsn, path(tsn))).collect();
        assert_eq!(sent, expected);
        sender
    }

    /// TSNs of the packets that leave after this.
    fn hears(&mut self, control: Control) -> Vec<u64> {
        self.now = SimTime(self.now.0 + 1_000_000);
        let packet = SctpPacket { tag: OWN, control, data: DataChunks::default() };
        let packets = association::hears(&mut self.end, self.now, packet);
        let data = packets.iter().filter(|packet| !packet.data.is_empty());
        data.map(|packet| packet.data.first().0 + FIRST).collect()
    }

    /// These TSNs have arrived as well, in so many packets, and TSN 1 has not. TSNs that are sent again.
    fn sack(&mut self, arrived: &[u64], packets: u8) -> Vec<u64> {
        self.arrived.extend(arrived);
        assert!(!self.arrived.contains(&FIRST));
        let mut ranges = RangeSet::default();
        for tsn in self.arrived.iter().map(|tsn| tsn - FIRST) {
            ranges.insert(Range::new(Tsn(tsn), Tsn(tsn + 1)));
        }
        let gaps = GapBlocks::new(Tsn(0), &ranges);
        self.hears(Control::Sack(Sack { window: 1_000_000, gaps, packets, ..Sack::default() }))
    }
}

/// Split fast retransmit, with or without DAC.
fn concurrent(delayed_ack: bool) -> Option<CmtConfig> {
    Some(CmtConfig { delayed_ack, ..CmtConfig::default() })
}

/// "SACKs {2}, {2,4}, {2,4,6} arrive first: misses of TSN 1 without SFR 3 -> spurious fast retransmit; with SFR 0."
#[test]
fn cm_1_news_of_the_other_path_are_no_missing_reports() {
    let mut alone = Sender::new(None);
    assert_eq!([2, 4, 6].map(|tsn| alone.sack(&[tsn], 1).first().copied()), [None, None, Some(1)]);
    for delayed_ack in [false, true] {
        let mut sender = Sender::new(concurrent(delayed_ack));
        let reports = [2, 4, 6, 3, 5, 7].map(|tsn| sender.sack(&[tsn], 1).first().copied());
        // The first three are none: it takes three chunks of its own path that were sent later.
        assert_eq!(reports, [None, None, None, None, None, Some(1)]);
    }
}

/// "If 1 is really lost, the SACK {2-6} newly acks 3 and 5 on A -> SFR miss count 1 (DAC off)." With news of both paths DAC counts one, too.
#[test]
fn cm_1_a_sack_is_one_missing_report() {
    for (delayed_ack, packets) in [(false, 1), (false, 2), (true, 2)] {
        let mut sender = Sender::new(concurrent(delayed_ack));
        assert_eq!(sender.sack(&[2, 3, 4, 5, 6], packets), []);
        assert_eq!(sender.sack(&[7], 1), []);
        assert_eq!(sender.sack(&[9], 1).first(), Some(&1));
    }
}

/// DAC: "if all newly acked TSNs are on one path: +1 when t lies between lowest and highest newly acked; + reported count when t is below all
/// of them". TSN 1 is below and reaches three with the next SACK; TSN 5 lies between and needs one more.
#[test]
fn dac_counts_the_packets_of_a_sack_of_one_path() {
    let mut sender = Sender::new(concurrent(true));
    assert_eq!(sender.sack(&[3, 7], 2), []);
    assert_eq!(sender.sack(&[9], 1), [1]);
    assert_eq!(sender.sack(&[11], 1).first(), Some(&5));
    let mut plain = Sender::new(concurrent(false));
    assert_eq!([&[3, 7][..], &[9]].map(|tsns| plain.sack(tsns, 2)), [[], []]);
    assert_eq!(plain.sack(&[11], 1), [1, 5], "without DAC the SACK for two packets is one report of both");
}

/// RP2-1: "Initial cwnd = 7.1 value / n (>= P)." FreeBSD divides by the paths that are known by then (`sctp_set_initial_cc_param`): 4464 and
/// 2232 bytes were measured.
#[test]
fn rp2_1_coupled_paths_share_the_initial_window() {
    for (control, rules, initial, windows) in [
        ("sctp", "rfc", InitialWindow::Rfc9260, &[4404, 4404][..]),
        ("rpv1", "rfc", InitialWindow::Rfc9260, &[2202, 2202]),
        ("rpv2", "rfc", InitialWindow::Rfc9260, &[2202, 2202]),
        ("rpv2", "rfc", InitialWindow::Rfc9260, &[1468; 4]),
        ("mptcp_like", "", InitialWindow::Rfc9260, &[4404, 4404]),
        ("rpv1", "freebsd", InitialWindow::Bytes(Bytes(4464)), &[4464, 2232, 1488]),
        ("rpv2", "freebsd", InitialWindow::Bytes(Bytes(4464)), &[4464, 2232, 1488]),
    ] {
        let row = *congestion::Registry::builtin().get(control).expect("a registered congestion control");
        let mut options = Options::defaults(row.options);
        if !rules.is_empty() {
            options = options.with("rules", OptionValue::Choice(rules.to_owned()));
        }
        let mut config = SctpConfig { cmt: concurrent(false), ..SctpConfig::default() };
        config.window.initial = initial;
        let setup = AssociationSetup {
            congestion: Arc::new(move |setup| (row.build)(setup, &options)),
            ..sctp_end(&config, control, windows.len() as u8, Role::Client)
        };
        let end = Association::new(setup);
        let found: Vec<_> =
            (0..windows.len()).map(|path| end.gauges(path).map(|gauges| gauges.cwnd.0)).collect();
        assert_eq!(
            found,
            windows.iter().map(|window| Some(*window)).collect::<Vec<_>>(),
            "{control} {rules}"
        );
    }
}
