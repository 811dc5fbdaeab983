//! One run: hosts, links, applications and samplers, from the first to the last.

use std::sync::{Mutex, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use network::{Carrier, NodeId};
use socket2::Socket;
use trace::{Accuracy, LinkRecord, Series};
use units::{Nanos, SimTime};

use crate::bridge::{Bridge, Bridged};
use crate::bulk::{End, Transfer, listen};
use crate::clock::HostClock;
use crate::fault::Fault;
use crate::host::Host;
use crate::namespace::joined;
use crate::plan::Plan;
use crate::sampler::{Samples, sample};
use crate::stop::{Stage, Stop};

/// From the set-up to time zero: threads get to their places.
const LEAD: Duration = Duration::from_millis(100);
/// Time between two looks at what has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A host, and the descriptor of its namespace in this process.
pub type Entrance = (NodeId, i32);

/// One flow of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRan {
    /// Its transfer.
    pub transfer: Transfer,
    /// Port of its server, by which its sockets are found.
    pub port: u16,
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// When it ended.
    pub end: SimTime,
    /// By flow of the plan.
    pub flows: Vec<FlowRan>,
    /// By host of the plan.
    pub hosts: Vec<Samples>,
    /// By link direction.
    pub links: Vec<LinkRecord>,
    /// Time series of the links.
    pub series: Series,
    /// Events of the links.
    pub events: u64,
    /// How exact it was.
    pub accuracy: Accuracy,
}

/// Runs a plan over these links for `duration`, or until all transfers are complete. `watch` is asked now and then; false ends the run
/// with `None`. `ready` is told the descriptors of the namespaces, by host.
///
/// # Errors
/// The kernel refuses something.
pub fn run(
    plan: &Plan,
    carrier: Carrier,
    duration: Nanos,
    ready: &dyn Fn(&[Entrance]),
    watch: &dyn Fn(SimTime) -> bool,
) -> Result<Option<Ran>, Fault> {
    let mut hosts = plan.hosts.iter().map(Host::new).collect::<Result<Vec<_>, _>>()?;
    let namespaces: Vec<_> =
        plan.hosts.iter().zip(&hosts).map(|(plan, host)| (plan.node, host.namespace.descriptor())).collect();
    ready(&namespaces);
    let devices = hosts.iter_mut().flat_map(|host| host.devices.drain(..)).collect();
    let clock = HostClock::starting_in(LEAD);
    let bridge = Bridge::new(carrier, devices, plan.overhead, clock, plan.series);
    let run = Run {
        plan,
        hosts: &hosts,
        transfers: plan.flows.iter().map(|_| Mutex::default()).collect(),
        clock,
        stop: Stop::new(),
    };
    run.all(bridge, SimTime::ZERO + duration, watch)
}

/// State that the threads of a run share.
struct Run<'a> {
    plan: &'a Plan,
    hosts: &'a [Host],
    transfers: Vec<Mutex<Transfer>>,
    clock: HostClock,
    stop: Stop,
}

impl Run<'_> {
    fn all(
        self,
        bridge: Bridge,
        end: SimTime,
        watch: &dyn Fn(SimTime) -> bool,
    ) -> Result<Option<Ran>, Fault> {
        let done = thread::scope(|scope| {
            let links = scope.spawn(|| bridge.run(&self.stop));
            let samplers = self.samplers(scope);
            let started = self.start(scope);
            let ended = started.and_then(|()| self.wait(&links, end, watch));
            self.stop.advance(Stage::Measuring);
            let samples: Result<Vec<Samples>, Fault> =
                samplers.into_iter().map(|sampler| joined(sampler.join())?).collect();
            self.stop.advance(Stage::Closing);
            let links = joined(links.join())?;
            let Some(ended) = ended? else { return Ok(None) };
            Ok(Some((ended, samples?, links?)))
        })?;
        let Some((end, hosts, bridged)) = done else { return Ok(None) };
        let Bridged { links, events, series, accuracy } = bridged;
        let transfer = |(flow, transfer): (usize, Mutex<Transfer>)| FlowRan {
            transfer: transfer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner),
            port: crate::plan::port(flow),
        };
        let flows = self.transfers.into_iter().enumerate().map(transfer).collect();
        Ok(Some(Ran { end, flows, hosts, links, series, events, accuracy }))
    }

    fn samplers<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Vec<ScopedJoinHandle<'s, Result<Samples, Fault>>> {
        let sampler = |host: &'s Host| {
            scope.spawn(move || {
                host.namespace.enter()?;
                sample(self.plan.series, self.clock, &self.stop)
            })
        };
        self.hosts.iter().map(sampler).collect()
    }

    /// Starts the applications, the servers first.
    fn start<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Result<(), Fault> {
        let (ready, listening) = mpsc::channel::<Result<(), Fault>>();
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let (end, host) = (self.end(index), self.host(flow.server_node())?);
            let ready = ready.clone();
            scope.spawn(move || {
                let listener = host.namespace.enter().and_then(|()| listen(end.plan, index));
                let (told, listener) = match listener {
                    Ok(listener) => (Ok(()), Some(listener)),
                    Err(fault) => (Err(fault), None),
                };
                // The run waits for it.
                let _ = ready.send(told);
                if let Some(listener) = listener {
                    serve(&end, listener);
                }
            });
        }
        drop(ready);
        listening.into_iter().take(self.plan.flows.len()).collect::<Result<(), Fault>>()?;
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let (end, host) = (self.end(index), self.host(flow.client_node())?);
            scope.spawn(move || {
                if host.namespace.enter().is_ok() {
                    end.connect(index);
                }
            });
        }
        Ok(())
    }

    fn end(&self, flow: usize) -> End<'_> {
        End {
            plan: &self.plan.flows[flow],
            transfer: &self.transfers[flow],
            clock: self.clock,
            stop: &self.stop,
        }
    }

    fn host(&self, node: NodeId) -> Result<&Host, Fault> {
        let place = self.plan.hosts.iter().position(|host| host.node == node);
        place
            .map(|place| &self.hosts[place])
            .ok_or_else(|| Fault::of("a flow", "its host is not in the plan"))
    }

    /// Until the end, or until everything is complete. `None` if the caller ends it.
    fn wait(
        &self,
        links: &ScopedJoinHandle<'_, Result<Bridged, Fault>>,
        end: SimTime,
        watch: &dyn Fn(SimTime) -> bool,
    ) -> Result<Option<SimTime>, Fault> {
        loop {
            let now = self.clock.now();
            if now >= end {
                return Ok(Some(end));
            }
            if !watch(now) {
                return Ok(None);
            }
            if let Some(last) = self.all_complete() {
                return Ok(Some(last));
            }
            if links.is_finished() {
                return Err(Fault::of("the links", "their thread has ended before the run"));
            }
            thread::sleep(LOOK.min(self.clock.until(end)));
        }
    }

    /// When the last transfer was complete, if all have a size.
    fn all_complete(&self) -> Option<SimTime> {
        let completed = |transfer: &Mutex<Transfer>| {
            transfer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).completed
        };
        let times: Option<Vec<SimTime>> = self.transfers.iter().map(completed).collect();
        times?.into_iter().max()
    }
}

/// The listener is closed with the connection: joins come to it.
#[expect(clippy::needless_pass_by_value, reason = "it lives as long as the connection")]
fn serve(end: &End<'_>, listener: Socket) {
    end.serve(&listener);
}
