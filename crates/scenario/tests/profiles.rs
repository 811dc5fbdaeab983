//! The profiles hold the numbers of `docs/reference/profiles.md`, and of the notes beside them.

mod common;

use common::{BASE, assert_round_trip, good};
use congestion::{Growth, SsthreshFrom};
use scenario::model::Choice;
use scenario::model::Transport;
use scenario::profiles;
use transport::config::{
    AckConfig, AckPushed, BufferConfig, ConnectionBuffer, CwndCounts, FlightAfterTimeout, IdleRestart,
    LossMeans, OptionConfig, PacingRule, PrrRule, QuantumRule, ReceiveCounts, RecoveryConfig, RecoveryKind,
    Reinjection, Reliability, RtoConfig, RtoFloor, RtoRule, SegmentConfig, SendBuffer, SendingConfig,
    TcpConfig, TimerConfig, UndoRule, WindowConfig,
};
use transport::sctp::SctpConfig;
use transport::sctp::config::{
    BufferSplit, CmtConfig, EagerSack, FastRetransmit, HeartbeatConfig, InitialWindow, MaxBurst, Occupancy,
    Reductions, Rescheduling, RetransmissionPolicy, SackConfig, SctpBufferConfig, SctpRecoveryConfig,
    SctpWindowConfig, WindowUpdate,
};
use units::{Bytes, Nanos, Ratio};

fn transport(profile: &str, kind: &str) -> Transport {
    let transport = [("flow.upload.transport.kind", kind), ("flow.upload.transport.profile", profile)];
    let document = good(BASE, &transport);
    assert_round_trip(&document);
    Transport::clone(&document.scenario.flows[0].transport)
}

const fn rto(initial: u64, min: u64, max: u64, granularity: u64, floor: RtoFloor) -> RtoConfig {
    RtoConfig {
        initial: Nanos::from_millis(initial),
        min: Nanos::from_millis(min),
        max: Nanos::from_millis(max),
        granularity: Nanos::from_millis(granularity),
        floor,
        estimator: RtoRule::Rfc,
    }
}

const fn ack(every: u32, delay: u64, quick: u32) -> AckConfig {
    AckConfig { every, delay: Nanos::from_millis(delay), quick, per_round_trip: 0, pushed: AckPushed::Never }
}

const fn growth(slow_start_limit: u32, byte_counting: bool) -> Growth {
    Growth { slow_start_limit, byte_counting }
}

#[test]
fn linux() {
    let transport = transport("linux", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("cubic"));
    let wanted = TcpConfig {
        segment: SegmentConfig { mss: Bytes(1448), header: Bytes(40), overhead: Bytes(0) },
        window: WindowConfig {
            initial_window: 10,
            initial_ssthresh: Bytes::MAX,
            growth: growth(u32::MAX, true),
            counts: CwndCounts::Segments,
            ssthresh_from: SsthreshFrom::Cwnd,
            idle_restart: IdleRestart::Halving,
            flight_limit: Bytes::MAX,
        },
        timers: TimerConfig {
            rto: RtoConfig { estimator: RtoRule::Linux, ..rto(1000, 200, 120_000, 1, RtoFloor::Variance) },
            syn_retries: 6,
            retries: 15,
        },
        ack: AckConfig { pushed: AckPushed::Any, ..ack(2, 40, 16) },
        options: OptionConfig { sack: true, timestamps: true, ecn: false, window_scaling: true },
        recovery: RecoveryConfig {
            kind: RecoveryKind::Rack,
            reliability: Reliability::Acknowledged,
            prr: true,
            prr_rule: PrrRule::Linux,
            undo_rule: UndoRule::Linux,
            dupthresh: 3,
            loss_means: LossMeans::Congestion,
            limited_transmit: true,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
        },
        sending: SendingConfig {
            pacing: false,
            pacing_rule: PacingRule::Linux,
            quantum_rule: QuantumRule::Linux,
            nagle: true,
            minshall: true,
        },
        buffers: BufferConfig {
            receive_buffer: Bytes(131_072),
            receive_buffer_max: Bytes(6 << 20),
            receive_counts: ReceiveCounts::Memory,
            send_buffer: SendBuffer::Expand { max: Bytes(4 << 20), connection: ConnectionBuffer::Sum },
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        },
    };
    assert_eq!(*transport.tcp, wanted);
}

