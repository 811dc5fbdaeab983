//! The thread that owns the links: it moves packets from device to device.
//!
//! A link hands a packet over at the instant that its models say, and the packet is written as soon as the clock has reached that
//! instant. Links are always advanced to the instant that was due, not to that of the wake-up, so that late wake-ups do not add up.

use std::time::Duration;

use cpu_time::ThreadTime;
use network::{Carrier, Interface};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use trace::{Accuracy, LinkRecord, Series};
use units::{Nanos, SimTime};

use crate::address;
use crate::clock::HostClock;
use crate::device::{Device, LARGEST_PACKET};
use crate::fault::Fault;
use crate::lateness::Lateness;
use crate::options;
use crate::plan::Plan;
use crate::stop::{Stage, Stop};

/// Priority of the thread among those of real time.
const PRIORITY: u8 = 50;
/// Packets that are read from one device before the others have their turn.
const BATCH: usize = 32;
/// Longest sleep: the end of the run is noticed then.
const LOOK: Nanos = Nanos::from_millis(10);

/// Sees packets at the interfaces of hosts, in the order of time.
pub trait Tap: Send {
    /// A packet leaves or has arrived at an interface. It is called on the thread of the links: it must not wait.
    fn packet(&mut self, at: SimTime, interface: Interface, leaves: bool, packet: &[u8]);
}

/// Links and devices.
pub(crate) struct Bridge<'a> {
    carrier: Carrier,
    /// Sorted by interface.
    devices: Vec<Device>,
    plan: &'a Plan,
    clock: HostClock,
    lateness: Lateness,
    sampling: Option<Sampling>,
    tap: Option<Box<dyn Tap>>,
}

/// Time series of the links.
struct Sampling {
    interval: Nanos,
    next: SimTime,
    series: Series,
}

/// Result of a bridge.
pub(crate) struct Bridged {
    pub(crate) links: Vec<LinkRecord>,
    pub(crate) events: u64,
    pub(crate) series: Series,
    pub(crate) accuracy: Accuracy,
}

impl<'a> Bridge<'a> {
    pub(crate) fn new(
        carrier: Carrier,
        mut devices: Vec<Device>,
        plan: &'a Plan,
        clock: HostClock,
        tap: Option<Box<dyn Tap>>,
    ) -> Self {
        devices.sort_by_key(|device| device.interface);
        let sampling = plan.series.map(|interval| Sampling {
            interval,
            next: SimTime::ZERO + interval,
            series: Series::default(),
        });
        Self { carrier, devices, plan, clock, lateness: Lateness::default(), sampling, tap }
    }

    /// Moves packets until the run is closed; links are measured up to the end of `Stage::Running`.
    pub(crate) fn run(mut self, stop: &Stop) -> Result<Bridged, Fault> {
        let real_time = real_time(PRIORITY);
        let cpu = ThreadTime::now();
        let mut buffer = vec![0; LARGEST_PACKET];
        let mut links = None;
        loop {
            let now = self.deliver();
            let stage = stop.stage();
            if stage >= Stage::Measuring && links.is_none() {
                links = Some((self.carrier.records(now), now));
            }
            if stage == Stage::Closing {
                break;
            }
            self.collect(&mut buffer)?;
            self.wait()?;
        }
        let (links, end) = links.unwrap_or_default();
        Ok(Bridged {
            links,
            events: self.carrier.events(),
            series: self.sampling.map(|sampling| sampling.series).unwrap_or_default(),
            accuracy: self.lateness.accuracy(cpu.elapsed(), end.since(SimTime::ZERO), real_time),
        })
    }

    /// Writes all packets that are due, and returns the time.
    fn deliver(&mut self) -> SimTime {
        loop {
            let now = self.clock.now();
            let due = self.carrier.next_due();
            if let Some(sampling) = &mut self.sampling
                && sampling.next <= now.min(due)
            {
                self.carrier.sample(sampling.next, sampling.interval, &mut sampling.series);
                sampling.next += sampling.interval;
                continue;
            }
            if due > now {
                return now;
            }
            for mut packet in self.carrier.advance(due) {
                if packet.stripped {
                    options::strip(&mut packet.bytes);
                }
                self.arrive(packet.to, &packet.bytes, due);
            }
        }
    }

    fn arrive(&mut self, to: Interface, packet: &[u8], due: SimTime) {
        let Ok(place) = self.devices.binary_search_by_key(&to, |device| device.interface) else {
            debug_assert!(false, "a packet arrived at {to:?}, which has no device");
            return;
        };
        if let Some(tap) = &mut self.tap {
            tap.packet(due, to, false, packet);
        }
        if self.devices[place].write(packet) {
            self.lateness.add(due, self.clock.now());
        } else {
            self.lateness.refused += 1;
        }
    }

    /// Gives packets of all devices to the links.
    fn collect(&mut self, buffer: &mut [u8]) -> Result<(), Fault> {
        for place in 0..self.devices.len() {
            for _ in 0..BATCH {
                let read = self.devices[place].read(buffer).map_err(Fault::io("a TUN device"))?;
                let Some(length) = read else { break };
                self.offer(self.devices[place].interface, &buffer[..length]);
            }
        }
        Ok(())
    }

    fn offer(&mut self, from: Interface, packet: &[u8]) {
        let destination = address::of_packet(packet)
            .and_then(|(_, to)| address::interface(to))
            .map(|to| self.plan.arrival(from, to));
        // Links are asked in the order of time.
        let now = self.deliver();
        if let Some(tap) = &mut self.tap {
            tap.packet(now, from, true, packet);
        }
        let frame = (packet.to_vec(), options::multipath(packet));
        let carried =
            destination.is_some_and(|to| self.carrier.send(now, (from, to), frame, self.plan.overhead));
        self.lateness.strays += u64::from(!carried);
    }

    /// Until a packet can be read or is due.
    fn wait(&mut self) -> Result<(), Fault> {
        let due = self.carrier.next_due();
        let left = self.clock.until(due).min(Duration::from_nanos(LOOK.0));
        let mut waiting: Vec<PollFd<'_>> =
            self.devices.iter().map(|device| PollFd::new(device.descriptor(), PollFlags::POLLIN)).collect();
        match ppoll(&mut waiting, Some(TimeSpec::from_duration(left)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(Fault::of("ppoll", error)),
        }
    }
}

/// Asks for real-time priority and exact timers for this thread. False if the priority is not permitted.
pub(crate) fn real_time(priority: u8) -> bool {
    // Without it timers are 50 us late, which shows in the result.
    let _ = prctl::set_timerslack(1);
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let priority = priority.try_into().map(ThreadPriority::Crossplatform);
    priority
        .is_ok_and(|priority| set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok())
}
