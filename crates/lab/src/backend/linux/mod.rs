//! The Linux kernel of this machine: its TCP and MPTCP over the links of a scenario, in the time of the host.
//!
//! May: translate a scenario, judge how exact a run was, make records. May not: open sockets (`emulate` does).

mod capture;
mod control;
mod outcome;
mod path_manager;
mod rules;
mod tcp;
mod translate;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use emulate::{
    ControlPlan, Entrance, Missing, Privilege, Ran, Samples, Surroundings, lateness_bound, privilege,
};
use network::{Carrier, NodeId, Observe, Watch};
use scenario::Unsupported;
use scenario::model::{Flow, Scenario};
use trace::{Accuracy, Measured, MeasuredTable, RunRecord};
use units::{Nanos, SimTime};

use super::{Backend, Failure, NotReady, Replication, Rule};
use crate::capture::CaptureOrder;
use capture::CaptureFile;
use control::CONTROLS;
pub use control::{control, controls_permitted};
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
    MeasuredTable {
        table: "measures",
        columns: &[
            "sent",
            "delivered",
            "delivered_bytes",
            "delay_mean_s",
            "delay_p50_s",
            "delay_p95_s",
            "delay_p99_s",
            "delay_max_s",
            "jitter_s",
            "jitter_rfc3550_s",
            "late",
        ],
    },
    MeasuredTable {
        table: "pages",
        columns: &[
            "name",
            "objects",
            "arrived",
            "size_bytes",
            "connections",
            "start_s",
            "end_s",
            "load_time_s",
        ],
    },
    MeasuredTable { table: "delays", columns: &["delay_s", "bytes"] },
    MeasuredTable { table: "series", columns: &["value"] },
]);

/// The kernel of this machine.
#[derive(Debug)]
pub struct Linux {
    /// Programs are built there.
    folder: PathBuf,
}

/// Segments; the buffers of the kernel are much smaller.
const LARGEST_WINDOW: u32 = 1 << 20;

/// One run at a time in a process: two would make each other late.
static RUNNING: Mutex<()> = Mutex::new(());

impl Linux {
    /// With programs in `folder`, built there when they are needed.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }
}

impl Backend for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn summary(&self) -> &'static str {
        "TCP and MPTCP of the Linux kernel of this machine, in real time, over any links"
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
            Privilege::None(missing) => Err(not_permitted(missing)),
        }
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        self.replicate((scenario, seed), observe, None, watch)
    }

    fn captures(&self) -> bool {
        true
    }

    fn run_captured(
        &self,
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        capture: &CaptureOrder,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        self.replicate((scenario, seed), observe, Some(capture), watch)
    }
}

impl Linux {
    fn replicate(
        &self,
        (scenario, seed): (&Scenario, u64),
        observe: Observe,
        capture: Option<&CaptureOrder>,
        watch: &dyn Watch,
    ) -> Result<Replication, Failure> {
        let mut plan = translate::plan(scenario).map_err(|_| {
            failed("it was not asked what it supports".into(), "please report this scenario".into())
        })?;
        let _one = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        add_controls(&mut plan, &scenario.flows, &self.folder)
            .map_err(|reason| failed(reason.message, reason.help))?;
        plan.flows.iter_mut().for_each(|flow| flow.seed = seed);
        plan.series = observe.series.then_some(scenario.record_interval);
        let unwritable = |error: std::io::Error| {
            failed(
                format!("the capture cannot be written: {error}"),
                "make room there, or name another directory".into(),
            )
        };
        let interfaces: Vec<_> =
            plan.hosts.iter().flat_map(|host| &host.uplinks).map(|uplink| uplink.interface).collect();
        let (file, tap) = capture
            .map(|order| CaptureFile::create(order, scenario, seed, &interfaces))
            .transpose()
            .map_err(unwritable)?
            .unzip();
        let told = Cell::new(SimTime::ZERO);
        let around = Surroundings {
            carrier: Carrier::new(scenario, seed),
            tap,
            ready: &|namespaces| tell(scenario, namespaces),
            watch: &|now| {
                watch.simulated(now.since(told.replace(now)));
                !watch.is_stopped()
            },
        };
        let ran = emulate::run(&plan, scenario.duration, around);
        watch.simulated(scenario.duration.saturating_sub(told.get().since(SimTime::ZERO)));
        let ran = ran.map_err(|fault| failed(fault.message, fault.help))?.ok_or(Failure::Cancelled)?;
        file.map_or(Ok(()), |file| file.finish(ran.end)).map_err(unwritable)?;
        judge(&ran.accuracy, lateness_bound(translate::smallest_rtt(scenario)))
            .map_err(|(message, help)| failed(message, help))?;
        if let Some(threshold) = plan.controls.first().and_then(|_| lost_threshold(&ran.hosts)) {
            return Err(not_asked(threshold));
        }
        let cpu = ran.accuracy.cpu_share * ran.end.as_secs_f64();
        let accuracy = Some(ran.accuracy);
        let hosts: Vec<NodeId> = plan.hosts.iter().map(|host| host.node).collect();
        other_control((scenario, &ran), &plan, &hosts).map_or(Ok(()), Err)?;
        let record = record((scenario, seed), &plan, &hosts, ran, observe.series);
        let record =
            record.ok_or_else(|| failed("a host left no samples".into(), "please report it".into()))?;
        Ok(Replication { record, cpu: Some(Duration::from_secs_f64(cpu)), accuracy })
    }
}

