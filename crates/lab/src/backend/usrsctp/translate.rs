//! From a checked scenario to associations of the library.
//!
//! The model is taken apart field by field: a new key of scenarios does not compile here before it is
//! translated, is what the library does anyway, or is refused.

use congestion::Congestion;
use registry::{Family, OptionValue};
use scenario::model::{Choice, Flow, Scenario, Transport};
use scenario::{Part, Unsupported};
use transport::config::RtoConfig;
use transport::sctp::SctpConfig;
use transport::sctp::config::{
    BufferSplit, CmtConfig, EagerSack, FastRetransmit, HeartbeatConfig, InitialWindow, MaxBurst, Occupancy,
    PacketConfig, Reductions, Rescheduling, RetransmissionLimits, RetransmissionPolicy, SackConfig,
    SctpBufferConfig, SctpRecoveryConfig, SctpWindowConfig, StreamConfig, TimerDefects, WindowUpdate,
};
use units::{Bytes, Nanos};

use super::rules;
use super::settings::{Association, Cmt, Settings, Traffic};
use crate::backend::refusals::Refusals;

/// Keys of another profile that are refused one by one; more are the profile's.
const FEW: usize = 2;
const MILLISECOND: Nanos = Nanos::from_millis(1);
/// The program has a buffer of this size for one message.
const LARGEST_MESSAGE: Bytes = Bytes(1 << 20);

/// Initial window of the library: three packets of 1500 bytes without the common header.
const INITIAL_WINDOW: Bytes = Bytes(4464);

/// An association over one path at a time has none of it.
const SINGLE: CmtConfig = CmtConfig {
    retransmission: RetransmissionPolicy::LargestWindow,
    split: BufferSplit::Off,
    split_by: Occupancy::Flight,
    window_update: WindowUpdate::V2,
    reductions: Reductions::Each,
    rescheduling: Rescheduling::OFF,
    delayed_ack: false,
};

/// The associations of all flows.
///
/// # Errors
/// Keys that the library has nothing for.
pub(super) fn associations(scenario: &Scenario) -> Result<Vec<Association>, Vec<Unsupported>> {
    let Scenario {
        name: _,
        description: _,
        duration: _,
        seeds: _,
        jitter: _,
        ecmp: _,
        record_interval: _,
        nodes: _,
        duplex_links: _,
        proxies,
        flows,
        events: _,
        flow_events,
    } = scenario;
    let mut refused = Refusals::default();
    refused.unless(flow_events.is_empty(), Part::Scenario, rules::EVENT);
    refused.unless(proxies.is_empty(), Part::Scenario, rules::PROXY);
    let one = |(index, flow)| association(index, flow, scenario, &mut refused);
    let found: Vec<Association> = flows.iter().enumerate().filter_map(one).collect();
    if refused.is_empty() { Ok(found) } else { Err(refused.into_list()) }
}

fn association(
    index: usize,
    flow: &Flow,
    scenario: &Scenario,
    refused: &mut Refusals,
) -> Option<Association> {
    let Flow {
        name: _,
        from,
        to,
        opened_by_receiver,
        start,
        after,
        spread,
        stop,
        app,
        transport,
        via,
        compare_paths,
    } = flow;
    let part = Part::Flow(index);
    refused.unless(!opened_by_receiver, part, rules::OPENED_BY);
    refused.unless(after.is_empty(), part, rules::AFTER);
    refused.unless(*spread == Nanos::ZERO, part, rules::SPREAD);
    refused.unless(stop.0 == scenario.duration.0, part, rules::STOP);
    // The library uses the path to the first address.
    let first = || scenario.duplex_links.iter().position(|link| link.ends.contains(from));
    refused.unless(via.is_none() || *via == first(), part, rules::VIA);
    refused.unless(!compare_paths, part, rules::COMPARE);
    let (settings, (message, unordered)) = settings(part, transport, refused)?;
    let count = frames(part, app, message, refused);
    let traffic = Traffic { count, unordered, ..Traffic::bulk(message) };
    Some(Association { from: *from, to: *to, start: *start, traffic, settings })
}

