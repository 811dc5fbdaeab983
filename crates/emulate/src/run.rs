//! One run: hosts, links, applications and samplers, from the first to the last.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use apps::Apps;
use engine::Stream;
use network::{Carrier, NodeId};
use scenario::model::Choice;
use trace::{Accuracy, LinkRecord, Series};
use units::{Nanos, SimTime};

use crate::bridge::{Bridge, Bridged, Tap, real_time};
use crate::clock::HostClock;
use crate::command::{self, CommandPlan};
use crate::control::Registered;
use crate::conversation::{Conversation, State};
use crate::device::Device;
use crate::fault::Fault;
use crate::host::{self, Host};
use crate::namespace::joined;
use crate::plan::{FlowPlan, HostPlan, Plan, Program, ports};
use crate::sampler::{Samples, sample};
use crate::socket::listen;
use crate::stop::{Stage, Stop};
use crate::talk::Talk;

/// From the set-up to time zero: threads get to their places.
const LEAD: Duration = Duration::from_millis(100);
/// Priority of the applications where that is permitted: below the links, above other work, as theirs reads and writes at once.
const APPLICATIONS: u8 = 40;
/// Time between two looks at what has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Time between two looks at the flows that one waits for.
const SOON: Duration = Duration::from_millis(1);

/// A host, and the descriptor of its namespace in this process.
pub type Entrance = (NodeId, i32);

/// One flow of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRan {
    /// Record of its application.
    pub talk: Talk,
    /// Ports of its servers, by which its sockets are found.
    pub ports: [u16; 2],
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

/// Parts of a run beside its plan.
pub struct Surroundings<'a> {
    /// The links.
    pub carrier: Carrier,
    /// Sees the packets, if there is one.
    pub tap: Option<Box<dyn Tap>>,
    /// Told the descriptors of the namespaces, by host.
    pub ready: &'a dyn Fn(&[Entrance]),
    /// Asked now and then; false ends the run.
    pub watch: &'a dyn Fn(SimTime) -> bool,
}

/// Runs a plan for `duration`, or until nothing of any flow remains. `None`: it was ended from outside.
///
/// # Errors
/// The kernel refuses something.
pub fn run(plan: &Plan, duration: Nanos, around: Surroundings<'_>) -> Result<Option<Ran>, Fault> {
    let mut controls = plan.controls.iter().map(Registered::new).collect::<Result<Vec<_>, _>>()?;
    let mut hosts = plan.hosts.iter().map(Host::new).collect::<Result<Vec<_>, _>>()?;
    let namespaces: Vec<_> =
        plan.hosts.iter().zip(&hosts).map(|(plan, host)| (plan.node, host.namespace.descriptor())).collect();
    for control in &mut controls {
        control.watch(namespaces.iter().map(|&(_, descriptor)| descriptor))?;
    }
    (around.ready)(&namespaces);
    let devices = hosts.iter_mut().flat_map(|host| host.devices.drain(..)).collect();
    let talks = plan.flows.iter().map(|_| Mutex::default()).collect();
    Run { plan, hosts: &hosts, talks, stop: Stop::new() }.all(devices, SimTime::ZERO + duration, around)
}

/// State that the threads of a run share.
struct Run<'a> {
    plan: &'a Plan,
    hosts: &'a [Host],
    /// As far as others are to know them before the end.
    talks: Vec<Mutex<Talk>>,
    stop: Stop,
}