fn failed(message: String, help: String) -> Failure {
    Failure::Failed { message, help }
}

fn not_permitted(missing: Missing) -> NotReady {
    let (message, help) = match missing {
        Missing::Tun => (
            "/dev/net/tun is not there, or no driver is behind it",
            "load the module (modprobe tun), and give the device to a container (--device /dev/net/tun)",
        ),
        Missing::TunMode => (
            "/dev/net/tun may not be opened by this user",
            "run it as root, or let users open it, as root: chmod 666 /dev/net/tun (or chgrp it to a group of this user, and \
             chmod 660); a udev rule keeps that: KERNEL==\"tun\", MODE=\"0666\"",
        ),
        Missing::TunForbidden => (
            "/dev/net/tun may not be opened in this container",
            "give the device to the container (--device /dev/net/tun)",
        ),
        Missing::UserNamespaces => (
            "this process is not root, and user namespaces are forbidden (user.max_user_namespaces is 0)",
            "run it as root, or raise user.max_user_namespaces",
        ),
        Missing::Unshare => (
            "this process is not root, and `unshare --user --map-root-user --net` fails",
            "run it as root; what else forbids user namespaces: AppArmor, a container, or no `unshare` installed",
        ),
    };
    NotReady { message: message.into(), help: help.into() }
}

/// Rights of this process: `real-time`, `ordinary`, `user-namespace`, or why it has none.
pub fn emulation() -> String {
    match privilege() {
        Privilege::Direct { real_time: true } => "real-time".into(),
        Privilege::Direct { real_time: false } => "ordinary".into(),
        Privilege::UserNamespace => "user-namespace".into(),
        Privilege::None(missing) => not_permitted(missing).to_string(),
    }
}

/// Builds the controls that the kernel lacks, and gives each a name of this process.
fn add_controls(plan: &mut emulate::Plan, flows: &[Flow], folder: &Path) -> Result<(), NotReady> {
    for name in CONTROLS {
        let own = format!("{name}_{}", std::process::id());
        let sockets = plan.flows.iter_mut().map(|flow| &mut flow.sockets.congestion);
        let routes = plan.hosts.iter_mut().flat_map(|host| &mut host.uplinks);
        let named: Vec<&mut String> = sockets
            .chain(routes.filter_map(|uplink| uplink.congestion.as_mut()))
            .filter(|known| *known == name)
            .collect();
        if named.is_empty() {
            continue;
        }
        controls_permitted().map_err(|needed| NotReady {
            help: format!(
                "{}; or take one that the kernel has itself, as congestion = \"cubic\"",
                needed.help
            ),
            ..needed
        })?;
        named.into_iter().for_each(|known| known.clone_from(&own));
        let (loader, object) = control(folder, name)?;
        let subflow_unsent_limit = control::limit_of(flows, name);
        plan.controls.push(ControlPlan { loader, object, name: own, subflow_unsent_limit });
    }
    Ok(())
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
    for flow in 0..plan.flows.len() {
        let observed = Observed::new((scenario, &ran), hosts, (plan, flow))?;
        flows.push(observed.record(ran.end));
        if with_series {
            observed.series(&mut series);
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

/// A flow whose subflows did not have its congestion control.
fn other_control(
    (scenario, ran): (&Scenario, &Ran),
    plan: &emulate::Plan,
    hosts: &[NodeId],
) -> Option<Failure> {
    let mut flows = plan.flows.iter().enumerate();
    let (flow, found) = flows.find_map(|(index, flow)| {
        Some((flow, Observed::new((scenario, ran), hosts, (plan, index))?.other_control()?))
    })?;
    Some(failed(
        format!(
            "flow {}: the kernel gave a subflow the congestion control {found}, not {}",
            flow.name, flow.sockets.congestion
        ),
        "repeat the run; `sysctl net.ipv4.tcp_available_congestion_control` names those that the kernel has"
            .into(),
    ))
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
                "not exact enough: packets were late by {} us (median), {} us (99th percentile), {} us at most, and the 99th \
                 percentile may be {} us: a hundredth of the smallest round-trip time, {} us at most",
                micros(*p50),
                micros(*p99),
                micros(*max),
                micros(bound),
                micros(lateness_bound(None)),
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

/// Lateness has one unit everywhere, whatever its size.
fn micros(time: Nanos) -> u64 {
    (time.0 + 500) / 1000
}

/// A slow-start threshold that no congestion control has set, in segments.
///
/// Kernels of some sandboxes run no BPF program while their first process is the one that an interrupt has stopped, and TCP takes
/// whatever a register holds for its answer.
fn lost_threshold(hosts: &[Samples]) -> Option<u32> {
    let samples = hosts.iter().flat_map(|host| &host.samples);
    let sockets = samples.flat_map(|sample| sample.subflows.iter().chain(&sample.gone));
    sockets.filter_map(|socket| socket.ssthresh).filter(|&threshold| threshold > LARGEST_WINDOW).max()
}

fn not_asked(threshold: u32) -> Failure {
    failed(
        format!(
            "not exact enough: the kernel did not run a BPF program that it was to ask for a slow-start threshold, and a \
             socket has one of {threshold} segments"
        ),
        "repeat the run; if it happens often, use a kernel that always runs them".into(),
    )
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