/// HyStart is that of the kernel unless the scenario says otherwise, however CUBIC is named.
#[test]
fn linux_gives_cubic_its_options() {
    let hystart = |sets: &[(&str, &str)]| {
        let kind = [("flow.upload.transport.kind", "tcp")];
        let document = good(BASE, &[&kind, sets].concat());
        assert_round_trip(&document);
        document.scenario.flows[0].transport.congestion.as_ref().unwrap().options.choice("hystart")
    };
    assert_eq!(hystart(&[]), "linux");
    assert_eq!(hystart(&[("flow.upload.transport.congestion", "cubic")]), "linux");
    assert_eq!(hystart(&[("flow.upload.transport.congestion.fast_convergence", "false")]), "linux");
    assert_eq!(hystart(&[("flow.upload.transport.congestion.hystart", "false")]), "false");
    assert_eq!(hystart(&[("flow.upload.transport.congestion.hystart", "true")]), "true");
    let rfc = ("flow.upload.transport.profile", "rfc");
    assert_eq!(hystart(&[rfc, ("flow.upload.transport.congestion", "cubic")]), "false");
}

/// Where several subflows meet it is the kernel; as TCP nothing differs.
#[test]
fn linux_is_mainline_where_several_subflows_meet() {
    let (tcp, linux) = (transport("linux", "tcp"), transport("linux", "mptcp"));
    let wanted = TcpConfig::clone(&tcp.tcp).with(|c| c.buffers.receive_counts = ReceiveCounts::SubflowMemory);
    assert_eq!(*linux.tcp, wanted);
    assert_eq!(several_subflows(&linux), (Reinjection::Upstream, "minratio"));
}

#[test]
fn linux_minrtt_has_one_memory_and_minrtt() {
    let minrtt = transport("linux-minrtt", "mptcp");
    assert_eq!(*minrtt.tcp, *transport("linux", "tcp").tcp);
    assert_eq!(several_subflows(&minrtt), (Reinjection::Timeout, "minrtt"));
}

#[test]
fn linux_5_15_differs_in_the_send_buffer_and_its_scheduler() {
    let wanted = TcpConfig::clone(&transport("linux", "tcp").tcp).with(|c| {
        c.buffers.send_buffer =
            SendBuffer::Expand { max: Bytes(4 << 20), connection: ConnectionBuffer::Largest };
        c.ack.pushed = AckPushed::Short;
    });
    let before = transport("linux-5.15", "mptcp");
    assert_eq!(*before.tcp, wanted);
    assert_eq!(several_subflows(&before), (Reinjection::Upstream, "minratio"));
    assert_eq!(before.mptcp.as_ref().expect("MPTCP").scheduler.options.choice("kernel"), "5.15");
}

fn several_subflows(transport: &Transport) -> (Reinjection, &'static str) {
    let mptcp = transport.mptcp.as_ref().expect("MPTCP");
    (mptcp.config.reinjection, mptcp.scheduler.name())
}

#[test]
fn ns3() {
    let transport = transport("ns3", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("newreno"));
    let wanted = TcpConfig {
        segment: SegmentConfig { mss: Bytes(1000), header: Bytes(40), overhead: Bytes(0) },
        window: WindowConfig {
            initial_window: 1,
            initial_ssthresh: Bytes(655_350),
            growth: growth(1, false),
            counts: CwndCounts::Bytes,
            ssthresh_from: SsthreshFrom::Flight,
            idle_restart: IdleRestart::Never,
            flight_limit: Bytes::MAX,
        },
        timers: TimerConfig { rto: rto(3000, 200, 120_000, 1, RtoFloor::Total), syn_retries: 6, retries: 15 },
        ack: ack(2, 200, 0),
        options: OptionConfig { sack: false, timestamps: false, ecn: false, window_scaling: true },
        recovery: RecoveryConfig {
            kind: RecoveryKind::NewReno,
            reliability: Reliability::Acknowledged,
            prr: false,
            prr_rule: PrrRule::Rfc,
            undo_rule: UndoRule::Never,
            dupthresh: 3,
            loss_means: LossMeans::Congestion,
            limited_transmit: false,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
        },
        sending: SendingConfig {
            pacing: false,
            pacing_rule: PacingRule::Ideal,
            quantum_rule: QuantumRule::None,
            nagle: false,
            minshall: false,
        },
        buffers: BufferConfig {
            receive_buffer: Bytes(5_000_000),
            receive_buffer_max: Bytes(5_000_000),
            receive_counts: ReceiveCounts::Payload,
            send_buffer: SendBuffer::Fixed(Bytes(5_000_000)),
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        },
    };
    assert_eq!(*transport.tcp, wanted);
}

