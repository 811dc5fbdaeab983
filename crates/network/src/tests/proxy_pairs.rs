//! Two proxies at the ends of a satellite link, with a transport of their own between them.

use trace::SeriesKey;

use super::*;

/// Goodput from 20 to 60 s over a lossy GEO link, in Mbit/s; `between` is the transport of the inner sides.
fn goodput(between: Option<&str>) -> f64 {
    let proxies = between.map_or(String::new(), |keys| {
        let (inner, outer) = (format!("kind = \"tcp\", {keys}"), "kind = \"tcp\"");
        let proxy = |node: &str, client: &str, server: &str| {
            format!(
                "[[proxy]]\nname = \"{node}\"\nnode = \"{node}\"\nkind = \"split\"\n\
                 client = {{ {client} }}\nserver = {{ {server} }}\n"
            )
        };
        proxy("modem", outer, &inner) + &proxy("gateway", &inner, outer)
    });
    let delivered = |duration: u64| {
        let text = format!(
            "name = \"test\"\nduration = \"{duration}s\"\n\
             [[path]]\nname = \"lan\"\nto = \"modem\"\n\
             both = {{ rate = \"100Mbit/s\", delay = \"1ms\", queue = \"1000p\" }}\n\
             [[path]]\nname = \"satellite\"\nfrom = \"modem\"\nto = \"gateway\"\n\
             both = {{ rate = \"10Mbit/s\", delay = \"280ms\", queue = \"1000p\", \
             loss = {{ kind = \"packet\", probability = 0.003 }} }}\n\
             [[path]]\nname = \"wan\"\nfrom = \"gateway\"\n\
             both = {{ rate = \"100Mbit/s\", delay = \"10ms\", queue = \"1000p\" }}\n\
             {proxies}\
             [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
             transport = {{ kind = \"tcp\", congestion = \"newreno\" }}\n"
        );
        run(&text, 1, NOTHING).flows[0].delivered.as_f64()
    };
    (delivered(60) - delivered(20)) * 8.0 / 40.0 / 1e6
}

const BUFFERS: &str = "send_buffer = \"4MB\", receive_buffer = \"4MB\"";

#[test]
fn any_transport_runs_between_two_boxes() {
    let whole = goodput(None);
    let hybla = goodput(Some(&format!("congestion = \"hybla\", initial_ssthresh = \"64KiB\", {BUFFERS}")));
    let scps = goodput(Some(&format!("profile = \"scps\", {BUFFERS}")));
    let rate = "congestion = { kind = \"fixed-rate\", rate = \"8Mbit/s\" }";
    let fixed = goodput(Some(&format!("profile = \"scps\", {rate}, {BUFFERS}")));
    assert!(hybla > 1.5 * whole, "Hybla {hybla}, end to end {whole}");
    assert!(scps > 1.5 * whole, "SCPS-TP {scps}, end to end {whole}");
    // Headers and what is sent again count against the rate.
    assert!((6.8..8.0).contains(&fixed), "SCPS-TP at a fixed rate of 8 Mbit/s: {fixed}");
}

/// Three boxes and four legs, the third of them with losses.
#[test]
fn every_leg_of_a_chain_has_its_series() {
    let nodes = ["terminal", "one", "two", "three", "server"];
    let path = |(number, ends): (usize, &[&str])| {
        let loss = if number == 2 { ", loss = { kind = \"packet\", probability = 0.01 }" } else { "" };
        format!(
            "[[path]]\nname = \"p{number}\"\nfrom = \"{}\"\nto = \"{}\"\n\
             both = {{ rate = \"10Mbit/s\", delay = \"10ms\", queue = \"1000p\"{loss} }}\n",
            ends[0], ends[1]
        )
    };
    let paths: String = nodes.windows(2).enumerate().map(path).collect();
    let proxy = |node: &&str| {
        format!(
            "[[proxy]]\nname = \"{node}\"\nnode = \"{node}\"\nkind = \"split\"\n\
             client = {{ kind = \"tcp\" }}\nserver = {{ kind = \"tcp\" }}\n"
        )
    };
    let proxies: String = nodes[1..4].iter().map(proxy).collect();
    let text = format!(
        "name = \"test\"\nduration = \"20s\"\n{paths}{proxies}\
         [[flow]]\nname = \"bulk\"\nfrom = \"terminal\"\nto = \"server\"\n\
         transport = {{ kind = \"tcp\" }}\n"
    );
    let record = checked(&text, 1);
    let series = &record.series;
    let of = |leg: u32, metric: &str| -> Vec<f64> {
        let mine = |i: &usize| series.key[*i] == SeriesKey::Leg(0, leg) && series.metric[*i] == metric;
        (0..series.len()).filter(mine).map(|i| series.value[i]).collect()
    };
    for leg in &record.flows[0].legs {
        let repeated = of(leg.leg, "retransmitted_segments");
        assert!(repeated.is_sorted(), "leg {}: a counter does not fall", leg.leg);
        assert_eq!(repeated.last().copied(), Some(leg.sending.retransmitted as f64), "leg {}", leg.leg);
        for metric in ["cwnd_bytes", "srtt_s", "throughput_bit_s", "held_bytes"] {
            let samples = of(leg.leg, metric).len();
            assert_eq!(samples > 100, leg.leg > 0, "leg {} {metric}: {samples}", leg.leg);
        }
        let bits: f64 = of(leg.leg, "throughput_bit_s").iter().sum::<f64>() * 0.1;
        let received = leg.received.as_f64() * 8.0;
        assert!(leg.leg == 0 || (bits - received).abs() < 0.01 * received, "leg {}: {bits}", leg.leg);
    }
    let lost: Vec<bool> = (0..4).map(|leg| of(leg, "retransmitted_segments").last() > Some(&0.0)).collect();
    assert_eq!(lost, [false, false, true, false], "losses are those of their leg");
}
