//! Runs associations of the library in lock step with the links of a scenario.
//!
//! Every end is a process that acts only when it is told to: a packet has arrived, timers are due, a message is ready. A packet that it sends
//! is offered to its first link at the same instant. Ends have the clock of the run and nothing else, so a run depends on
//! the scenario, the associations and the seed alone.

use std::path::Path;

use network::{Carrier, Delivered, Interface, Multipath, Watch};
use scenario::model::Scenario;
use trace::{LinkRecord, Series, SeriesKey};
use units::{Bytes, Nanos, SimTime};

use super::counts::{Counts, MessageTimes, PathCounts};
use super::end::{End, EndCounters, Messages, Request, Told};
use super::packets;
use super::settings::{Association, Place, Settings, Traffic};
use super::timers::lookahead;
use crate::backend::Failure;

/// Ports from here on, one for each association.
const FIRST_PORT: u16 = 5001;
/// Turns between two looks at the watch, less one.
const WATCH_MASK: u64 = 1023;

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// When it ended.
    pub end: SimTime,
    /// Events of links.
    pub events: u64,
    /// By link direction.
    pub links: Vec<LinkRecord>,
    /// Time series of links and of paths; empty unless asked for.
    pub series: Series,
    /// In the order of the associations.
    pub associations: Vec<AssociationRan>,
    /// CPU time of all ends.
    pub cpu_ms: u64,
}

/// The record of one association.
#[derive(Clone, Debug)]
pub struct AssociationRan {
    /// When the opening end was established.
    pub established: Option<SimTime>,
    /// It was lost.
    pub lost: bool,
    /// By path.
    pub paths: Vec<PathCounts>,
    /// By number.
    pub messages: Vec<MessageTimes>,
    /// Counters of the sender.
    pub sender: EndCounters,
    /// Counters of the receiver.
    pub receiver: EndCounters,
}

/// The sender and the receiver of one association.
#[derive(Debug)]
pub(super) struct Conversation {
    association: Association,
    port: u16,
    /// The sender first; absent before the start.
    pub(super) ends: Option<[End; 2]>,
    /// Interfaces of sender and receiver by path.
    paths: Vec<[Interface; 2]>,
    counts: Counts,
    established: Option<SimTime>,
    lost: bool,
    /// When the next frame is ready, and how many have been.
    next_frame: SimTime,
    frames: u64,
}

/// Index of the sender.
const SENDER: usize = 0;

impl Conversation {
    /// Everything that was to be sent is delivered.
    fn is_done(&self) -> bool {
        let Traffic { frame, count, .. } = &self.association.traffic;
        count.is_some_and(|count| self.counts.delivered() >= count * frame.len() as u64)
    }

    /// The path that leads to this address of the peer of `side`.
    fn path_to(&self, side: usize, address: [u8; 4]) -> Option<usize> {
        self.paths.iter().position(|ends| packets::address(ends[1 - side]) == address)
    }