#[test]
fn opnet2007() {
    let transport = transport("opnet2007", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("newreno"));
    let wanted = TcpConfig {
        segment: SegmentConfig { mss: Bytes(1460), header: Bytes(40), overhead: Bytes(0) },
        window: WindowConfig {
            initial_window: 2,
            initial_ssthresh: Bytes(65_535),
            growth: growth(1, false),
            counts: CwndCounts::Bytes,
            ssthresh_from: SsthreshFrom::Flight,
            idle_restart: IdleRestart::Initial,
            flight_limit: Bytes::MAX,
        },
        timers: TimerConfig {
            rto: rto(3000, 1000, 64_000, 500, RtoFloor::Total),
            syn_retries: 6,
            retries: 6,
        },
        ack: ack(2, 200, 0),
        options: OptionConfig { sack: true, timestamps: false, ecn: false, window_scaling: false },
        recovery: RecoveryConfig {
            kind: RecoveryKind::Sack,
            reliability: Reliability::Acknowledged,
            prr: false,
            prr_rule: PrrRule::Rfc,
            undo_rule: UndoRule::Never,
            dupthresh: 3,
            loss_means: LossMeans::Congestion,
            limited_transmit: false,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
        },
        sending: SendingConfig {
            pacing: false,
            pacing_rule: PacingRule::Ideal,
            quantum_rule: QuantumRule::None,
            nagle: false,
            minshall: false,
        },
        buffers: BufferConfig {
            receive_buffer: Bytes(128 << 10),
            receive_buffer_max: Bytes(128 << 10),
            receive_counts: ReceiveCounts::Payload,
            send_buffer: SendBuffer::Fixed(Bytes(128 << 10)),
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        },
    };
    assert_eq!(*transport.tcp, wanted);
}

/// RFC 9293 section 3.8.3: "In particular, R2 for a SYN segment MUST be set large enough to provide retransmission of the
/// segment for at least 3 minutes."
///
/// Seven retransmissions, the first after a second, then twice as late each time and at most 60 s: 183 s.
#[test]
fn rfc() {
    let transport = transport("rfc", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("newreno"));
    let wanted = TcpConfig {
        segment: SegmentConfig { mss: Bytes(1460), header: Bytes(40), overhead: Bytes(0) },
        window: WindowConfig {
            initial_window: 10,
            initial_ssthresh: Bytes::MAX,
            growth: growth(1, true),
            counts: CwndCounts::Bytes,
            ssthresh_from: SsthreshFrom::Flight,
            idle_restart: IdleRestart::Initial,
            flight_limit: Bytes::MAX,
        },
        timers: TimerConfig {
            rto: rto(1000, 1000, 60_000, 100, RtoFloor::Total),
            syn_retries: 7,
            retries: 15,
        },
        ack: ack(2, 200, 0),
        options: OptionConfig { sack: true, timestamps: true, ecn: false, window_scaling: true },
        recovery: RecoveryConfig {
            kind: RecoveryKind::Sack,
            reliability: Reliability::Acknowledged,
            prr: true,
            prr_rule: PrrRule::Rfc,
            undo_rule: UndoRule::Never,
            dupthresh: 3,
            loss_means: LossMeans::Congestion,
            limited_transmit: true,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
        },
        sending: SendingConfig {
            pacing: false,
            pacing_rule: PacingRule::Ideal,
            quantum_rule: QuantumRule::None,
            nagle: true,
            minshall: false,
        },
        buffers: BufferConfig {
            receive_buffer: Bytes(4_000_000),
            receive_buffer_max: Bytes(4_000_000),
            receive_counts: ReceiveCounts::Payload,
            send_buffer: SendBuffer::Fixed(Bytes(4_000_000)),
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        },
    };
    assert_eq!(*transport.tcp, wanted);
}

