//! Two proxies at the ends of a satellite link, with a transport of their own between them.

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
