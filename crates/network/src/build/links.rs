//! From a checked scenario to its links at time zero, and the changes to come.
//!
//! May: make models and draw from named streams. May not: make any event happen.

use engine::Stream;
use links::loss::Losses;
use links::{DelayModel, Fifo, LossModel, Models, Parameters, QueueDiscipline, RateModel, Station, Streams};
use registry::{Family, Options};
use scenario::model::{Change, Choice, Delay, Direction, Queue, Rate, Scenario, Setting};
use units::{BitsPerSecond, Nanos, QueueLimit, SimTime};

use crate::build::precomputed::PrecomputedRates;
use crate::net::link::{Link, LinkChange, Part};
use crate::net::topology::LinkId;

/// Makes models; each has a stream of its own, named after its link direction.
struct Maker {
    seed: u64,
    /// Packets take up to this longer where the delay is a constant above zero.
    jitter: Nanos,
}

/// All link directions of a scenario, `2 * duplex_link + direction`, and their changes, the last one first. A back end
/// that has hosts of its own starts from here.
pub fn links(scenario: &Scenario, seed: u64) -> (Vec<Link>, Vec<LinkChange>) {
    let maker = Maker::new(scenario, seed);
    let mut changes = maker.changes(scenario);
    let mut precomputed = PrecomputedRates::new(SimTime::ZERO + scenario.duration);
    let mut links = Vec::with_capacity(2 * scenario.duplex_links.len());
    for (duplex_link, c) in scenario.duplex_links.iter().enumerate() {
        for (index, direction) in c.directions.iter().enumerate() {
            let id = links.len() as LinkId;
            let events = scenario.events.iter().filter(|event| event.links.contains(&(duplex_link, index)));
            let (link, steps) = maker.link(direction, events, &mut precomputed);
            changes.extend(steps.into_iter().map(|(at, rate)| LinkChange::step(at, id, rate)));
            links.push(link);
        }
    }
    changes.sort_by_key(|change| change.at);
    changes.reverse();
    debug_assert_eq!(links.len(), 2 * scenario.duplex_links.len(), "two directions of each link");
    debug_assert!(changes.iter().all(|change| (change.link as usize) < links.len()), "a change of no link");
    (links, changes)
}

/// When a link direction could carry 1500 more bytes, from the start of the run to its end: by its rate, by the changes of
/// it and by outages, as if something always waited; the first `most` of them. Shapers and satellites out of sight are not
/// considered.
pub fn opportunities(scenario: &Scenario, seed: u64, place: (usize, usize), most: usize) -> Vec<SimTime> {
    let mut times = Vec::new();
    each_rate(scenario, seed, place, |rate, _, from, until| {
        let left = most.saturating_sub(times.len());
        times.extend(links::rate::trace_of(rate, from, until, left));
    });
    times
}

/// Steps of a bin in which a satellite is looked for.
const LOOKS: u64 = 20;

/// Mean rate of a link direction between each two of `edges`, in bit/s: by its rate, by the changes of it, by outages and, to a
/// twentieth of a bin, by satellites out of sight. Edges rise and lie within the run. Shapers are not considered.
pub fn capacity(scenario: &Scenario, seed: u64, place: (usize, usize), edges: &[SimTime]) -> Vec<f64> {
    debug_assert!(edges.is_sorted(), "edges rise");
    let mut work = vec![0.0; edges.len().saturating_sub(1)];
    each_rate(scenario, seed, place, |rate, delay, from, until| {
        for (span, work) in edges.windows(2).zip(&mut work) {
            let (start, end) = (span[0].max(from), span[1].min(until));
            if start < end {
                *work += carried(rate, delay, start, end);
            }
        }
    });
    // Work is bit/s times nanoseconds.
    let lengths = edges.windows(2).map(|span| span[1].since(span[0]).0 as f64);
    work.into_iter().zip(lengths).map(|(work, ns)| if ns > 0.0 { work / ns } else { 0.0 }).collect()
}