/// The values that the two profiles for space links share.
fn space(ack: AckConfig, reliability: Reliability, loss_means: LossMeans) -> TcpConfig {
    let stp = reliability == Reliability::Poll;
    TcpConfig {
        segment: SegmentConfig { mss: Bytes(1460), header: Bytes(40), overhead: Bytes(0) },
        window: WindowConfig {
            initial_window: 10,
            initial_ssthresh: if stp { Bytes::MAX } else { Bytes(65_535) },
            growth: growth(u32::MAX, true),
            counts: CwndCounts::Bytes,
            ssthresh_from: SsthreshFrom::Flight,
            idle_restart: IdleRestart::Never,
            flight_limit: Bytes::MAX,
        },
        timers: TimerConfig {
            rto: rto(1000, 1000, 60_000, 1, RtoFloor::Total),
            syn_retries: 7,
            retries: if stp { 15 } else { 255 },
        },
        ack,
        options: OptionConfig { sack: false, timestamps: false, ecn: false, window_scaling: true },
        recovery: RecoveryConfig {
            reliability,
            kind: RecoveryKind::NewReno,
            prr: false,
            prr_rule: PrrRule::Rfc,
            undo_rule: UndoRule::Never,
            dupthresh: 3,
            loss_means,
            limited_transmit: false,
            multiple_fast_retransmits: false,
            flight_after_timeout: FlightAfterTimeout::Retransmitted,
        },
        sending: SendingConfig {
            pacing: true,
            pacing_rule: PacingRule::Ideal,
            quantum_rule: QuantumRule::None,
            nagle: false,
            minshall: false,
        },
        buffers: BufferConfig {
            receive_buffer: Bytes(16_000_000),
            receive_buffer_max: Bytes(16_000_000),
            receive_counts: ReceiveCounts::Payload,
            send_buffer: SendBuffer::Fixed(Bytes(16_000_000)),
            header_room: Bytes(320),
            unsent_limit: Bytes::MAX,
        },
    }
}

#[test]
fn scps() {
    let transport = transport("scps", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("vegas"));
    let ack = AckConfig { per_round_trip: 2, ..ack(2, 200, 0) };
    let reliability = Reliability::Snack { peer_capable: true };
    assert_eq!(*transport.tcp, space(ack, reliability, LossMeans::Corruption));
}

