//! The Linux kernel of this machine: its TCP and MPTCP over the links of a scenario, in the time of the host.
//!
//! May: translate a scenario, judge how exact a run was, make records. May not: open sockets (`emulate` does).

mod outcome;
mod path_manager;
mod rules;
mod tcp;
mod translate;

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use emulate::{Entrance, Privilege, Ran, lateness_bound, privilege};
use network::{Carrier, NodeId, Observe, Watch};
use scenario::Unsupported;
use scenario::model::Scenario;
use trace::{Accuracy, Measured, MeasuredTable, RunRecord};
use units::{Nanos, SimTime};

use super::{Backend, Failure, NotReady, Replication, Rule};
use outcome::Observed;

/// Columns that are measured.
const MEASURED: Measured = Measured::only(&[
    MeasuredTable { table: "runs", columns: &["events", "packet_hops", "end_s"] },
    MeasuredTable {
        table: "flows",
        columns: &[
            "transport",
            "congestion",
            "scheduler",
            "start_s",
            "end_s",
            "completed",
            "failure",
            "fell_back",
            "delivered_bytes",
            "last_delivery_s",
            "goodput_bit_s",
            "completion_s",
            "segments_sent",
            "retransmitted_segments",
            "timeouts",
            "reinjected_bytes",
            "delay_mean_s",
            "delay_p50_s",
            "delay_p95_s",
            "delay_p99_s",
        ],
    },
    MeasuredTable {
        table: "subflows",
        columns: &[
            "path",
            "goodput_bit_s",
            "share",
            "srtt_mean_s",
            "cwnd_mean_bytes",
            "segments_received",
            "bytes_sent",
            "segments_sent",
            "retransmitted_segments",
            "timeouts",
        ],
    },
    MeasuredTable {
        table: "links",
        columns: &[
            "packets",
            "bytes",
            "utilisation",
            "drops_queue",
            "drops_error",
            "drops_down",
            "drops_corrupt",
            "duplicated",
            "marked",
            "queue_delay_mean_s",
            "queue_delay_max_s",
            "queue_max_packets",
        ],
    },
    MeasuredTable { table: "messages", columns: &["what", "size_bytes", "start_s", "end_s", "delay_s"] },
    MeasuredTable { table: "delays", columns: &["delay_s", "bytes"] },
    MeasuredTable { table: "series", columns: &["value"] },
]);

/// The kernel of this machine.
#[derive(Debug, Default)]
pub struct Linux {
    /// One run at a time: two would make each other late.
    running: Mutex<()>,
}

impl Backend for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn summary(&self) -> &'static str {
        "TCP and MPTCP of the Linux kernel of this machine, in real time: bulk transfers over any links"
    }

    fn unsupported(&self, scenario: &Scenario) -> Vec<Unsupported> {
        translate::plan(scenario).err().unwrap_or_default()
    }

    fn rules(&self) -> &'static [(&'static str, &'static [Rule])] {
        rules::RULES
    }

    fn measured(&self) -> Measured {
        MEASURED
    }

    fn observes(&self) -> Observe {
        Observe { series: true, trace: false }
    }

    fn prepare(&self) -> Result<(), NotReady> {
        match privilege() {
            Privilege::Direct { .. } => Ok(()),
            Privilege::UserNamespace => Err(NotReady {
                message: "this process may not make network namespaces".into(),
                help: "run it as root, or under `unshare --user --map-root-user`".into(),
            }),
            Privilege::None => Err(NotReady {
                message: "network namespaces or TUN devices are not permitted here".into(),
                help: "run as root, or allow user namespaces (user.max_user_namespaces) and /dev/net/tun"
                    .into(),
            }),
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        let failed = |message: String, help: String| Failure::Failed { message, help };
        let mut plan = translate::plan(scenario).map_err(|_| {
            failed("it was not asked what it supports".into(), "please report this scenario".into())
        })?;
        plan.series = observe.series.then_some(scenario.record_interval);
        let _one = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let told = Cell::new(SimTime::ZERO);
        let hosts: Vec<NodeId> = plan.hosts.iter().map(|host| host.node).collect();
        let ran = emulate::run(
            &plan,
            Carrier::new(scenario, seed),
            scenario.duration,
            &|namespaces| tell(scenario, namespaces),
            &|now| {
                watch.simulated(now.since(told.replace(now)));
                !watch.is_stopped()
            },
        );
        watch.simulated(scenario.duration.saturating_sub(told.get().since(SimTime::ZERO)));
        let ran = ran.map_err(|fault| failed(fault.message, fault.help))?.ok_or(Failure::Cancelled)?;
        judge(&ran.accuracy, lateness_bound(translate::smallest_rtt(scenario)))
            .map_err(|(message, help)| failed(message, help))?;
        let cpu = ran.accuracy.cpu_share * ran.end.as_secs_f64();
        let accuracy = Some(ran.accuracy);
        let record = record((scenario, seed), &plan, &hosts, ran, observe.series);
        let record =
            record.ok_or_else(|| failed("a host left no samples".into(), "please report it".into()))?;
        Ok(Replication { record, cpu: Some(Duration::from_secs_f64(cpu)), accuracy })
    }
}