/// Work, bit/s times nanoseconds, that a link can do from `start` to `end` where its delay carries packets.
fn carried(rate: &mut dyn RateModel, delay: &mut dyn DelayModel, start: SimTime, end: SimTime) -> f64 {
    let steps = if delay.constant().is_some() { 1 } else { LOOKS };
    let length = end.since(start).0;
    let at = |step: u64| start + Nanos((u128::from(length) * u128::from(step) / u128::from(steps)) as u64);
    let mut before = rate.capacity(start);
    let mut work = 0.0;
    for step in 0..steps {
        let after = rate.capacity(at(step + 1));
        let now = at(step);
        if steps == 1 || (!delay.loses(now) && delay.ready(now, now) == now) {
            work += (after - before) as f64;
        }
        before = after;
    }
    work
}

/// Calls `serve` with each rate model of a link direction and the delay model beside it, in the order of time, and the span
/// in which both hold and the link is up.
fn each_rate(
    scenario: &Scenario,
    seed: u64,
    (duplex_link, direction): (usize, usize),
    mut serve: impl FnMut(&mut dyn RateModel, &mut dyn DelayModel, SimTime, SimTime),
) {
    let maker = Maker::new(scenario, seed);
    let link = &scenario.duplex_links[duplex_link].directions[direction];
    let mut rate = maker.rate(&link.rate, &link.name, "rate").into_model();
    let mut delay = maker.delay(&link.delay, &link.name, "delay").into_model();
    let end = SimTime::ZERO + scenario.duration;
    let (mut up, mut from) = (true, SimTime::ZERO);
    let ours = |event: &&(usize, &Change)| event.1.links.contains(&(duplex_link, direction));
    let mut events: Vec<_> = scenario.events.iter().enumerate().collect();
    events.sort_by_key(|(_, event)| event.at);
    for (number, event) in events.iter().filter(ours) {
        let change = maker.change(event, number + 1, (2 * duplex_link + direction) as LinkId, &link.name);
        if change.rate.is_none() && change.delay.is_none() && change.up.is_none() {
            continue;
        }
        if up {
            serve(rate.as_mut(), delay.as_mut(), from, change.at.min(end));
        }
        from = change.at;
        up = change.up.unwrap_or(up);
        if let Some(new) = change.rate {
            rate = new.into_model();
        }
        if let Some(new) = change.delay {
            delay = new.into_model();
        }
    }
    if up && from < end {
        serve(rate.as_mut(), delay.as_mut(), from, end);
    }
}

/// Instants of a run at which a delay model that loses packets is asked.
const PROBES: u64 = 1000;

/// Why a link direction carries nothing from the start of the run to its end, if it never does. `None` too if events
/// change it.
pub fn never_carries(
    scenario: &Scenario,
    seed: u64,
    (duplex_link, direction): (usize, usize),
) -> Option<&'static str> {
    let maker = Maker::new(scenario, seed);
    let link = &scenario.duplex_links[duplex_link].directions[direction];
    if scenario.events.iter().any(|event| event.links.contains(&(duplex_link, direction))) {
        return None;
    }
    let end = SimTime::ZERO + scenario.duration;
    let mut rate = maker.rate(&link.rate, &link.name, "rate").into_model();
    if rate.ready(SimTime::ZERO) >= end {
        return Some("its rate is 0 during the whole run");
    }
    let mut delay = maker.delay(&link.delay, &link.name, "delay").into_model();
    let waits = delay.ready(SimTime::ZERO, SimTime::ZERO) >= end;
    let step = scenario.duration.0 / PROBES;
    if waits || (0..PROBES).all(|i| delay.loses(SimTime(i * step))) {
        return Some("no satellite is in view during the whole run");
    }
    None
}