#[test]
fn stp() {
    let transport = transport("stp", "tcp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("newreno"));
    assert_eq!(*transport.tcp, space(ack(2, 200, 0), Reliability::Poll, LossMeans::Congestion));
}

#[test]
fn subflows_differ_where_the_profile_says_so() {
    let names = |profile| {
        let transport = transport(profile, "mptcp");
        (transport.congestion.unwrap().name(), transport.mptcp.unwrap().scheduler.name())
    };
    assert_eq!(names("linux"), ("cubic", "minratio"));
    assert_eq!(names("linux-minrtt"), ("cubic", "minrtt"));
    assert_eq!(names("ns3"), ("lia", "roundrobin"));
    assert_eq!(names("opnet2007"), ("newreno", "minrtt"));
    assert_eq!(names("rfc"), ("newreno", "minrtt"));
}

/// RFC 9260, with the buffers of all profiles.
fn usual_association() -> SctpConfig {
    let usual = SctpConfig::default();
    let size = Bytes(4_000_000);
    SctpConfig { buffers: SctpBufferConfig { send: size, receive: size, ..usual.buffers }, ..usual }
}

/// Decisions of the text of the document, and RFC 4960 section 15.
#[test]
fn inet() {
    let transport = transport("inet", "cmt-sctp");
    assert_eq!(transport.congestion.as_ref().map(Choice::name), Some("sctp"));
    let sctp = transport.sctp.expect("associations");
    assert_eq!(sctp.scheduler.as_ref().map(Choice::name), Some("primary_first"));
    let usual = usual_association();
    let wanted = SctpConfig {
        recovery: SctpRecoveryConfig { rto: rto(3000, 1000, 60_000, 1, RtoFloor::Total), ..usual.recovery },
        heartbeat: HeartbeatConfig { interval: Nanos::from_secs(30), confirm: false },
        window: SctpWindowConfig {
            initial: InitialWindow::Rfc4960,
            burst: MaxBurst::UseItOrLoseIt(4),
            ..usual.window
        },
        sack: SackConfig { eager: EagerSack::First, ..usual.sack },
        data_is_cookie_ack: true,
        cmt: Some(CmtConfig {
            retransmission: RetransmissionPolicy::LowestRtt,
            split: BufferSplit::Both,
            split_by: Occupancy::Queued,
            window_update: WindowUpdate::V2,
            reductions: Reductions::Once,
            rescheduling: Rescheduling {
                at: BufferSplit::Both,
                threshold: Ratio::new(0.5).unwrap(),
                reduces: true,
            },
            delayed_ack: true,
        }),
        ..usual
    };
    assert_eq!(*sctp.config, wanted);
    assert_eq!(self::transport("inet", "tcp").tcp.ack.every, 1);
}

/// libusrsctp 0.9.5.
#[test]
fn freebsd() {
    let transport = transport("freebsd", "cmt-sctp");
    let congestion = transport.congestion.expect("a congestion control");
    assert_eq!((congestion.name(), congestion.options.choice("rules").as_str()), ("sctp", "freebsd"));
    let sctp = transport.sctp.expect("associations");
    assert_eq!(sctp.scheduler.as_ref().map(Choice::name), Some("roundrobin_pass"));
    let usual = usual_association();
    let wanted = SctpConfig {
        recovery: SctpRecoveryConfig {
            rto: rto(3000, 1000, 60_000, 1, RtoFloor::Total),
            fast_retransmit: FastRetransmit::All,
            ..usual.recovery
        },
        window: SctpWindowConfig {
            initial: InitialWindow::Bytes(Bytes(4464)),
            burst: MaxBurst::WindowLimiting(4),
            idle_decay: false,
            ..usual.window
        },
        buffers: SctpBufferConfig { chunk_overhead: Bytes(256), ..usual.buffers },
        sack: SackConfig { eager: EagerSack::WithDepartures, ..usual.sack },
        data_is_cookie_ack: true,
        cmt: Some(CmtConfig {
            retransmission: RetransmissionPolicy::LargestWindow,
            // Absent in the file, since buffers are not split.
            split: BufferSplit::Off,
            reductions: Reductions::Each,
            delayed_ack: false,
            ..CmtConfig::default()
        }),
        ..usual
    };
    assert_eq!(*sctp.config, wanted);
}

/// RFC 9260 section 16; the buffers are chosen.
#[test]
fn rfc_of_associations() {
    let sctp = transport("rfc", "cmt-sctp").sctp.expect("associations");
    assert_eq!(sctp.scheduler.as_ref().map(Choice::name), Some("roundrobin_window"));
    let cmt = sctp.config.cmt.expect("concurrent transfer");
    assert_eq!(
        cmt,
        CmtConfig {
            rescheduling: Rescheduling { at: BufferSplit::Off, ..cmt.rescheduling },
            ..CmtConfig::default()
        }
    );
    let usual = usual_association();
    let recovery =
        SctpRecoveryConfig { rto: rto(1000, 1000, 60_000, 100, RtoFloor::Total), ..usual.recovery };
    let wanted = SctpConfig { recovery, cmt: Some(cmt), ..usual };
    assert_eq!(*sctp.config, wanted);
}

#[test]
fn each_is_complete_and_listed() {
    let all = profiles();
    let names: Vec<&str> = all.iter().map(|p| p.name).collect();
    assert_eq!(
        names,
        ["linux", "linux-minrtt", "linux-5.15", "ns3", "opnet2007", "rfc", "freebsd", "inet", "scps", "stp"]
    );
    for profile in &all {
        assert!(!profile.summary.is_empty() && !profile.source.is_empty(), "{}", profile.name);
        // All keys of TCP; only `receive_buffer_max` and what asks for a rule of Linux may be missing. Then what differs for subflows.
        let plain = profile.values.iter().filter(|(key, _)| !key.contains('.')).count();
        assert!((39..=48).contains(&plain), "{}: {plain}", profile.name);
        let multipath = profile.values.iter().any(|(key, _)| key == "mptcp.scheduler");
        assert_eq!(multipath, !["scps", "stp"].contains(&profile.name), "{}", profile.name);
    }
    let get = |key: &str| all[3].values.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str());
    assert_eq!((get("mss"), get("mptcp.congestion")), (Some("\"1000B\""), Some("\"lia\"")));
}