    /// Applies what an end tells; its packets go to the carrier.
    pub(super) fn take(
        &mut self,
        (now, carrier): (SimTime, &mut Carrier),
        side: usize,
        told: Vec<Told>,
    ) -> Result<(), String> {
        for one in told {
            match one {
                Told::Packet(bytes) => self.send(now, carrier, side, bytes),
                Told::Taken(number) => self.counts.on_written(number, now),
                Told::Delivered { number, size } => {
                    if u64::from(size) != self.association.traffic.size(number).0 {
                        return Err(format!("message {number} was delivered with {size} bytes"));
                    }
                    self.counts.on_delivered(number, now)?;
                }
                Told::Up if side == SENDER => self.established = Some(now),
                Told::Lost => self.lost = true,
                Told::Up | Told::Closed | Told::Timers(_) | Told::Path(_) | Told::Counters(_) => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, now: SimTime, carrier: &mut Carrier, side: usize, mut bytes: Vec<u8>) {
        let path = packets::destination(&bytes).and_then(|address| self.path_to(side, address));
        // The library sends only to addresses that it has been told; anything else has no route.
        let Some(path) = path else { return };
        let ends = self.paths[path];
        if self.association.settings.source_by_path {
            packets::set_source(&mut bytes, packets::address(ends[side]));
        }
        if side == SENDER {
            let size = Bytes(bytes.len() as u64) + self.association.settings.overhead;
            self.counts.on_sent(path, size, packets::data_chunks(&bytes));
        }
        let overhead = self.association.settings.overhead;
        carrier.send(now, (ends[side], ends[1 - side]), (bytes, Multipath::None), overhead);
    }
}

/// A run that goes on.
#[derive(Debug)]
pub(super) struct Run<'s> {
    program: &'s Path,
    seed: u64,
    pub(super) carrier: Carrier,
    pub(super) conversations: Vec<Conversation>,
    /// The end of the run.
    last: SimTime,
    /// Time between two runs of timers, and when the next is due.
    pub(super) tick: Nanos,
    pub(super) next_tick: SimTime,
    /// A packet of an end needs at least this long to reach another.
    pub(super) lookahead: Nanos,
    /// Interval of samples, and when the next is due.
    sample: Option<(Nanos, SimTime)>,
    series: Series,
    /// User data that had arrived at the last sample, by association and path.
    sampled: Vec<Vec<Bytes>>,
}

/// Runs `associations` over the links of `scenario`, whose flows are not looked at; `series`: with time series.
///
/// # Errors
/// The run was cancelled, or an end broke off.
pub fn run(
    program: &Path,
    (scenario, seed): (&Scenario, u64),
    associations: &[Association],
    series: bool,
    watch: &dyn Watch,
) -> Result<Ran, Failure> {
    let mut run = Run::new(program, (scenario, seed), associations);
    run.sample = series.then(|| (scenario.record_interval, SimTime::ZERO + scenario.record_interval));
    let failed = |message| Failure::Failed {
        message: format!("libusrsctp failed: {message}"),
        help: format!("repeat it with the same scenario and --seed {seed}, and report it"),
    };
    let end = run.advance(watch).map_err(failed)?.ok_or(Failure::Cancelled)?;
    run.into_ran(end).map_err(failed)
}

impl<'s> Run<'s> {
    fn new(program: &'s Path, (scenario, seed): (&Scenario, u64), associations: &[Association]) -> Self {
        let carrier = Carrier::new(scenario, seed);
        let conversation = |(number, association): (u16, &Association)| {
            let pairs = Carrier::pairs(scenario, association.from, association.to);
            let paths = paths(pairs);
            let links: Vec<usize> = paths.iter().map(|ends| carrier.duplex_link(ends[SENDER])).collect();
            Conversation {
                association: association.clone(),
                port: FIRST_PORT + number,
                ends: None,
                paths,
                counts: Counts::new(links),
                established: None,
                lost: false,
                next_frame: association.start,
                frames: 0,
            }
        };
        let conversations: Vec<_> = (0..).zip(associations).map(conversation).collect();
        let sampled = conversations.iter().map(|one| vec![Bytes::ZERO; one.paths.len()]).collect();
        let tick = associations.first().map_or(Settings::default().tick, |one| one.settings.tick);
        debug_assert!(associations.iter().all(|one| one.settings.tick == tick), "timers have one tick");
        Self {
            program,
            seed,
            carrier,
            conversations,
            last: SimTime::ZERO + scenario.duration,
            tick,
            next_tick: SimTime::ZERO + tick,
            lookahead: lookahead(scenario),
            sample: None,
            series: Series::default(),
            sampled,
        }
    }

    /// Runs to the end, or until all is delivered; `None` if it was cancelled.
    fn advance(&mut self, watch: &dyn Watch) -> Result<Option<SimTime>, String> {
        let (mut turns, mut told) = (0u64, SimTime::ZERO);
        let finished = loop {
            let now = self.next();
            if now > self.last {
                break self.last;
            }
            if turns & WATCH_MASK == 0 {
                if watch.is_stopped() {
                    return Ok(None);
                }
                watch.simulated(now.since(told));
                told = now;
            }
            turns += 1;
            let reached = self.turn(now)?;
            if !self.conversations.is_empty() && self.conversations.iter().all(Conversation::is_done) {
                break reached;
            }
        };
        watch.simulated(self.last.since(told));
        Ok(Some(finished))
    }

    /// When something is due.
    fn next(&mut self) -> SimTime {
        self.next_but_timers().min(self.next_tick)
    }

    /// When something else than timers is due; the end of the run is.
    pub(super) fn next_but_timers(&mut self) -> SimTime {
        let messages = self.conversations.iter().map(|one| one.next_frame).min();
        let sample = self.sample.map_or(SimTime::NEVER, |(_, next)| next);
        let messages = messages.unwrap_or(SimTime::NEVER);
        self.carrier.next_due().min(messages).min(sample).min(self.last + Nanos(1))
    }