/// A rate that never changes.
fn plain_rate(rates: &[Rate]) -> Option<BitsPerSecond> {
    rates.iter().map(Setting::value).try_fold(BitsPerSecond(u64::MAX), |least, rate| Some(least.min(rate?)))
}

/// Each part with the purpose of its random numbers: those of the first are as if it were alone.
fn parts<'s, S>(settings: &'s [S], purpose: &str) -> impl Iterator<Item = (&'s S, String)> {
    let name = move |i| if i == 0 { purpose.to_owned() } else { format!("{purpose}/{}", i + 1) };
    settings.iter().enumerate().map(move |(i, setting)| (setting, name(i)))
}

impl Maker {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        Self { seed, jitter: scenario.jitter }
    }

    /// A link direction, and the steps of its rate that it does not make by itself.
    fn link<'c>(
        &self,
        direction: &Direction,
        events: impl Iterator<Item = &'c Change> + Clone,
        precomputed: &mut PrecomputedRates,
    ) -> (Link, Vec<(SimTime, BitsPerSecond)>) {
        let name = direction.name.as_str();
        let loss = self.loss(&direction.loss, name);
        let stream = |purpose| Stream::named(self.seed, name, purpose);
        let delay = self.delay(&direction.delay, name, "delay");
        let queue = self.queue(&direction.queue, name, "queue");
        if let (&Part::Value(delay), &Part::Value(queue)) = (&delay, &queue)
            && direction.shapers.is_empty()
            && direction.faults.none()
            && events.clone().all(|change| self.is_simple(change))
            && let Some((rate, steps)) = self.known_rates(direction, events, precomputed)
        {
            let fifo = Fifo::new(Parameters { rate, delay, queue }, loss, stream("loss"));
            return (Link::Fifo(fifo), steps);
        }
        let models = Models {
            rate: self.rate(&direction.rate, name, "rate").into_model(),
            delay: delay.into_model(),
            queue: queue.into_model(),
            loss,
            shapers: direction.shapers.clone(),
            faults: direction.faults,
        };
        let streams = Streams { loss: stream("loss"), faults: stream("faults") };
        (Link::Station(Box::new(Station::new(models, streams))), Vec::new())
    }

    /// After it, too, all about a packet is known when it is offered.
    fn is_simple(&self, change: &Change) -> bool {
        change.rate.as_ref().is_none_or(|rate| plain_rate(rate).is_some())
            && change.delay.as_ref().is_none_or(|delay| matches!(self.delay(delay, "", ""), Part::Value(_)))
            && change.queue.as_ref().is_none_or(|queue| matches!(self.queue(queue, "", ""), Part::Value(_)))
            && change.shapers.is_none()
            && change.faults.is_none()
    }

    /// The first rate and its steps, if a simple link can take them with the same outcome as a model.
    fn known_rates<'c>(
        &self,
        direction: &Direction,
        mut events: impl Iterator<Item = &'c Change>,
        precomputed: &mut PrecomputedRates,
    ) -> Option<(BitsPerSecond, Vec<(SimTime, BitsPerSecond)>)> {
        match self.rate(&direction.rate, &direction.name, "rate") {
            Part::Value(rate) => Some((rate, Vec::new())),
            // A simple link asks for losses before it knows of a later step: by time they would be others.
            Part::Model(_) if !direction.loss.is_empty() => None,
            Part::Model(_) if events.any(|event| event.rate.is_some() || event.loss.is_some()) => None,
            Part::Model(mut model) => precomputed.steps(model.as_mut()),
        }
    }

    /// One change per event and link.
    fn changes(&self, scenario: &Scenario) -> Vec<LinkChange> {
        let mut changes = Vec::new();
        for (number, event) in scenario.events.iter().enumerate() {
            changes.extend(event.links.iter().map(|&(duplex_link, direction)| {
                let name = &scenario.duplex_links[duplex_link].directions[direction].name;
                self.change(event, number + 1, (2 * duplex_link + direction) as LinkId, name)
            }));
        }
        changes
    }

    /// The `number`-th event; its models draw other numbers than those before them.
    fn change(&self, event: &Change, number: usize, link: LinkId, name: &str) -> LinkChange {
        let purpose = |what: &str| format!("{what}.{number}");
        LinkChange {
            at: event.at,
            link,
            quiet: false,
            rate: event.rate.as_ref().map(|rate| self.rate(rate, name, &purpose("rate"))),
            delay: event.delay.as_ref().map(|delay| self.delay(delay, name, &purpose("delay"))),
            queue: event.queue.as_ref().map(|queue| self.queue(queue, name, &purpose("queue"))),
            loss: event.loss.as_ref().map(|loss| self.loss(loss, name)),
            shapers: event.shapers.clone(),
            faults: event.faults,
            strip: event.strip,
            up: event.up,
        }
    }

    /// The first loss model draws from the link's stream; each further one from a stream of its own, so that it
    /// does not change what the first one does.
    fn loss(&self, choices: &[Choice<Losses>], name: &str) -> Option<Box<dyn LossModel>> {
        // A direction is named after its link: `beam1.up`.
        let link = name.rsplit_once('.').map_or(name, |(link, _)| link);
        let build = |choice: &Choice<Losses>| (choice.row.build)(&choice.options);
        let (first, rest) = choices.split_first()?;
        let mut model = build(first);
        if !rest.is_empty() {
            let stream = |number| Stream::named(self.seed, name, &format!("loss.{number}"));
            let further = rest.iter().zip(2..).map(|(choice, number)| (build(choice), stream(number)));
            model = Box::new(links::loss::CombinedLosses::new(model, further.collect()));
        }
        model.share(Stream::named(self.seed, link, "sky"));
        Some(model)
    }

    fn rate(&self, settings: &[Rate], name: &str, purpose: &str) -> Part<BitsPerSecond, dyn RateModel> {
        if let Some(rate) = plain_rate(settings) {
            return Part::Value(rate);
        }
        let part = |setting, purpose: &str| self.part(setting, name, purpose);
        match settings {
            [one] => part(one, purpose),
            several => {
                let parts =
                    parts(several, purpose).map(|(setting, purpose)| part(setting, &purpose).into_model());
                Part::Model(
                    links::rate::least(parts.collect())
                        .expect("the parser refuses a rate without a rate at an instant among several"),
                )
            }
        }
    }

    fn delay(&self, settings: &[Delay], name: &str, purpose: &str) -> Part<Nanos, dyn DelayModel> {
        let part = |(setting, purpose): (&Delay, String)| {
            self.part::<_, _, dyn DelayModel>(setting, name, &purpose).simplified(|delay| delay.constant())
        };
        let mut parts: Vec<Part<Nanos, dyn DelayModel>> = parts(settings, purpose).map(part).collect();
        let sum = |sum, part: &_| match part {
            Part::Value(delay) => Some(sum + *delay),
            Part::Model(_) => None,
        };
        match (parts.iter().try_fold(Nanos::ZERO, sum), parts.pop()) {
            (Some(sum), _) if self.jitter == Nanos::ZERO || sum == Nanos::ZERO => Part::Value(sum),
            (Some(sum), _) => {
                let stream = Stream::named(self.seed, name, purpose);
                Part::Model(links::delay::jittered(sum, self.jitter, stream))
            }
            (None, Some(only)) if parts.is_empty() => only,
            (None, last) => {
                let all = parts.into_iter().chain(last).map(Part::<Nanos, dyn DelayModel>::into_model);
                Part::Model(Box::new(links::delay::SummedDelays::new(all.collect())))
            }
        }
    }

    fn queue(&self, setting: &Queue, name: &str, purpose: &str) -> Part<QueueLimit, dyn QueueDiscipline> {
        self.part::<_, _, dyn QueueDiscipline>(setting, name, purpose).simplified(|queue| queue.drop_tail())
    }

    fn part<V: Copy, F, M: ?Sized>(
        &self,
        setting: &Setting<V, Choice<F>>,
        name: &str,
        purpose: &str,
    ) -> Part<V, M>
    where
        F: Family<Build = fn(&Options, Stream) -> Box<M>>,
    {
        match setting {
            Setting::Value(value) => Part::Value(*value),
            Setting::Model(choice) => {
                let stream = Stream::named(self.seed, name, purpose);
                Part::Model((choice.row.build)(&choice.options, stream))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if the link is simple with these models, of registries where names mean something else.
    fn is_simple(delay: &str, queue: &str) -> bool {
        let mut registries = scenario::Registries::builtin();
        let geo = *registries.delays.get("geo").unwrap();
        registries.delays.register(links::delay::Algorithm {
            name: "cable",
            options: &[],
            check: registry::independent,
            build: |_, _| Box::new(links::delay::ConstantDelay(Nanos::from_millis(7))),
            ..geo
        });
        let uniform = *registries.delays.get("uniform").unwrap();
        registries.delays.register(links::delay::Algorithm { name: "geo", ..uniform });
        let pie = *registries.queues.get("pie").unwrap();
        registries.queues.register(links::queue::Algorithm { name: "droptail", ..pie });
        let text = format!(
            "name = \"one\"\nduration = \"1s\"\n[[path]]\nname = \"a\"\n\
             both = {{ rate = \"1Mbit/s\", delay = {delay}, queue = {queue} }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\ntransport = {{ kind = \"tcp\" }}\n"
        );
        let document = scenario::Document::parse(&text, "test.toml", &[], &registries);
        let scenario = document.unwrap_or_else(|mistakes| panic!("{mistakes}")).scenario;
        matches!(super::links(&scenario, 1).0[0], Link::Fifo(_))
    }

    #[test]
    fn what_a_model_does_decides_not_what_it_is_called() {
        assert!(is_simple("\"cable\"", "\"100p\"") && is_simple("[\"cable\", \"1ms\"]", "\"100p\""));
        let geo = "{ kind = \"geo\", min = \"1ms\", max = \"2ms\", reorder = false }";
        assert!(!is_simple(geo, "\"100p\"") && !is_simple(&format!("[\"cable\", {geo}]"), "\"100p\""));
        assert!(!is_simple("\"cable\"", "\"droptail\""));
    }

    /// Carries packets in the first half of each second; in the second they wait, or are lost.
    #[derive(Debug)]
    struct HalfSeconds {
        loses: bool,
    }

    impl DelayModel for HalfSeconds {
        fn delay(&mut self, _depart: SimTime) -> Nanos {
            Nanos::from_millis(3)
        }

        fn ready(&mut self, start: SimTime, _end: SimTime) -> SimTime {
            let open = self.loses || start.0 % 1_000_000_000 < 500_000_000;
            if open { start } else { SimTime((start.0 / 1_000_000_000 + 1) * 1_000_000_000) }
        }

        fn loses(&mut self, depart: SimTime) -> bool {
            self.loses && depart.0 % 1_000_000_000 >= 500_000_000
        }
    }

    #[test]
    fn a_link_has_capacity_only_while_a_satellite_is_in_view() {
        for loses in [false, true] {
            let work = |from_ms: u64, until_ms: u64| {
                let mut rate = links::rate::ConstantRate::new(BitsPerSecond(10));
                let (from, until) = (SimTime::from_millis(from_ms), SimTime::from_millis(until_ms));
                carried(&mut rate, &mut HalfSeconds { loses }, from, until) / 1e9
            };
            for (from, until, expected) in [(0, 500, 5.0), (500, 1000, 0.0), (0, 1000, 5.0), (250, 1250, 5.0)]
            {
                let found: f64 = work(from, until);
                assert!((found - expected).abs() < 1e-9, "{from} to {until} ms: {found}");
            }
        }
    }
}