/// Rights of this process: `real-time`, `ordinary`, `user-namespace` or `none`.
pub fn emulation() -> &'static str {
    match privilege() {
        Privilege::Direct { real_time: true } => "real-time",
        Privilege::Direct { real_time: false } => "ordinary",
        Privilege::UserNamespace => "user-namespace",
        Privilege::None => "none",
    }
}

fn record(
    (scenario, seed): (&Scenario, u64),
    plan: &emulate::Plan,
    hosts: &[NodeId],
    mut ran: Ran,
    with_series: bool,
) -> Option<RunRecord> {
    let mut series = std::mem::take(&mut ran.series);
    let mut flows = Vec::with_capacity(plan.flows.len());
    for flow in plan.flows.iter().enumerate() {
        let observed = Observed::new((scenario, &ran), hosts, flow)?;
        flows.push(observed.record(&ran));
        if with_series {
            observed.series(ran.flows[flow.0].port, &mut series);
        }
    }
    Some(RunRecord {
        seed,
        events: ran.events,
        packet_hops: ran.links.iter().map(|link| link.packets).sum(),
        end: ran.end,
        flows,
        links: ran.links,
        series,
        trace: String::new(),
    })
}

/// Refuses a run that was not exact enough to mean something.
fn judge(accuracy: &Accuracy, bound: Nanos) -> Result<(), (String, String)> {
    let Accuracy { p50, p99, max, refused, real_time, .. } = accuracy;
    if *p99 > bound {
        let cure = if *real_time {
            "end other work on this machine, or lower the rates"
        } else {
            "run as root, which allows SCHED_FIFO, or end other work on this machine"
        };
        return Err((
            format!(
                "not exact enough: packets were late by {p50} (median), {p99} (99th percentile), {max} at most, and the \
                 99th percentile may be {bound}: a hundredth of the smallest round-trip time, 1 ms at most"
            ),
            cure.into(),
        ));
    }
    if *refused > 0 {
        return Err((
            format!("{refused} packets were not taken by the kernel at the end of a link"),
            "lower the rates".into(),
        ));
    }
    Ok(())
}

/// Names the namespaces where the environment asks for it: `nsenter --net=PATH` looks into them while a run goes on.
fn tell(scenario: &Scenario, namespaces: &[Entrance]) {
    if std::env::var_os("ROPEWALK_NAMESPACES").is_none() {
        return;
    }
    use std::io::Write as _;
    let mut text = String::new();
    for (node, descriptor) in namespaces {
        let name = &scenario.nodes[*node].name;
        text += &format!("{name}: nsenter --net=/proc/{}/fd/{descriptor}\n", std::process::id());
    }
    // A hint that cannot be written is no error of the run.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests;