    /// Everything that is due at `now`: packets, then messages, then timers, then the sample. Returns the instant that is
    /// reached, which is later if timers alone were due.
    fn turn(&mut self, now: SimTime) -> Result<SimTime, String> {
        let timers_alone = self.next_but_timers() > now;
        let mut reached = now;
        if self.carrier.next_due() <= now {
            for packet in self.carrier.advance(now) {
                self.deliver(now, &packet)?;
            }
        }
        for number in 0..self.conversations.len() {
            if self.conversations[number].next_frame <= now {
                self.produce(now, number)?;
            }
        }
        if self.next_tick <= now {
            reached = self.run_timers(now, timers_alone)?;
        }
        if let Some((interval, next)) = self.sample
            && next <= now
        {
            self.sample = Some((interval, now + interval));
            self.take_sample(now, interval)?;
        }
        Ok(reached)
    }

    fn deliver(&mut self, now: SimTime, packet: &Delivered) -> Result<(), String> {
        let port = packets::port(&packet.bytes);
        let ours = |one: &&mut Conversation| Some(one.port) == port;
        let Some(conversation) = self.conversations.iter_mut().find(ours) else { return Ok(()) };
        let Some(path) = conversation.paths.iter().position(|ends| ends.contains(&packet.to)) else {
            return Ok(());
        };
        let side = usize::from(conversation.paths[path][SENDER] != packet.to);
        if side != SENDER {
            conversation.counts.on_received(path, packets::data_chunks(&packet.bytes));
        }
        let Some(ends) = &mut conversation.ends else { return Ok(()) };
        let told = ends[side].call(now, Request::Packet(&packet.bytes))?;
        conversation.take((now, &mut self.carrier), side, told)
    }

    /// Starts an association, or gives it its next frame.
    fn produce(&mut self, now: SimTime, number: usize) -> Result<(), String> {
        let conversation = &mut self.conversations[number];
        let opens = conversation.ends.is_none();
        if opens {
            conversation.open(now, self.program, self.seed << 16 | number as u64)?;
        }
        let Traffic { count, interval, .. } = conversation.association.traffic;
        let produced = conversation.frames;
        let left = count.map_or(u64::MAX, |count| count.saturating_sub(produced));
        let frames = if interval.is_some() { left.min(1) } else { left };
        conversation.frames = produced.saturating_add(frames);
        conversation.next_frame = match interval {
            Some(interval) if left > frames => now + interval,
            Some(_) | None => SimTime::NEVER,
        };
        if frames > 0 {
            conversation.write((now, &mut self.carrier), produced, frames)?;
        }
        if opens {
            conversation.ask(now, &mut self.carrier, SENDER, Request::Open)?;
        }
        Ok(())
    }

    fn take_sample(&mut self, now: SimTime, interval: Nanos) -> Result<(), String> {
        self.carrier.sample(now, interval, &mut self.series);
        for (flow, conversation) in self.conversations.iter_mut().enumerate() {
            let Some(ends) = &mut conversation.ends else { continue };
            let told = ends[SENDER].call(now, Request::State)?;
            for state in &told {
                let Told::Path(state) = state else { continue };
                let Some(path) = conversation.path_to(SENDER, state.address) else { continue };
                let key = SeriesKey::Subflow(flow as u32, 0, path as u32);
                self.series.push(now, key, "cwnd_bytes", f64::from(state.cwnd));
                if state.srtt_ms > 0 {
                    self.series.push(now, key, "srtt_s", f64::from(state.srtt_ms) / 1e3);
                }
            }
            for (path, counts) in conversation.counts.paths().iter().enumerate() {
                let before = std::mem::replace(&mut self.sampled[flow][path], counts.received);
                let rate = (counts.received - before).as_f64() * 8.0 / interval.as_secs_f64();
                let key = SeriesKey::Subflow(flow as u32, 0, path as u32);
                self.series.push(now, key, "throughput_bit_s", rate);
            }
        }
        Ok(())
    }

