//! The usual way through a machine and the general one lead to the same state: conversations are run in both ways, and
//! the whole state of both ends is compared after each event.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::{Duo, Fault, Way, Wire, setups};
use transport::Connection;
use transport::config::{CwndCounts, QuantumRule, Reassembly, RecoveryKind, RtoRule, SendBuffer, TcpConfig};
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

/// Few enough faults that the usual way opens again between them.
fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let place = || (0..2usize, prop_oneof![Just(Way::Up), Just(Way::Down)], 0u64..300);
    let fault = prop_oneof![
        4 => place().prop_map(|(wire, way, n)| Fault::Drop { wire, way, n }),
        2 => (place(), 1u64..100).prop_map(|((wire, way, n), ms)| Fault::Late {
            wire, way, n, by: Nanos::from_millis(ms)
        }),
        1 => place().prop_map(|(wire, way, n)| Fault::Twice { wire, way, n }),
    ];
    vec(fault, 0..8)
}

fn wires() -> impl Strategy<Value = Vec<Wire>> {
    let wire = (1u64..100, prop_oneof![Just(None), (1u64..20).prop_map(Some)]);
    vec(wire, 2).prop_map(|wires| {
        let rate = |mbit| BitsPerSecond(mbit * 1_000_000);
        wires
            .into_iter()
            .map(|(ms, mbit)| Wire { delay: Nanos::from_millis(ms), rate: mbit.map(rate) })
            .collect()
    })
}

prop_compose! {
    fn config()(
        kind in 0..3usize,
        (prr, timestamps, limited_transmit, nagle, sack) in any::<(bool, bool, bool, bool, bool)>(),
        (every, quick) in (1u32..4, 0u32..6),
        (pacing, ecn, in_segments) in (prop::bool::weighted(0.1), any::<bool>(), any::<bool>()),
        (quanta, peaks) in any::<(bool, bool)>(),
        // With room for everything the sender closes at once, and MPTCP that closes has no usual way.
        send_buffer in prop_oneof![Just(1u64 << 20), 6_000u64..40_000],
        buffer in prop_oneof![Just(1u64 << 20), 3_000u64..50_000],
    ) -> TcpConfig {
        let mut config = setups::tcp();
        config.recovery.kind = [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack][kind];
        config.options.sack = sack || kind > 0;
        config.recovery.prr = prr && kind > 0;
        (config.options.timestamps, config.recovery.limited_transmit, config.sending.nagle) = (timestamps, limited_transmit, nagle);
        (config.ack.every, config.ack.quick, config.sending.pacing, config.options.ecn) = (every, quick, pacing, ecn);
        config.window.counts = if in_segments { CwndCounts::Segments } else { CwndCounts::Bytes };
        config.buffers.send_buffer = SendBuffer::Fixed(Bytes(send_buffer));
        config.sending.quantum_rule = if quanta { QuantumRule::Linux } else { QuantumRule::None };
        config.timers.rto.estimator = if peaks { RtoRule::Linux } else { RtoRule::Rfc };
        (config.buffers.receive_buffer, config.buffers.receive_buffer_max) = (Bytes(buffer), Bytes(buffer));
        config
    }
}

fn names<T: Copy + std::fmt::Debug + 'static>(rows: Vec<T>) -> impl Strategy<Value = T> {
    proptest::sample::select(rows)
}

fn controls() -> impl Strategy<Value = &'static str> {
    names(congestion::Registry::builtin().iter().map(|row| row.name).filter(|n| *n != "adalr").collect())
}

fn schedulers() -> impl Strategy<Value = &'static str> {
    names(schedulers::Registry::builtin().iter().map(|row| row.name).collect())
}

/// Runs the conversation in both ways and compares.
fn compare(
    pair: impl Fn() -> (Connection, Connection),
    (wires, faults, download): (Vec<Wire>, Vec<Fault>, bool),
    total: Bytes,
) -> Result<(), TestCaseError> {
    let run = |general: bool| {
        let (mut client, mut server) = pair();
        if general {
            client.close_usual_way();
            server.close_usual_way();
        }
        let mut duo =
            Duo::new(client, server, wires.clone(), total).with_faults(faults.clone(), 1).with_states();
        if download {
            duo = duo.download();
        }
        let arrived = duo.run(SimTime::from_secs(3_000));
        (arrived, duo)
    };
    let ((usual_arrived, usual), (_, general)) = (run(false), run(true));
    prop_assert!(usual_arrived, "delivered {} of {total}", usual.receiver().delivered());
    let odd = usual.states().iter().zip(general.states()).position(|(a, b)| a != b);
    prop_assert_eq!(odd, None, "the states differ after this event, of {}", usual.states().len());
    prop_assert_eq!(usual.states().len(), general.states().len());
    Ok(())
}

fn cases() -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    ProptestConfig {
        cases: number("PROPTEST_CASES").map_or(30, |n| n as u32),
        rng_seed: RngSeed::Fixed(number("PROPTEST_RNG_SEED").unwrap_or(1)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn tcp_is_the_same_in_both_ways(
        (config, control) in (config(), controls()),
        (wires, faults, download) in (wires(), faults(), any::<bool>()),
        total in 1u64..120_000,
    ) {
        let pair = || setups::tcp_pair(&config, control);
        compare(pair, (wires, faults, download), Bytes(total))?;
    }

    #[test]
    fn mptcp_is_the_same_in_both_ways(
        (config, control, scheduler) in (config(), controls(), schedulers()),
        (wires, faults, download) in (wires(), faults(), any::<bool>()),
        joint: bool,
        total in 1u64..120_000,
    ) {
        // A segment that is given alone never waits, so that the usual way begins no quantum for it, and keeps none.
        let config = config.with(|c| c.sending.quantum_rule = QuantumRule::None);
        let mut mptcp = setups::mptcp();
        mptcp.reassembly = if joint { Reassembly::Joint } else { Reassembly::Separate };
        let pair = || setups::mptcp_pair(&config, &mptcp, control, scheduler, 2);
        compare(pair, (wires, faults, download), Bytes(total))?;
    }
}