impl Run<'_> {
    fn all(self, devices: Vec<Device>, end: SimTime, around: Surroundings<'_>) -> Result<Option<Ran>, Fault> {
        let Surroundings { carrier, tap, watch, ready: _ } = around;
        let done = thread::scope(|scope| {
            let waiting = self.prepare(scope)?;
            let clock = HostClock::starting_in(LEAD);
            let bridge = Bridge::new(carrier, devices, self.plan, clock, tap);
            let links = scope.spawn(|| bridge.run(&self.stop));
            let samplers = self.samplers(scope, clock);
            let changing = self.changing(scope, clock);
            for flow in waiting {
                // A thread that has ended has told why.
                let _ = flow.send(clock);
            }
            let ended = self.wait(clock, &links, end, watch);
            self.stop.advance(Stage::Measuring);
            let samples: Result<Vec<Samples>, Fault> =
                samplers.into_iter().map(|sampler| joined(sampler.join())?).collect();
            let changed: Result<Vec<()>, Fault> =
                changing.into_iter().map(|changing| joined(changing.join())?).collect();
            self.stop.advance(Stage::Closing);
            let links = joined(links.join())?;
            changed?;
            let Some(ended) = ended? else { return Ok(None) };
            Ok(Some((ended, samples?, links?)))
        })?;
        let Some((end, hosts, bridged)) = done else { return Ok(None) };
        let Bridged { links, events, series, accuracy } = bridged;
        let flow = |(flow, talk): (usize, Mutex<Talk>)| FlowRan {
            talk: talk.into_inner().unwrap_or_else(PoisonError::into_inner),
            ports: ports(flow),
        };
        let flows = self.talks.into_iter().enumerate().map(flow).collect();
        Ok(Some(Ran { end, flows, hosts, links, series, events, accuracy }))
    }

    fn samplers<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        clock: HostClock,
    ) -> Vec<ScopedJoinHandle<'s, Result<Samples, Fault>>> {
        let sampler = |host: &'s Host| {
            scope.spawn(move || {
                host.namespace.enter()?;
                sample(self.plan.series, clock, &self.stop)
            })
        };
        self.hosts.iter().map(sampler).collect()
    }

    /// A thread for each host whose endpoints change.
    fn changing<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        clock: HostClock,
    ) -> Vec<ScopedJoinHandle<'s, Result<(), Fault>>> {
        let hosts = self.plan.hosts.iter().zip(self.hosts).filter(|(plan, _)| !plan.changes.is_empty());
        let changing = |(plan, host): (&'s HostPlan, &'s Host)| {
            scope.spawn(move || {
                host.namespace.enter()?;
                for change in &plan.changes {
                    if !self.stop.wait_until(clock, change.at, Stage::Running) {
                        break;
                    }
                    host::change(plan, *change)?;
                }
                Ok(())
            })
        };
        hosts.map(changing).collect()
    }

    /// A thread for each flow, whose server listens when this returns. Each waits for the clock; without one it ends.
    fn prepare<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Result<Vec<mpsc::Sender<HostClock>>, Fault> {
        let (ready, listening) = mpsc::channel::<Result<(), Fault>>();
        let mut waiting = Vec::with_capacity(self.plan.flows.len());
        for (index, flow) in self.plan.flows.iter().enumerate() {
            let (go, start) = mpsc::channel();
            waiting.push(go);
            let ready = ready.clone();
            scope.spawn(move || {
                let failed = match &flow.program {
                    Program::App(app) => self.converse(index, app, &ready, &start),
                    Program::Commands(commands) => self.command(index, commands, &ready, &start),
                };
                if let Err(fault) = failed {
                    self.talk(index).failure.get_or_insert_with(|| fault.message.clone());
                    // The run may wait for it.
                    let _ = ready.send(Err(fault));
                }
            });
        }
        drop(ready);
        listening.iter().take(self.plan.flows.len()).collect::<Result<(), Fault>>()?;
        Ok(waiting)
    }

    /// An application from its listeners to its end.
    fn converse(
        &self,
        index: usize,
        app: &Choice<Apps>,
        ready: &mpsc::Sender<Result<(), Fault>>,
        start: &mpsc::Receiver<HostClock>,
    ) -> Result<(), Fault> {
        let flow = &self.plan.flows[index];
        let app = (app.row.build)(&app.options);
        let [port, plain] = ports(index);
        self.host(flow.server_node())?.namespace.enter()?;
        let mut listeners = Vec::new();
        if flow.sockets.datagrams.is_none() {
            listeners.push(listen(flow, flow.sockets.mptcp, port)?);
        }
        if flow.sockets.mptcp && app.meets_plain_servers() {
            listeners.push(listen(flow, false, plain)?);
        }
        self.host(flow.client_node())?.namespace.enter()?;
        // A wake-up of an application is to be on time.
        real_time(APPLICATIONS);
        let _ = ready.send(Ok(()));
        let Ok(clock) = start.recv() else { return Ok(()) };
        if !self.wait_for_start(flow, clock) {
            return Ok(());
        }
        // Without MPTCP all servers are plain.
        let spaces =
            [self.host(flow.client_node())?, self.host(flow.server_node())?].map(|host| &host.namespace);
        let state = State::new(flow, [port, if flow.sockets.mptcp { plain } else { port }], spaces);
        let mut talk = Conversation::new(state, app, listeners, clock);
        talk.start();
        let (mut failed, mut noted) = (None, (None, None));
        while self.stop.stage() == Stage::Running && failed.is_none() {
            failed = talk.turn().err();
            let now = (talk.talk().end, talk.talk().done);
            if now != noted {
                noted = now;
                self.talk(index).clone_from(talk.talk());
            }
        }
        talk.over(clock.now().min(flow.stop));
        self.wait_for_closing();
        let mut talk = talk.into_talk();
        talk.failure = talk.failure.or(failed.map(|fault| fault.message));
        *self.talk(index) = talk;
        Ok(())
    }

    /// Commands from the start of the server to the end of the client.
    fn command(
        &self,
        index: usize,
        commands: &CommandPlan,
        ready: &mpsc::Sender<Result<(), Fault>>,
        start: &mpsc::Receiver<HostClock>,
    ) -> Result<(), Fault> {
        let flow = &self.plan.flows[index];
        self.host(flow.server_node())?.namespace.enter()?;
        let mut server = command::serve(commands, flow, index)?;
        self.host(flow.client_node())?.namespace.enter()?;
        let _ = ready.send(Ok(()));
        let Ok(clock) = start.recv() else { return Ok(()) };
        if !self.wait_for_start(flow, clock) {
            return Ok(());
        }
        let (talk, _client) = command::run(commands, flow, index, &mut server, (clock, &self.stop));
        *self.talk(index) = talk;
        // Their sockets are measured before they go.
        self.wait_for_closing();
        Ok(())
    }

    fn wait_for_closing(&self) {
        while self.stop.stage() < Stage::Closing {
            thread::sleep(LOOK);
        }
    }

    /// Until a flow starts. False if the run is over before.
    fn wait_for_start(&self, flow: &FlowPlan, clock: HostClock) -> bool {
        let spread = Stream::named(flow.seed, &flow.name, "start").uniform() * flow.spread.0 as f64;
        let pause = flow.start.since(SimTime::ZERO) + Nanos(spread as u64);
        let mut from = SimTime::ZERO;
        for &other in &flow.after {
            loop {
                if let Some(end) = self.talk(other).end {
                    from = from.max(end);
                    break;
                }
                if self.stop.stage() > Stage::Running {
                    return false;
                }
                thread::sleep(SOON);
            }
        }
        self.stop.wait_until(clock, from + pause, Stage::Running)
    }

    fn talk(&self, flow: usize) -> MutexGuard<'_, Talk> {
        self.talks[flow].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self, node: NodeId) -> Result<&Host, Fault> {
        let place = self.plan.hosts.iter().position(|host| host.node == node);
        place
            .map(|place| &self.hosts[place])
            .ok_or_else(|| Fault::of("a flow", "its host is not in the plan"))
    }

    /// Until the end, or until nothing of any flow remains. `None` if the caller ends it.
    fn wait(
        &self,
        clock: HostClock,
        links: &ScopedJoinHandle<'_, Result<Bridged, Fault>>,
        end: SimTime,
        watch: &dyn Fn(SimTime) -> bool,
    ) -> Result<Option<SimTime>, Fault> {
        loop {
            let now = clock.now();
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
            thread::sleep(LOOK.min(clock.until(end)));
        }
    }

    /// When the last flow was done, if nothing of any remains.
    fn all_complete(&self) -> Option<SimTime> {
        let times: Option<Vec<SimTime>> = (0..self.talks.len()).map(|flow| self.talk(flow).done).collect();
        times?.into_iter().max()
    }
}
