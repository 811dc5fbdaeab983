//! Whatever is lost, reordered, duplicated or cut off: every byte arrives once and in order, the windows stay
//! sane, and the transfer ends.

use proptest::collection::vec;
use proptest::prelude::*;
use testkit::{Duo, Fault, Reading, Way, Wire, setups};
use transport::config::{PathManager, RecoveryKind, Reinjection, RtoFloor, TcpConfig};
use units::{Bytes, Nanos, SimTime};

/// One way of losing things on `wires` wires.
fn fault(wires: usize) -> impl Strategy<Value = Fault> {
    let way = prop_oneof![Just(Way::Up), Just(Way::Down)];
    let place = (0..wires, way, 0u64..120);
    prop_oneof![
        4 => place.clone().prop_map(|(wire, way, n)| Fault::Drop { wire, way, n }),
        2 => (place.clone(), 1u64..400).prop_map(|((wire, way, n), ms)| Fault::Late {
            wire, way, n, by: Nanos::from_millis(ms)
        }),
        1 => place.prop_map(|(wire, way, n)| Fault::Twice { wire, way, n }),
        1 => (0..wires, 0u64..8_000, 1u64..4_000).prop_map(|(wire, from, len)| Fault::Cut {
            wire, from: SimTime::from_millis(from), until: SimTime::from_millis(from + len)
        }),
        1 => (0..wires, 1u32..300).prop_map(|(wire, per_mille)| Fault::Noise { wire, per_mille }),
    ]
}

prop_compose! {
    fn tcp_config()(
        kind in 0..3usize,
        (prr, timestamps, limited_transmit, nagle, idle_restart) in any::<(bool, bool, bool, bool, bool)>(),
        (ack_every, quick) in (1u32..4, 0u32..6),
        buffer in prop_oneof![300u64..6_000, 20_000u64..200_000],
        scaling in any::<bool>(),
        initial_window in 1u32..12,
        sack in any::<bool>(),
        (dupthresh, variance) in (2u32..6, any::<bool>()),
    ) -> TcpConfig {
        let mut config = setups::tcp();
        config.recovery = [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack][kind];
        config.sack = sack || kind > 0;
        config.prr = prr && kind > 0;
        config.timestamps = timestamps;
        config.limited_transmit = limited_transmit;
        config.nagle = nagle;
        config.idle_restart = idle_restart;
        config.ack.every = ack_every;
        config.ack.quick = quick;
        config.receive_buffer = Bytes(buffer);
        config.receive_buffer_max = Bytes(buffer);
        config.window_scaling = scaling;
        config.dupthresh = dupthresh;
        config.rto.floor = if variance { RtoFloor::Variance } else { RtoFloor::Total };
        config.initial_window = initial_window;
        // Nobody gives up: the faults end, so must the transfer.
        config.retries = 60;
        config.syn_retries = 60;
        config.rto.max = Nanos::from_secs(8);
        config
    }
}

/// Every registered congestion control, by name.
fn any_control() -> impl Strategy<Value = &'static str> {
    let names: Vec<_> = congestion::Registry::builtin().iter().map(|row| row.name).collect();
    proptest::sample::select(names)
}

/// Every registered scheduler, by name.
fn any_scheduler() -> impl Strategy<Value = &'static str> {
    let names: Vec<_> = schedulers::Registry::builtin().iter().map(|row| row.name).collect();
    proptest::sample::select(names)
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        3 => Just(Reading::AtOnce),
        1 => (500u64..5_000, 5u64..300).prop_map(|(n, ms)| Reading::Slowly(Bytes(n), Nanos::from_millis(ms))),
    ]
}

fn wires(n: usize) -> impl Strategy<Value = Vec<Wire>> {
    let wire = (1u64..300, prop_oneof![Just(None), (1u64..20).prop_map(Some)]).prop_map(|(ms, mbit)| Wire {
        delay: Nanos::from_millis(ms),
        rate: mbit.map(|m| units::BitsPerSecond(m * 1_000_000)),
    });
    vec(wire, n)
}

/// Runs are short, so many are cheap; PROPTEST_CASES asks for more.
fn cases() -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(2_000), ..ProptestConfig::default() }
}

/// Simulated time in which any of these transfers must be over.
const LONG: SimTime = SimTime::from_secs(3_000);

/// Runs it to the end. Windows are checked at every step; what did not arrive is reported.
fn delivers(duo: Duo, download: bool, mss: u64, total: u64) -> Result<(), TestCaseError> {
    let mut duo = duo.watching(Bytes(mss));
    if download {
        duo = duo.download();
    }
    let arrived = duo.run(LONG);
    prop_assert!(arrived, "delivered {} of {total} at {}", duo.receiver().delivered(), duo.now());
    prop_assert_eq!(duo.receiver().delivered(), Bytes(total));
    prop_assert_eq!((duo.client.failure(), duo.server.failure()), (None, None));
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn tcp_delivers_everything(
        config in tcp_config(),
        control in any_control(),
        wires in wires(1),
        faults in vec(fault(1), 0..60),
        reading in reading(),
        total in 1u64..150_000,
        (download, seed) in any::<(bool, u64)>(),
    ) {
        let (client, server) = setups::tcp_pair(&config, control);
        let duo = Duo::new(client, server, wires, Bytes(total)).with_faults(faults, seed).with_reading(reading);
        delivers(duo, download, config.mss.0, total)?;
    }
}

