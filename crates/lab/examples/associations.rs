//! Runs associations of libusrsctp over the links of a scenario: `make validate-sctp` calls it for each run.
//!
//! Reads from standard input a JSON object: `folder` (keeps the program), `scenario` (its text; the flows are not looked at),
//! `seed`, `measure_s` (from and to) and `associations`, of which each has `from`, `to` (nodes), and what [`association`] reads.
//! Prints a JSON list with the figures of each association within the time that is measured.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lab::usrsctp::{self, Association, AssociationRan, Cmt, Settings, Traffic};
use scenario::model::Scenario;
use scenario::{Document, Registries};
use serde_json::{Value, json};
use units::{Bytes, Nanos, SimTime};

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let asked: Value = serde_json::from_str(&text)?;
    let part = |name: &str| asked[name].as_str().ok_or(format!("no {name}"));
    let program = usrsctp::built(Path::new(part("folder")?)).map_err(|reason| reason.to_string())?;
    let document = Document::parse(part("scenario")?, "scenario", &[], &Registries::builtin());
    let scenario = document.map_err(|mistakes| mistakes.to_string())?.scenario;
    let seed = asked["seed"].as_u64().ok_or("no seed")?;
    let associations = asked["associations"].as_array().ok_or("no associations")?;
    let associations = associations.iter().map(|one| association(one, &scenario));
    let associations = associations.collect::<Result<Vec<_>, _>>()?;
    let measured = [0, 1].map(|i| SimTime((asked["measure_s"][i].as_f64().unwrap_or(0.0) * 1e9) as u64));
    let ran = usrsctp::run(&program, (&scenario, seed), &associations, false, &AtomicBool::new(false));
    let ran = ran.map_err(|failure| format!("{failure:?}"))?;
    let figures = ran.associations.iter().zip(&associations);
    let figures: Vec<Value> = figures.map(|(one, asked)| figures_of(one, &asked.traffic, measured)).collect();
    let drops: Vec<u64> = ran.links.iter().map(|link| link.drops_queue).collect();
    writeln!(stdout(), "{}", json!({ "associations": figures, "drops": drops, "cpu_ms": ran.cpu_ms }))?;
    Ok(())
}

/// Keys: `frame` (bytes of its messages), `interval_s`, `unordered`, `start_s`; `cmt`, `dac`, `split`, `nr_sack`, `send_buffer`,
/// `receive_buffer`, `sack_every`, `rto_min_ms`, `sysctls`.
fn association(asked: &Value, scenario: &Scenario) -> Result<Association, String> {
    let node = |key: &str| {
        let name = asked[key].as_str().ok_or(format!("no {key}"))?;
        let found = scenario.nodes.iter().position(|node| node.name == name);
        found.ok_or(format!("no node {name}"))
    };
    let number = |key: &str| asked[key].as_u64();
    let flag = |key: &str| asked[key].as_bool().unwrap_or_default();
    let seconds = |key: &str| asked[key].as_f64().map(|value| Nanos((value * 1e9) as u64));
    let defaults = Settings::default();
    let cmt = match asked["cmt"].as_str().unwrap_or("off") {
        "off" => Cmt::Off,
        "base" => Cmt::Base,
        "rpv1" => Cmt::RpV1,
        "rpv2" => Cmt::RpV2,
        "mptcp" => Cmt::Mptcp,
        other => return Err(format!("no kind of CMT is called {other}")),
    };
    let sysctls = asked["sysctls"].as_object().into_iter().flatten();
    let sysctls =
        sysctls.filter_map(|(name, value)| Some((name.clone(), u32::try_from(value.as_u64()?).ok()?)));
    let rto_min = number("rto_min_ms").map_or(defaults.rto_min, Nanos::from_millis);
    let settings = Settings {
        cmt,
        dac: flag("dac"),
        split_send: flag("split"),
        split_receive: flag("split"),
        nr_sack: flag("nr_sack"),
        send_buffer: number("send_buffer").map_or(defaults.send_buffer, Bytes),
        receive_buffer: number("receive_buffer").map_or(defaults.receive_buffer, Bytes),
        sack_every: number("sack_every").map_or(defaults.sack_every, |every| every as u32),
        rto_min,
        sysctls: sysctls.collect(),
        ..defaults
    };
    let frame =
        asked["frame"].as_array().into_iter().flatten().filter_map(|size| Some(Bytes(size.as_u64()?)));
    let frame: Vec<Bytes> = frame.collect();
    if frame.is_empty() {
        return Err("no frame".into());
    }
    let traffic =
        Traffic { frame, count: None, interval: seconds("interval_s"), unordered: flag("unordered") };
    let start = SimTime::ZERO + seconds("start_s").unwrap_or_default();
    Ok(Association { from: node("from")?, to: node("to")?, start, traffic, settings })
}

/// Goodput in the time that is measured and in its second half; counters are those of the whole run.
fn figures_of(one: &AssociationRan, traffic: &Traffic, [from, to]: [SimTime; 2]) -> Value {
    let half = from + (to - from) / 2;
    let goodput = |from: SimTime| {
        let within = |m: &usrsctp::MessageTimes| m.delivered.is_some_and(|at| at > from && at <= to);
        let messages = (0..).zip(&one.messages).filter(|(_, message)| within(message));
        let bits = messages.map(|(number, _)| traffic.size(number).0 * 8).sum::<u64>();
        bits as f64 / (to - from).as_secs_f64() / 1e6
    };
    let written = one.messages.iter().filter(|m| m.written >= from && m.written <= to);
    let mut delays: Vec<u64> = written.filter_map(|m| Some(m.delay()?.0)).collect();
    delays.sort_unstable();
    let ms = |ns: f64| ns / 1e6;
    let rank = |q: f64| {
        let rank = (q * delays.len() as f64).ceil() as usize;
        delays.get(rank.max(1) - 1).map(|delay| ms(*delay as f64))
    };
    let sum = |count: fn(&usrsctp::PathCounts) -> u64| one.paths.iter().map(count).sum::<u64>();
    let ratio = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
    let mean = delays.iter().map(|delay| *delay as f64).sum::<f64>() / delays.len().max(1) as f64;
    json!({
        "goodput": goodput(from),
        "second_half": goodput(half),
        "share_1": ratio(one.paths[0].wire.0, sum(|path| path.wire.0)),
        "rtx_percent": 100.0 * ratio(sum(|path| path.retransmitted), sum(|path| path.chunks)),
        "moved": ratio(sum(|path| path.moved), sum(|path| path.retransmitted)),
        "fast": one.sender.fast_retransmissions,
        "t3": one.sender.timeouts,
        "repeated": one.receiver.repeated,
        "delay_p50_ms": rank(0.5),
        "delay_mean_ms": ms(mean),
        "delay_p95_ms": rank(0.95),
        "delay_p99_ms": rank(0.99),
    })
}
