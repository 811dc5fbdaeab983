//! A scenario as arguments of the program for ns-3.
//!
//! Every struct of the model is taken apart field by field: a new key of scenarios does not compile here before it is
//! translated, is what ns-3 does anyway, or is refused.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use links::Faults;
use links::loss::Losses;
use registry::OptionValue;
use scenario::model::{
    Choice, Delay, Direction, DuplexLink, Ecmp, Flow, Node, Queue, Rate, Scenario, Setting, Strip,
};
use scenario::{Part, Unsupported};
use units::{Bytes, Nanos, QueueLimit};

use super::rules;
use super::tcp;
use crate::backend::Rule;
use crate::backend::refusals::Refusals;

/// Names and values, as in `--NAME=VALUE`. Attributes of ns-3 begin with `ns3::`.
pub type Arguments = BTreeMap<String, String>;

/// Bytes that the application of ns-3 writes at once; fewer where it would have to wait for room.
const WRITE: u64 = 14_000;

/// The arguments that mean `scenario`; the seed is not among them.
///
/// # Errors
/// Keys that ns-3, or the program for it, has nothing for.
pub fn arguments(scenario: &Scenario) -> Result<Arguments, Vec<Unsupported>> {
    let Scenario {
        name: _,
        description: _,
        duration,
        seeds: _,
        jitter,
        ecmp,
        record_interval: _,
        nodes,
        duplex_links,
        proxies,
        flows,
        events,
        flow_events,
    } = scenario;
    let mut refused = Refusals::default();
    refused.unless(*jitter == Nanos::ZERO, Part::Scenario, rules::JITTER);
    refused.unless(*ecmp == Ecmp::Flow, Part::Scenario, rules::ECMP);
    refused.unless(events.is_empty() && flow_events.is_empty(), Part::Scenario, rules::EVENT);
    refused.unless(proxies.is_empty(), Part::Scenario, rules::PROXY);
    let mut found = Arguments::new();
    let mut set = |name: &str, value: String| found.insert(name.into(), value);
    set("nodes", nodes.len().to_string());
    let silent: Vec<usize> =
        (0..).zip(nodes).filter_map(|(index, node)| silent(node).then_some(index)).collect();
    if !silent.is_empty() {
        set("ends", joined(&silent));
    }
    let links = duplex_links.iter().enumerate();
    let links: Vec<String> =
        links.map(|(index, link)| duplex_link(index, link, duplex_links, &mut refused)).collect();
    set("links", joined(&links));
    set("flows", joined(&groups(scenario, &mut refused)));
    set("duration", seconds(*duration));
    if let Some(first) = flows.first() {
        let part = Part::Flow(0);
        set("bytes", size(part, &first.app, &mut refused).to_string());
        if let Some(tcp) = tcp::attributes(part, &first.transport, &mut refused) {
            set("write", WRITE.min((tcp.send_buffer.0 / 40).max(tcp.mss.0)).to_string());
            found.extend(tcp.attributes.into_iter().map(|(name, value)| (format!("ns3::{name}"), value)));
        }
    }
    if refused.is_empty() { Ok(found) } else { Err(refused.into_list()) }
}

fn silent(node: &Node) -> bool {
    let Node { name: _, forward } = node;
    !forward
}

fn joined<T: Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn seconds(time: Nanos) -> String {
    time.as_secs_f64().to_string()
}

/// `NODE:NODE:DELAY:DIRECTION:DIRECTION`.
fn duplex_link(index: usize, link: &DuplexLink, all: &[DuplexLink], refused: &mut Refusals) -> String {
    let DuplexLink { name: _, ends: [a, b], directions } = link;
    let joins = |other: &DuplexLink| other.ends == [*a, *b] || other.ends == [*b, *a];
    refused.unless(!all[..index].iter().any(joins), Part::DuplexLink(index), rules::PARALLEL);
    let delays = [0, 1].map(|i| delay(&directions[i].delay));
    let parts = [0, 1].map(|i| Part::Direction(index, i));
    for (delay, part) in delays.iter().zip(parts) {
        refused.unless(delay.is_some(), part, rules::DELAY);
    }
    if let [Some(there), Some(back)] = delays {
        refused.unless(there == back, parts[1], rules::DELAY);
    }
    let [forward, reverse] = [0, 1].map(|i| direction(parts[i], &directions[i], refused));
    format!("{a}:{b}:{}:{forward}:{reverse}", delays[0].unwrap_or_default())
}

fn delay(delays: &[Delay]) -> Option<Nanos> {
    match delays {
        [only] => only.value(),
        _ => None,
    }
}