/// Messages of a bulk transfer; `None`: it has no end.
fn frames(part: Part, app: &Choice<apps::Apps>, message: Bytes, refused: &mut Refusals) -> Option<u64> {
    let mut count = None;
    let plain = app.options.iter().all(|(name, value)| match (name, value) {
        ("size", OptionValue::Size(Bytes::MAX)) => true,
        ("size", OptionValue::Size(size)) => {
            count = Some(size.0 / message.0.max(1));
            size.0.is_multiple_of(message.0.max(1))
        }
        ("duration", value) => *value == OptionValue::Duration(Nanos(u64::MAX)),
        ("write_size", value) => *value == OptionValue::Size(Bytes::MAX),
        ("read_rate", value) => *value == OptionValue::Rate(units::BitsPerSecond(u64::MAX)),
        ("repeat" | "connections", value) => *value == OptionValue::Integer(1),
        ("think", value) => *value == OptionValue::Duration(Nanos::ZERO),
        _ => false,
    });
    refused.unless(app.name() == "bulk" && plain, part, rules::APP);
    count
}

/// Settings of both ends, the size of messages, and whether they are unordered.
fn settings(part: Part, transport: &Transport, refused: &mut Refusals) -> Option<(Settings, (Bytes, bool))> {
    let Transport { profile, tcp: _, congestion, mptcp: _, sctp, udp: _ } = transport;
    let kept = refused.count();
    let Some(scenario::model::Associations { config, scheduler, single_homed: _ }) = sctp else {
        refused.add(part, rules::KIND);
        return None;
    };
    refused.unless(takes_turns(scheduler.as_ref()), part, rules::SCHEDULER);
    let coupling = congestion.as_ref().and_then(coupling);
    refused.unless(
        coupling.is_some() && (config.cmt.is_some() || coupling == Some(Cmt::Base)),
        part,
        rules::CONGESTION,
    );
    let coupling = coupling.unwrap_or_default();
    let SctpConfig { packet, streams, recovery, sack, heartbeat, data_is_cookie_ack, window, buffers, cmt } =
        **config;
    let PacketConfig { payload, ip_header, overhead } = packet;
    let StreamConfig { count: streams, message, unordered } = streams;
    let SctpRecoveryConfig { rto, limits, missing_reports, fast_retransmit, timer_defects } = recovery;
    let SctpWindowConfig { initial: initial_cwnd, initial_ssthresh, idle_decay, burst } = window;
    let SctpBufferConfig { send: send_buffer, receive: receive_buffer, chunk_overhead } = buffers;
    refused.unless(payload == Bytes(1452), part, rules::MSS);
    refused.unless(ip_header == Bytes(20), part, rules::HEADER);
    refused.unless((Bytes(8)..=LARGEST_MESSAGE).contains(&message), part, rules::MESSAGE);
    refused.unless(streams == 1, part, rules::STREAMS);
    refused.unless(missing_reports == 3, part, rules::DUPTHRESH);
    refused.unless(fast_retransmit == FastRetransmit::All, part, rules::FAST_RETRANSMIT);
    refused.unless(initial_cwnd == InitialWindow::Bytes(INITIAL_WINDOW), part, rules::INITIAL_CWND);
    refused.unless(initial_ssthresh.is_none(), part, rules::SSTHRESH);
    refused.unless(timer_defects == TimerDefects::Both, part, rules::TIMER_DEFECTS);
    refused.unless(data_is_cookie_ack, part, rules::COOKIE);
    refused.unless(!idle_decay, part, rules::IDLE);
    of_paths(part, (heartbeat, burst), refused);
    let mut sysctls = times(part, (rto, sack, limits), refused);
    let charged = u32::try_from(chunk_overhead.0).unwrap_or(u32::MAX);
    sysctls.push(("sctp_peer_chunk_oh".to_owned(), charged));
    let (split, delayed_ack) = concurrent(part, cmt.unwrap_or(SINGLE), refused);
    let settings = Settings {
        cmt: if cmt.is_some() { coupling } else { Cmt::Off },
        nr_sack: sack.non_renegable,
        dac: delayed_ack,
        split_send: split.at_sender(),
        split_receive: split.at_receiver(),
        send_buffer,
        receive_buffer,
        sack_every: sack.every,
        rto_min: rto.min,
        overhead,
        sysctls,
        ..Settings::default()
    };
    if profile != "freebsd" && refused.count() > kept + FEW {
        refused.replace_from(kept, part, rules::PROFILE);
    }
    Some((settings, (message, unordered)))
}

