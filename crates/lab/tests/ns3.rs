//! Scenarios on ns-3: translated, refused by key, and run where it is installed.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::{Backend, Ns3, RunError, RunOptions, ns3};
use scenario::{Document, Registries};
use trace::Data;

/// A scenario of the comparison with ns-3.
fn document(name: &str, sets: &[(&str, &str)]) -> Document {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/scenarios").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Document::parse(&text, name, &sets, &Registries::builtin()).unwrap_or_else(|e| panic!("{e}"))
}

fn backend() -> Ns3 {
    Ns3::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ns3"))
}

/// The refusals, one line each.
fn refused(document: &Document) -> Vec<String> {
    let unsupported = backend().unsupported(&document.scenario);
    let Err(mistakes) = document.refuse("ns3", &unsupported) else { return Vec::new() };
    mistakes.iter().map(|one| format!("{} {}: {}", one.code.as_str(), one.key, one.message)).collect()
}

#[test]
fn a_scenario_is_these_arguments() {
    let found = ns3::arguments(&document("download.toml", &[]).scenario).unwrap();
    let lines = found.iter().fold(String::new(), |mut text, (name, value)| {
        writeln!(text, "{name}={value}").unwrap();
        text
    });
    let wanted = "\
bytes=50000000
duration=1500
flows=0:2:0:0:1
links=0:1:5ms:100Mbps/100p/none:100Mbps/100p/none,1:2:250ms:2048kbps/100p/none:256kbps/100p/none
nodes=3
ns3::PointToPointNetDevice::Mtu=1500
ns3::TcpCubic::HyStart=false
ns3::TcpL4Protocol::RecoveryType=ns3::TcpPrrRecovery
ns3::TcpL4Protocol::SocketType=ns3::TcpNewReno
ns3::TcpSocket::DataRetries=15
ns3::TcpSocket::DelAckCount=2
ns3::TcpSocket::DelAckTimeout=200ms
ns3::TcpSocket::InitialCwnd=10
ns3::TcpSocket::InitialSlowStartThreshold=4294967295
ns3::TcpSocket::RcvBufSize=65535
ns3::TcpSocket::SegmentSize=1400
ns3::TcpSocket::SndBufSize=65535
ns3::TcpSocketBase::ClockGranularity=200ms
ns3::TcpSocketBase::LimitedTransmit=true
ns3::TcpSocketBase::MinRto=200ms
ns3::TcpSocketBase::ReTxThreshold=3
ns3::TcpSocketBase::Sack=true
ns3::TcpSocketBase::Timestamp=true
ns3::TcpSocketBase::WindowScaling=false
ns3::TcpWestwood::ProtocolType=WestwoodPlus
write=1638
";
    assert_eq!(lines, wanted);
}

#[test]
fn flows_of_one_count_are_one_entry_and_others_their_own() {
    let many = document("six-rtts.toml", &[]);
    let entries = |document: &Document| ns3::arguments(&document.scenario).unwrap()["flows"].clone();
    assert_eq!(entries(&many).split(',').count(), 6);
    let sets = [("flow.flow1.count", "3"), ("flow.flow1.spread", "2s"), ("flow.flow1.start", "1.5s")];
    assert_eq!(entries(&document("chain.toml", &sets)), "0:5:1.5:2:3");
    let apart = [("flow.flow1.count", "2"), ("flow.flow1.spacing", "250ms")];
    assert_eq!(entries(&document("chain.toml", &apart)), "0:5:0:0:1,0:5:0.25:0:1");
}

#[test]
fn nodes_that_pass_nothing_on_are_named() {
    let found = ns3::arguments(&document("layers.toml", &[]).scenario).unwrap();
    assert_eq!(found["ends"], "0,1,2,3,4,25,26,27,28,29");
    assert_eq!(found["links"].split(',').count(), 2 * (5 * 3 + 3 * 4 + 4 * 6));
}