    fn into_ran(mut self, end: SimTime) -> Result<Ran, String> {
        // Silent ends may have run timers of later ticks, and their clocks do not go back.
        let clock = SimTime(self.next_tick.0.saturating_sub(self.tick.0)).max(end);
        let mut associations = Vec::with_capacity(self.conversations.len());
        for conversation in self.conversations {
            associations.push(conversation.into_ran(clock)?);
        }
        let ends = associations.iter().flat_map(|one| [&one.sender, &one.receiver]);
        Ok(Ran {
            end,
            events: self.carrier.events(),
            links: self.carrier.records(end),
            series: self.series,
            cpu_ms: ends.map(|end| u64::from(end.cpu_ms)).sum(),
            associations,
        })
    }
}

impl Conversation {
    /// Starts the processes of both ends.
    fn open(&mut self, now: SimTime, program: &Path, seed: u64) -> Result<(), String> {
        let addresses = [0, 1].map(|side: usize| {
            self.paths.iter().map(|ends| packets::address(ends[side])).collect::<Vec<_>>()
        });
        if self.paths.is_empty() {
            return Err("there is no route between the two hosts".into());
        }
        let start = |side: usize| {
            let place = Place {
                seed: seed << 1 | side as u64,
                port: self.port,
                opens: side == SENDER,
                local: &addresses[side],
                peer: &addresses[1 - side],
            };
            let mut end = End::start(program).map_err(|error| error.to_string())?;
            end.call(now, Request::Configure(&self.association.settings.lines(&place)))?;
            Ok::<End, String>(end)
        };
        self.ends = Some([start(SENDER)?, start(1)?]);
        Ok(())
    }

    /// Gives the sender frames: the messages of one, or many messages of one size.
    fn write(
        &mut self,
        (now, carrier): (SimTime, &mut Carrier),
        first: u64,
        frames: u64,
    ) -> Result<(), String> {
        let traffic = self.association.traffic.clone();
        let (frame, periodic) = (traffic.frame.len() as u64, traffic.interval.is_some());
        debug_assert!(periodic || frame == 1, "a frame of several messages has its time");
        let requests = if periodic { frame } else { 1 };
        for number in (0..requests).map(|offset| first * frame + offset) {
            if periodic {
                self.counts.on_written(number, now);
            }
            let (count, size) = (if periodic { 1 } else { frames }, traffic.size(number).0 as u32);
            let messages = Messages { first: number, count, size, stream: 0, unordered: traffic.unordered };
            self.ask(now, carrier, SENDER, Request::Send(messages))?;
        }
        Ok(())
    }

    fn ask(
        &mut self,
        now: SimTime,
        carrier: &mut Carrier,
        side: usize,
        request: Request<'_>,
    ) -> Result<(), String> {
        let Some(ends) = &mut self.ends else { return Ok(()) };
        let told = ends[side].call(now, request)?;
        self.take((now, carrier), side, told)
    }

    fn into_ran(mut self, clock: SimTime) -> Result<AssociationRan, String> {
        let mut counters = [EndCounters::default(); 2];
        for (counters, process) in counters.iter_mut().zip(self.ends.iter_mut().flatten()) {
            let told = process.call(clock, Request::State)?;
            let found = told.iter().find_map(|one| match one {
                Told::Counters(found) => Some(*found),
                _ => None,
            });
            *counters = found.ok_or("an end told no counters")?;
        }
        let [sender, receiver] = counters;
        let (paths, messages) = self.counts.into_parts();
        let Self { established, lost, .. } = self;
        Ok(AssociationRan { established, lost, paths, messages, sender, receiver })
    }
}

/// One path for each interface of the receiver: over an interface of the sender that no other path uses, if there is one.
fn paths(pairs: Vec<(Interface, Interface)>) -> Vec<[Interface; 2]> {
    let mut paths: Vec<[Interface; 2]> = Vec::new();
    let mut remotes: Vec<Interface> = pairs.iter().map(|(_, remote)| *remote).collect();
    remotes.sort_unstable();
    remotes.dedup();
    for remote in remotes {
        let there = || pairs.iter().filter(|(_, to)| *to == remote).map(|(from, _)| *from);
        let unused = there().find(|from| paths.iter().all(|[used, _]| used != from));
        if let Some(local) = unused.or_else(|| there().next()) {
            paths.push([local, remote]);
        }
    }
    debug_assert!(paths.is_sorted_by_key(|[_, remote]| remote.number), "paths are in the order of addresses");
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_use_all_interfaces_of_both_hosts() {
        let at = |node, number| Interface { node, number };
        let mesh: Vec<_> =
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(from, to)| (at(0, from), at(3, to))).to_vec();
        assert_eq!(paths(mesh), [[at(0, 0), at(3, 0)], [at(0, 1), at(3, 1)]]);
        let single = vec![(at(0, 0), at(3, 0)), (at(0, 0), at(3, 1))];
        assert_eq!(paths(single), [[at(0, 0), at(3, 0)], [at(0, 0), at(3, 1)]]);
    }
}
