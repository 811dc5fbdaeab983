//! Associations over faulty wires: whatever is lost, repeated or late, every byte arrives once and in order; and the bytes of each
//! packet are as long as the packet and mean it.

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use testkit::setups::{sctp_pair, sctp_pair_with};
use testkit::{Duo, Fault, Reading, Way, Wire};
use transport::sctp::SctpConfig;
use transport::sctp::config::CmtConfig;
use units::{BitsPerSecond, Bytes, Nanos, SimTime};

use common::{any_config, any_control, any_scheduler};

fn wire(delay_ms: u64) -> Wire {
    Wire { delay: Nanos::from_millis(delay_ms), rate: Some(BitsPerSecond(10_000_000)) }
}

/// One way of losing things on `wires` wires. Cuts end after 12 s.
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

#[test]
fn a_transfer_over_one_path() {
    let (client, server) = sctp_pair(&SctpConfig::default(), "sctp", 1);
    let mut duo = Duo::new(client, server, vec![wire(20)], Bytes(1_000_000)).watching(Bytes(1468));
    assert!(duo.run(SimTime::from_secs(60)));
    assert!(duo.client.is_closed() && duo.server.is_closed());
    let stats = duo.client.stats(0);
    assert_eq!((stats.segments_retransmitted, stats.timeouts), (0, 0));
    // 689 packets of 1500 bytes take 0.83 s; slow start from three chunks takes some round trips more.
    assert!(duo.seen.delivered_at < SimTime::from_millis(1500), "{}", duo.seen.delivered_at);
}

fn concurrent(delayed_ack: bool) -> SctpConfig {
    SctpConfig { cmt: Some(CmtConfig { delayed_ack, ..CmtConfig::default() }), ..SctpConfig::default() }
}

/// Test vector CM-1: chunks of a slow path are overtaken by those of a fast one, and nothing is lost: split fast retransmit
/// sends nothing again.
#[test]
fn cm_1_reordering_between_paths_is_no_loss() {
    for delayed_ack in [false, true] {
        // A threshold keeps slow start from filling the queue of the fast path, which has no end.
        let mut config = concurrent(delayed_ack);
        config.window.initial_ssthresh = Some(Bytes(50_000));
        let (client, server) = sctp_pair(&config, "sctp", 2);
        let mut duo = Duo::new(client, server, vec![wire(10), wire(60)], Bytes(12_000_000));
        assert!(duo.run(SimTime::from_secs(60)));
        let stats = [0, 1].map(|path| duo.client.stats(path));
        assert!(stats.iter().all(|path| path.segments_retransmitted == 0), "{stats:?}");
        assert!(stats.iter().all(|path| path.bytes_sent > 2_000_000), "both carry data: {stats:?}");
        // One path needs 9.9 s.
        assert!(duo.seen.delivered_at < SimTime::from_millis(8000), "{}", duo.seen.delivered_at);
    }
}

/// The same with one packet of the slow path lost: it is fast retransmitted, once, without a timeout.
#[test]
fn cm_1_a_loss_is_found_on_its_own_path() {
    let (client, server) = sctp_pair(&concurrent(false), "sctp", 2);
    let lost = Fault::Drop { wire: 1, way: Way::Up, n: 60 };
    let wires = vec![wire(10), wire(60)];
    let mut duo = Duo::new(client, server, wires, Bytes(4_000_000)).with_faults(vec![lost], 1);
    assert!(duo.run(SimTime::from_secs(60)));
    let stats = [0, 1].map(|path| duo.client.stats(path));
    let again: u64 = stats.iter().map(|path| path.segments_retransmitted).sum();
    assert_eq!((again, stats[0].fast_recoveries, stats[1].fast_recoveries), (1, 0, 1), "{stats:?}");
    assert!(stats.iter().all(|path| path.timeouts == 0), "{stats:?}");
}

#[test]
fn the_first_path_breaks_and_the_second_carries_on() {
    let (client, server) = sctp_pair(&SctpConfig::default(), "sctp", 2);
    let cut = Fault::Cut { wire: 0, from: SimTime::from_millis(500), until: SimTime::from_secs(500) };
    let wires = vec![wire(20), wire(50)];
    let mut duo = Duo::new(client, server, wires, Bytes(2_000_000)).with_faults(vec![cut], 1);
    assert!(duo.run(SimTime::from_secs(200)));
    let [first, second] = [0, 1].map(|path| duo.client.stats(path));
    assert!(first.timeouts >= 6, "Path.Max.Retrans is exceeded by the sixth: {first:?}");
    assert!(second.bytes_sent > 1_000_000, "{second:?}");
    assert!(second.reinjected_bytes > 0, "what was lost on the first path");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once(
        config in any_config(), control in any_control(), scheduler in any_scheduler(), paths in 1u8..4, download in any::<bool>(),
        faults in vec(fault(3), 0..12), seed in any::<u64>(), total in 1u64..300_000, slow in any::<bool>(),
    ) {
        let total = total.min(config.streams.message.0 * 200);
        let (client, server) = sctp_pair_with(&config, control, scheduler, paths);
        let wires = (0..paths).map(|i| wire(10 + 40 * u64::from(i))).collect();
        let mut duo = Duo::new(client, server, wires, Bytes(total)).with_faults(faults, seed).with_chunks(&config);
        if download {
            duo = duo.download();
        }
        if slow {
            duo = duo.with_reading(Reading::Slowly(Bytes(1500), Nanos::from_millis(20)));
        }
        prop_assert!(duo.run(SimTime::from_secs(4000)), "{:?} {:?}", duo.client, duo.server);
    }
}
