//! Links that lose packets, change and fail while a run goes on.

use proptest::prelude::*;
use units::{Bytes, SimTime};

use super::*;

fn event(at: &str, set: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nlink = \"beam\"\nset = {{ {set} }}\n")
}

#[test]
fn an_outage_stops_everything_and_ends() {
    let events = event("5s", "up = false") + &event("8s", "up = true");
    let record = checked(&one_path("", "", "", &events), 1);
    let times = |event: &str| -> Vec<u64> {
        lines(&record).filter(|w| w[1] == event).map(|w| w[0].parse::<u64>().unwrap()).collect()
    };
    assert!(
        !times("recv").iter().any(|t| (5_100_001..8_100_000).contains(t)),
        "only what was in propagation"
    );
    assert!(times("recv").iter().any(|t| (8_100_000..9_000_000).contains(t)), "what waited arrives");
    assert_eq!(times("drop-down"), [5_000_000], "the packet on the transmitter");
    assert!(!times("timeout").is_empty());
    assert_eq!((times("down"), times("up")), (vec![5_000_000; 2], vec![8_000_000; 2]), "both directions");
    assert_eq!(record.links[0].drops_down, 1);
    assert!(record.flows[0].failure.is_none());
    let after = times("recv").iter().filter(|t| **t > 12_000_000).count();
    assert!(after > 1000, "it goes on: {after}");
}

#[test]
fn rate_and_delay_change_under_way() {
    let events = event("10s", "rate = \"2Mbit/s\", delay = \"20ms\", queue = \"20p\"");
    let record = checked(&one_path("", "", "", &events), 1);
    let received = |from: u64, to: u64| -> f64 {
        let data = lines(&record).filter(|w| w[1] == "recv" && w[2] == "server");
        let in_time = data.filter(|w| (from..to).contains(&w[0].parse::<u64>().unwrap()));
        in_time.map(|w| w[10].parse::<f64>().unwrap()).sum::<f64>() * 8.0 / ((to - from) as f64 * 1e-6)
    };
    assert!((8e6..=10.1e6).contains(&received(4_000_000, 10_000_000)));
    assert!(
        (1e6..=2.05e6).contains(&received(11_000_000, 20_000_000)),
        "{}",
        received(11_000_000, 20_000_000)
    );
    assert!((0.7..=1.0).contains(&record.links[0].utilisation), "capacity follows the rate");
}

#[test]
fn a_loss_model_comes_and_goes() {
    let events =
        event("5s", "loss = { kind = \"packet\", probability = 0.05 }") + &event("10s", "loss = \"none\"");
    let record = checked(&one_path("", "", "", &events), 3);
    let times: Vec<u64> =
        lines(&record).filter(|w| w[1] == "drop-error").map(|w| w[0].parse().unwrap()).collect();
    assert!(!times.is_empty());
    assert!(times.iter().all(|t| (5_000_000..=10_000_000).contains(t)), "{times:?}");
}

#[test]
fn a_path_that_never_works_ends_the_flow_with_a_reason() {
    let events = event("0s", "up = false");
    let text = one_path("", "app = { kind = \"bulk\", size = \"1MB\" }", ", syn_retries = 2", &events);
    let record = checked(&text.replace("20s", "100s"), 1);
    let flow = &record.flows[0];
    assert!(flow.failure.is_some() && !flow.completed && flow.delivered == Bytes::ZERO);
    assert_eq!(flow.end, SimTime::from_secs(100));
}

#[derive(Clone, Debug)]
enum LinkFault {
    Rate(u64),
    Delay(u64),
    Queue(u64),
    Loss(u64),
    Outage(u64),
}

fn fault() -> impl Strategy<Value = (u64, LinkFault)> {
    let kind = prop_oneof![
        (200u64..20_000).prop_map(LinkFault::Rate),
        (1u64..400).prop_map(LinkFault::Delay),
        (1u64..200).prop_map(LinkFault::Queue),
        (0u64..20).prop_map(LinkFault::Loss),
        (1u64..3000).prop_map(LinkFault::Outage),
    ];
    (1u64..10_000, kind)
}

fn text_of(at: u64, fault: &LinkFault) -> String {
    let at_ms = |at: u64| format!("{at}ms");
    match fault {
        LinkFault::Rate(kbit) => event(&at_ms(at), &format!("rate = \"{kbit}kbit/s\"")),
        LinkFault::Delay(ms) => event(&at_ms(at), &format!("delay = \"{ms}ms\"")),
        LinkFault::Queue(packets) => event(&at_ms(at), &format!("queue = \"{packets}p\"")),
        LinkFault::Loss(percent) => event(
            &at_ms(at),
            &format!("loss = {{ kind = \"packet\", probability = {} }}", *percent as f64 / 100.0),
        ),
        LinkFault::Outage(ms) => event(&at_ms(at), "up = false") + &event(&at_ms(at + ms), "up = true"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to the link, a transfer is delivered whole, once it works again.
    #[test]
    fn a_transfer_survives_everything(
        faults in prop::collection::vec(fault(), 0..12),
        size in 1u64..3_000_000,
        down: bool,
        seed in 0u64..1000,
    ) {
        let mut events: String = faults.iter().map(|(at, fault)| text_of(*at, fault)).collect();
        events += &event("13001ms", "rate = \"10Mbit/s\", delay = \"10ms\", loss = \"none\", queue = \"100p\", up = true");
        let opened_by = if down { "receiver" } else { "sender" };
        let flow = format!("opened_by = \"{opened_by}\"\napp = {{ kind = \"bulk\", size = \"{size}B\" }}");
        let text = one_path("", &flow, "", &events).replace("20s", "400s");
        let record = checked(&text, seed);
        let flow = &record.flows[0];
        prop_assert!(flow.completed, "seed {seed}: {flow:?}");
        prop_assert_eq!(flow.delivered, Bytes(size));
        prop_assert_eq!(flow.subflows[0].received, Bytes(size));
    }
}