/// `RATE/QUEUE/LOSS`.
fn direction(part: Part, direction: &Direction, refused: &mut Refusals) -> String {
    let Direction { name: _, rate, delay: _, queue, loss, shapers, faults, strip } = direction;
    let rate = match rate.as_slice() {
        [Rate::Value(rate)] => rate.to_string().replace("bit/s", "bps"),
        _ => refuse(part, rules::RATE, refused),
    };
    let queue = match queue {
        // ns-3 takes a queue of no packets for one of its own choice.
        Queue::Value(QueueLimit::Packets(packets)) if *packets > 0 => format!("{packets}p"),
        Setting::Value(_) | Setting::Model(_) => refuse(part, rules::QUEUE, refused),
    };
    let loss = match loss.as_slice() {
        [] => Some("none".into()),
        [only] => loss_model(only),
        _ => None,
    };
    let loss = loss.unwrap_or_else(|| refuse(part, rules::LOSS, refused));
    refused.unless(shapers.is_empty(), part, rules::SHAPER);
    refused.unless(no_faults(faults), part, rules::FAULTS);
    refused.unless(*strip == Strip::Never, part, rules::STRIP);
    format!("{rate}/{queue}/{loss}")
}

fn refuse(part: Part, rule: Rule, refused: &mut Refusals) -> String {
    refused.add(part, rule);
    String::new()
}

fn no_faults(faults: &Faults) -> bool {
    let Faults { corrupt, duplicate, reorder, reorder_delay: _ } = faults;
    [corrupt, duplicate, reorder].iter().all(|share| share.get() <= 0.0)
}

fn loss_model(loss: &Choice<Losses>) -> Option<String> {
    let options: Vec<_> = loss.options.iter().collect();
    let (unit, share) = match (loss.name(), options.as_slice()) {
        ("packet", [("probability", OptionValue::Probability(share))]) => ("packet", share),
        ("ber", [("ratio", OptionValue::Probability(share))]) => ("bit", share),
        _ => return None,
    };
    Some(if share.get() > 0.0 { format!("{unit}={}", share.get()) } else { "none".into() })
}

/// `FROM:TO:START:SPREAD:COUNT` of each flow. Those of one `count` that start together are one entry, since ns-3 draws
/// their starts from one stream.
fn groups(scenario: &Scenario, refused: &mut Refusals) -> Vec<String> {
    let mut groups: Vec<(&Flow, u64)> = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        check_flow(index, flow, scenario, refused);
        match groups.last_mut() {
            Some((first, count)) if Arc::ptr_eq(&first.app, &flow.app) && first.start == flow.start => {
                *count += 1;
            }
            _ => groups.push((flow, 1)),
        }
    }
    debug_assert_eq!(
        groups.iter().map(|(_, count)| *count).sum::<u64>(),
        scenario.flows.len() as u64,
        "each flow is in one group"
    );
    let group = |(flow, count): &(&Flow, u64)| {
        let start = seconds(Nanos(flow.start.0));
        format!("{}:{}:{start}:{}:{count}", flow.from, flow.to, seconds(flow.spread))
    };
    groups.iter().map(group).collect()
}

fn check_flow(index: usize, flow: &Flow, scenario: &Scenario, refused: &mut Refusals) {
    let Flow {
        name: _,
        from,
        to: _,
        opened_by_receiver,
        start: _,
        after,
        spread: _,
        stop,
        app,
        transport,
        via,
        compare_paths,
    } = flow;
    let part = Part::Flow(index);
    refused.unless(!opened_by_receiver, part, rules::OPENED_BY);
    refused.unless(after.is_empty(), part, rules::AFTER);
    refused.unless(stop.0 == scenario.duration.0, part, rules::STOP);
    let only_way = || scenario.duplex_links.iter().filter(|link| link.ends.contains(from)).count() == 1;
    refused.unless(via.is_none() || only_way(), part, rules::VIA);
    refused.unless(!compare_paths, part, rules::COMPARE);
    let first = &scenario.flows[0];
    refused.unless(*app == first.app, part, rules::SAME_APP);
    refused.unless(*transport == first.transport, part, rules::SAME_TRANSPORT);
}

/// Bytes of a flow, 0 if it has no end.
fn size(part: Part, app: &Choice<apps::Apps>, refused: &mut Refusals) -> u64 {
    let mut bytes = 0;
    let plain = app.options.iter().all(|(name, value)| match (name, value) {
        ("size", OptionValue::Size(size)) => {
            bytes = if *size == Bytes::MAX { 0 } else { size.0 };
            true
        }
        ("duration", value) => *value == OptionValue::Duration(Nanos(u64::MAX)),
        ("write_size", value) => *value == OptionValue::Size(Bytes::MAX),
        ("read_rate", value) => *value == OptionValue::Rate(units::BitsPerSecond(u64::MAX)),
        ("repeat" | "connections", value) => *value == OptionValue::Integer(1),
        ("think", value) => *value == OptionValue::Duration(Nanos::ZERO),
        _ => false,
    });
    refused.unless(app.name() == "bulk" && plain, part, rules::APP);
    bytes
}