/// HEARTBEATs and bursts are those that the library has.
fn of_paths(part: Part, (heartbeat, burst): (HeartbeatConfig, MaxBurst), refused: &mut Refusals) {
    let HeartbeatConfig { interval, confirm } = heartbeat;
    refused.unless(interval == Nanos::from_secs(30), part, rules::HEARTBEAT);
    refused.unless(confirm, part, rules::CONFIRM);
    match burst {
        MaxBurst::WindowLimiting(packets) => refused.unless(packets == 4, part, rules::MAX_BURST),
        _ => refused.add(part, rules::BURST),
    }
}

/// Sysctls for times and retransmissions.
fn times(
    part: Part,
    (rto, sack, limits): (RtoConfig, SackConfig, RetransmissionLimits),
    refused: &mut Refusals,
) -> Vec<(String, u32)> {
    let RtoConfig { initial, min, max, granularity, floor: _, estimator: _ } = rto;
    refused.unless(granularity == MILLISECOND, part, rules::GRANULARITY);
    let SackConfig { every: _, eager, delay, non_renegable: _ } = sack;
    refused.unless(eager == EagerSack::WithDepartures, part, rules::EAGER);
    let whole = |time: &Nanos| time.0.is_multiple_of(MILLISECOND.0);
    refused.unless([initial, min, max, delay].iter().all(whole), part, rules::ACK_DELAY);
    let RetransmissionLimits { init, path, association } = limits;
    let ms = |time: Nanos| (time.0 / MILLISECOND.0) as u32;
    let sysctls = [
        ("sctp_rto_initial_default", ms(initial)),
        ("sctp_rto_max_default", ms(max)),
        ("sctp_delayed_sack_time_default", ms(delay)),
        ("sctp_init_rtx_max_default", init),
        ("sctp_path_rtx_max_default", path),
        ("sctp_assoc_rtx_max_default", association),
    ];
    sysctls.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// One packet for each path in turn, or one path.
fn takes_turns<F: Family>(scheduler: Option<&Choice<F>>) -> bool {
    scheduler.is_none_or(|choice| choice.name() == "roundrobin_pass")
}

/// Settings of concurrent transfer that the library has: which buffers are split, and delayed acknowledgements.
fn concurrent(part: Part, config: CmtConfig, refused: &mut Refusals) -> (BufferSplit, bool) {
    let CmtConfig { retransmission, split, split_by, window_update, reductions, rescheduling, delayed_ack } =
        config;
    refused.unless(reductions == Reductions::Each, part, rules::REDUCTIONS);
    let splits = split != BufferSplit::Off;
    refused.unless(!splits || split_by == Occupancy::Flight, part, rules::SPLIT_BY);
    refused.unless(window_update == WindowUpdate::V2, part, rules::WINDOW_UPDATE);
    refused.unless(rescheduling.at == BufferSplit::Off, part, rules::RESCHEDULING);
    refused.unless(retransmission == RetransmissionPolicy::LargestWindow, part, rules::RETRANSMISSION);
    (split, delayed_ack)
}

/// The mode of concurrent transfer with this congestion control, if the library has it.
fn coupling(congestion: &Choice<Congestion>) -> Option<Cmt> {
    let mode = match congestion.name() {
        "mptcp_like" => return Some(Cmt::Mptcp),
        "sctp" => Cmt::Base,
        "rpv1" => Cmt::RpV1,
        "rpv2" => Cmt::RpV2,
        _ => return None,
    };
    (congestion.options.choice("rules") == "freebsd").then_some(mode)
}