fn path_manager() -> impl Strategy<Value = PathManager> {
    prop_oneof![
        (1u32..3).prop_map(|subflows| PathManager::PerPath { subflows }),
        (1u32..3).prop_map(|subflows| PathManager::FullMesh { subflows }),
        (1u32..5).prop_map(|subflows| PathManager::NdiffPorts { subflows }),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn mptcp_delivers_everything(
        config in tcp_config(),
        (control, scheduler) in (
            any_control(),
            any_scheduler(),
        ),
        manager in path_manager(),
        (death, wide, checksum) in any::<(bool, bool, bool)>(),
        (paths, wires, faults) in (1usize..5).prop_flat_map(|n| (Just(n), wires(n), vec(fault(n), 0..80))),
        reading in reading(),
        total in 1u64..150_000,
        (download, seed) in any::<(bool, u64)>(),
    ) {
        let mut mptcp = setups::mptcp();
        mptcp.path_manager = manager;
        mptcp.reinjection = if death { Reinjection::Death } else { Reinjection::Timeout };
        mptcp.wide_sequence = wide;
        mptcp.checksum = checksum;
        let (client, server) = setups::mptcp_pair(&config, &mptcp, control, scheduler, paths as u8);
        let duo = Duo::new(client, server, wires, Bytes(total)).with_faults(faults, seed).with_reading(reading);
        delivers(duo, download, config.mss.0 - 28, total)?;
    }

    /// Up to 30 % loss both ways on every path for the whole transfer, up to eight subflows, tiny windows.
    #[test]
    fn mptcp_delivers_everything_through_heavy_noise(
        config in tcp_config(),
        (control, scheduler) in (
            any_control(),
            any_scheduler(),
        ),
        (death, wide) in any::<(bool, bool)>(),
        (paths, subflows) in prop_oneof![Just((1, 8u32)), Just((2, 4)), Just((4, 2)), Just((8, 1)), Just((3, 1))],
        (wires, noises) in (wires(8), vec(0u32..=300, 8)),
        reading in reading(),
        total in 1u64..40_000,
        (download, seed) in any::<(bool, u64)>(),
    ) {
        let mut mptcp = setups::mptcp();
        mptcp.path_manager = PathManager::PerPath { subflows };
        mptcp.reinjection = if death { Reinjection::Death } else { Reinjection::Timeout };
        mptcp.wide_sequence = wide;
        let (client, server) = setups::mptcp_pair(&config, &mptcp, control, scheduler, paths);
        let noise = |(wire, per_mille)| Fault::Noise { wire, per_mille };
        let faults = noises.into_iter().enumerate().map(noise).collect();
        let duo = Duo::new(client, server, wires, Bytes(total)).with_faults(faults, seed).with_reading(reading);
        delivers(duo, download, config.mss.0 - 28, total)?;
    }

    /// After the first exchange any proper subset of the paths may die for ever.
    #[test]
    fn mptcp_survives_the_death_of_all_paths_but_one(
        kind in 0..3usize,
        survivor in 0usize..3,
        cuts in vec(1_500u64..9_000, 3),
        manager in prop_oneof![
            Just(PathManager::PerPath { subflows: 1 }), Just(PathManager::FullMesh { subflows: 1 })
        ],
        total in 50_000u64..2_000_000,
        seed: u64,
    ) {
        let mut config = setups::tcp();
        config.recovery = [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::Rack][kind];
        config.sack = kind > 0;
        let mut mptcp = setups::mptcp();
        mptcp.path_manager = manager;
        let wires: Vec<_> = [40, 150, 280].iter().map(|ms| Wire {
            delay: Nanos::from_millis(*ms), rate: Some(units::BitsPerSecond(2_000_000))
        }).collect();
        let faults = cuts.iter().enumerate().filter(|(i, _)| *i != survivor).map(|(wire, from)| Fault::Cut {
            wire, from: SimTime::from_millis(*from), until: SimTime::NEVER
        }).collect();
        let (client, server) = setups::mptcp_pair(&config, &mptcp, "lia", "minrtt", 3);
        let mut duo = Duo::new(client, server, wires, Bytes(total)).with_faults(faults, seed);
        prop_assert!(duo.run(LONG), "delivered {} of {total} at {}", duo.server.delivered(), duo.now());
    }
}

#[test]
fn a_peer_without_mptcp_gets_plain_tcp() {
    let mut mptcp = setups::mptcp();
    mptcp.peer_capable = false;
    let (client, server) = setups::mptcp_pair(&setups::tcp(), &mptcp, "lia", "minrtt", 2);
    let wire = Wire { delay: Nanos::from_millis(20), rate: None };
    let mut duo = Duo::new(client, server, vec![wire; 2], Bytes(500_000));
    assert!(duo.run(LONG));
    assert!(duo.client.fell_back() && duo.server.fell_back());
    assert!(duo.client.is_closed() && duo.server.is_closed());
    assert_eq!(duo.data_segments[1], 0);
}