#[test]
fn what_ns3_has_not_is_refused_by_key() {
    for (key, value) in [
        ("routing.ecmp", "packet"),
        ("link.up.forward.queue", "100kB"),
        ("link.up.forward.queue", "0p"),
        ("link.up.forward.rate", r#"["1Mbit/s", "2Mbit/s"]"#),
        ("link.up.forward.loss", r#"{ kind = "bursty", loss = 0.1, burst = 2 }"#),
        ("link.up.forward.shaper", r#"{ rate = "1Mbit/s", burst = "9kB" }"#),
        ("link.up.forward.faults", "{ corrupt = 0.1 }"),
        ("link.up.reverse.delay", "1ms"),
        ("link.up.forward.strip_mptcp", "true"),
        ("flow.flow1.stop", "10s"),
        ("flow.flow1.app", r#"{ kind = "bulk", connections = 2 }"#),
        ("flow.flow1.app", "ping"),
        ("flow.flow1.transport.congestion", "bbr"),
        ("flow.flow1.transport.congestion", r#"{ kind = "cubic", beta = 0.8 }"#),
        ("flow.flow1.transport.slow_start_limit", "2"),
        ("flow.flow1.transport.header", "60B"),
        ("flow.flow1.transport.overhead", "0B"),
        ("flow.flow1.transport.rto_initial", "1s"),
        ("flow.flow1.transport.rto_max", "120s"),
        ("flow.flow1.transport.rto_floor", "variance"),
        ("flow.flow1.transport.syn_retries", "5"),
        ("flow.flow1.transport.ecn", "true"),
        ("flow.flow1.transport.recovery", "rack"),
        ("flow.flow1.transport.pacing", "true"),
        ("flow.flow1.transport.loss_means", "corruption"),
        ("flow.flow1.transport.nagle", "true"),
        ("flow.flow1.transport.idle_restart", "initial"),
        ("flow.flow1.transport.flight_limit", "1MB"),
        ("flow.flow1.transport.ssthresh_from", "cwnd"),
        ("flow.flow1.transport.receive_counts", "memory"),
        ("flow.flow1.transport.send_buffer", "auto"),
        ("flow.flow1.transport.unsent_limit", "100kB"),
    ] {
        let found = refused(&document("chain.toml", &[(key, value)]));
        let mark = format!("E023 {key}: found ");
        assert!(found.iter().any(|line| line.starts_with(&mark)), "{key} = {value}: {found:#?}");
    }
    let counting =
        [("flow.flow1.transport.congestion", "westwood"), ("flow.flow1.transport.byte_counting", "true")];
    let found = refused(&document("chain.toml", &counting));
    assert!(found[0].starts_with("E023 flow.flow1.transport.byte_counting: found true"), "{found:#?}");
}

#[test]
fn a_refusal_has_place_value_what_is_allowed_and_a_cure() {
    let document = document("chain.toml", &[("flow.flow1.transport.recovery", "rack")]);
    let unsupported = backend().unsupported(&document.scenario);
    let text = document.refuse("ns3", &unsupported).unwrap_err().to_string();
    let wanted = "\
--set:1:31: flow.flow1.transport.recovery: found \"rack\", which ns3 cannot run; allowed: \"sack\" with sack and prr, or \
\"newreno\" without both [E023]
   | flow.flow1.transport.recovery=rack
   |                               ^^^^
  fix: use the back end simulator, which runs everything";
    assert_eq!(text, wanted);
}

#[test]
fn what_is_refused_is_refused_before_anything_is_built() {
    let nowhere = Ns3::new("/nowhere/at/all".into());
    let document = document("chain.toml", &[("flow.flow1.transport.pacing", "true")]);
    let options =
        RunOptions { seeds: vec![1], jobs: NonZeroUsize::MIN, series: false, trace: false, capture: None };
    let outcome = lab::run_on(&nowhere, &document, &options, &|_, _| (), &AtomicBool::new(false));
    assert!(matches!(outcome, Err(RunError::Unsupported(_))), "{outcome:?}");
}

#[test]
fn it_runs_where_it_is_installed() {
    let backend = backend();
    let sets = [("duration", "10s"), ("flow.flow1.app.size", "100kB")];
    let document = document("chain.toml", &sets);
    let options =
        RunOptions { seeds: vec![1, 2], jobs: NonZeroUsize::MIN, series: true, trace: true, capture: None };
    let never = AtomicBool::new(false);
    let outcome = lab::run_on(&backend, &document, &options, &|_, _| (), &never);
    if ns3::installed().is_none() {
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("ns-3 is not installed\n  fix: on Debian 12"), "{error}");
        return;
    }
    let output = outcome.unwrap_or_else(|e| panic!("{e}"));
    let table = |name: &str| output.tables.iter().find(|table| table.name == name).unwrap();
    let flows = table("flows");
    assert_eq!(flows.column("delivered_bytes"), Some(&Data::Integer(vec![100_000; 2])));
    assert_eq!(flows.column("completed"), Some(&Data::Flag(vec![true; 2])));
    assert_eq!(flows.column("timeouts"), Some(&Data::OptionalInteger(vec![None; 2])));
    let Some(Data::Real(times)) = flows.column("completion_s") else { panic!("they are measured") };
    assert!(times.iter().all(|time| time.is_some_and(|time| (0.5..10.0).contains(&time))), "{times:?}");
    assert_eq!(output.totals.events, None);
    assert!(output.totals.packet_hops > 400, "{}", output.totals.packet_hops);
    assert!(table("links").column("link").unwrap().is_empty());
    assert!(output.traces.is_empty());
    let cancelled = lab::run_on(&backend, &document, &options, &|_, _| (), &AtomicBool::new(true));
    assert_eq!(cancelled, Err(RunError::Cancelled));
}
