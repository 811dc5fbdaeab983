use testkit::{Duo, Fault, Way, Wire, setups};
use units::{Bytes, Nanos, SimTime};
#[test]
fn show() {
    let mut config = setups::tcp();
    if let Ok(kind) = std::env::var("KIND") {
        config.recovery = match kind.as_str() { "newreno" => transport::config::RecoveryKind::NewReno, "rack" => transport::config::RecoveryKind::Rack, _ => transport::config::RecoveryKind::Sack };
        config.sack = kind != "newreno";
        config.prr = std::env::var("PRR").is_ok();
    }
    let wire = Wire { delay: Nanos::from_millis(50), rate: Some("10Mbit/s".parse().unwrap()) };
    let (client, server) = if std::env::var("MP").is_ok() { setups::mptcp_pair(&config, &setups::mptcp(), "lia", "minrtt", 2) } else { setups::tcp_pair(&config, "newreno") };
    let faults = vec![Fault::Drop { wire: 0, way: Way::Up, n: 12 }, Fault::Drop { wire: 0, way: Way::Up, n: 14 }];
    let mut duo = Duo::new(client, server, vec![wire; 2], Bytes(80_000)).with_faults(faults, 1).with_log();
    let ok = duo.run(SimTime::from_secs(60));
    println!("{}", duo.log());
    println!("{ok} {} closed {} {}", duo.delivered_at, duo.client.is_closed(), duo.server.is_closed());
    assert!(ok);
}
