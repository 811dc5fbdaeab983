//! Output of the program for ns-3, as a record.

use std::time::Duration;

use scenario::model::Scenario;
use serde_json::Value;
use trace::{FlowRecord, Histogram, MessageRecord, RunRecord};
use units::{Bytes, Nanos, SimTime};

use crate::backend::Replication;

/// Reads `{"start_s": [...], "delivered_bytes": [...], "completion_s": [...], "cpu_s": ..., "packet_hops": ...}`, lists by
/// flow; a flow that is not complete has the completion `null`.
///
/// # Errors
/// The field that is missing or malformed.
pub(super) fn parse(text: &str, scenario: &Scenario, seed: u64) -> Result<Replication, String> {
    let printed: Value = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    let count = scenario.flows.len();
    let starts = list(&printed, "start_s", count)?;
    let delivered = list(&printed, "delivered_bytes", count)?;
    let completions = list(&printed, "completion_s", count)?;
    let last = SimTime(scenario.duration.0);
    let mut flows = Vec::with_capacity(count);
    for (index, ((start, delivered), completion)) in starts.iter().zip(delivered).zip(completions).enumerate()
    {
        let wrong = |what: &str| format!("flow {index}: {what}");
        let start = instant(start).ok_or_else(|| wrong("start_s is no time"))?.min(last);
        let delivered = Bytes(delivered.as_u64().ok_or_else(|| wrong("delivered_bytes is no count"))?);
        let completion = match completion {
            Value::Null => None,
            value => Some(instant(value).ok_or_else(|| wrong("completion_s is no time"))?),
        };
        flows.push(flow(start, delivered, completion.map(|time| Nanos(time.0)), last));
    }
    let complete = flows.iter().all(|flow| flow.completed);
    let end = flows.iter().map(|flow| flow.end).max().filter(|_| complete).unwrap_or(last);
    let cpu = printed["cpu_s"].as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let record = RunRecord {
        seed,
        events: 0,
        packet_hops: printed["packet_hops"].as_u64().ok_or("packet_hops is no count")?,
        end,
        flows,
        links: Vec::new(),
        series: trace::Series::default(),
        trace: String::new(),
    };
    Ok(Replication { record, cpu: Some(cpu.ok_or("cpu_s is no time")?), accuracy: None })
}

fn list<'v>(printed: &'v Value, name: &str, count: usize) -> Result<&'v [Value], String> {
    let values = printed[name].as_array().ok_or_else(|| format!("no list {name}"))?;
    if values.len() == count { Ok(values) } else { Err(format!("{} of {count} {name}", values.len())) }
}

fn instant(seconds: &Value) -> Option<SimTime> {
    let time = Duration::try_from_secs_f64(seconds.as_f64()?).ok()?;
    Some(SimTime(u64::try_from(time.as_nanos()).ok()?))
}

/// A flow that is not complete lasts to the end of the run.
fn flow(start: SimTime, delivered: Bytes, completion: Option<Nanos>, last: SimTime) -> FlowRecord {
    let end = completion.map_or(last, |lasted| (start + lasted).min(last));
    let transfer = completion.map(|lasted| MessageRecord {
        what: "transfer",
        size: delivered,
        start,
        end: Some(end),
        delay: Some(lasted),
    });
    FlowRecord {
        legs: Vec::new(),
        failed_joins: Vec::new(),
        start,
        end,
        completed: completion.is_some(),
        delivered,
        last_delivery: None,
        delay: Histogram::default(),
        send_delay_mean: None,
        send_delay_p95: None,
        ofo: trace::Held::default(),
        waiting_for_others: None,
        failure: None,
        fell_back: false,
        limited: Vec::new(),
        subflows: Vec::new(),
        messages: transfer.into_iter().collect(),
        pages: Vec::new(),
        deadline: None,
    }
}
