//! Rules of links: sizes of queues that depend on other keys, options that must fit each other.

use links::delay::Delays;
use links::loss::Losses;
use links::queue::Queues;
use links::rate::Rates;
use registry::{OptionFault, OptionValue};
use units::{BitsPerSecond, Bytes, Nanos, QueueLimit};

use crate::choices::Choices;
use crate::inherit::direction_names;
use crate::keys::{DIRECTION, ROOT};
use crate::registries::Listed;
use document::check::{element_path, join};
use document::diagnostic::{Code, Report};
use document::keys::Kind;
use document::queue_size::QueueSize;
use document::tree::{Origin, Placed, Table, Value};

/// All directions of links, and all events.
pub(crate) fn links(root: &mut Table, choices: &Choices<'_>, report: &mut Report<'_>) {
    let end = root.parse::<Nanos>("duration");
    let mut rules = LinkRules { choices, report, end };
    for key in ROOT.keys {
        let Kind::Tables(section) = key.kind else { continue };
        let Some(Placed { value: Value::List(items), .. }) = root.get_mut(key.name) else { continue };
        for (index, item) in items.iter_mut().enumerate() {
            let path = element_path("", section.name, index, item);
            let Some(table) = item.as_table_mut() else { continue };
            if section.key("both").is_some() {
                rules.duplex_link(table, direction_names(section), &path);
            } else if let Some(set) = table.get("set").and_then(Placed::as_table) {
                rules.event(set, &join(&path, "set"));
            }
        }
    }
}

/// Options of a model that do not fit each other.
struct ModelFault {
    /// The error.
    fault: OptionFault,
    /// Where it was written.
    at: Option<Origin>,
    /// The content of a file is at fault.
    file: bool,
}

struct LinkRules<'c, 'r, 'a> {
    choices: &'c Choices<'c>,
    report: &'r mut Report<'a>,
    /// End of the run, if it is known.
    end: Option<Nanos>,
}

/// The node that says how large a queue is, if it says so in products of bandwidth and delay.
fn in_bdp(direction: &Table) -> Option<&Placed> {
    let queue = direction.get("queue")?;
    let limit = queue.as_table().map_or(Some(queue), |table| table.get("limit"))?;
    matches!(limit.as_text()?.parse(), Ok(QueueSize::Bdp(_))).then_some(limit)
}

impl LinkRules<'_, '_, '_> {
    fn duplex_link(&mut self, table: &mut Table, names: [&'static str; 2], path: &str) {
        let delay = |name: &str| table.table(name)?.parse::<Nanos>("delay");
        let round_trip = delay(names[0]).zip(delay(names[1])).map(|(there, back)| there + back);
        for name in names {
            let path = join(path, name);
            let Some(direction) = table.get_mut(name).and_then(Placed::as_table_mut) else { continue };
            self.queue_rtt(direction, round_trip, &path);
        }
        let [there, back] = names.map(|name| table.table(name));
        for (name, own, other) in [(names[0], there, back), (names[1], back, there)] {
            if let Some(own) = own {
                self.models(own, &join(path, name), other.map(|other| (other, join(path, "both"))));
            }
        }
    }

    fn event(&mut self, set: &Table, path: &str) {
        if let Some(limit) = in_bdp(set) {
            let message = format!("found \"{}\" in an event", limit.as_text().unwrap_or_default());
            let help = "say what it amounts to, in packets or bytes".into();
            self.report.add(limit.at, Code::Contradiction, &join(path, "queue"), message, help);
        } else {
            self.models(set, path, None);
        }
    }

    /// A queue in products of bandwidth and delay needs both.
    fn queue_rtt(&mut self, direction: &mut Table, round_trip: Option<Nanos>, path: &str) {
        let Some(limit) = in_bdp(direction) else {
            if let Some(given) = direction.get("queue_rtt").filter(|node| !node.is_broken()) {
                let message = "`queue_rtt` has a meaning only with a queue limit in BDP".into();
                let help = "remove it, or write for example queue = \"1BDP\"".into();
                self.report.add(given.at, Code::Contradiction, &join(path, "queue_rtt"), message, help);
            }
            return;
        };
        let (at, text) = (limit.at, limit.as_text().unwrap_or_default().to_owned());
        let unknown = |key: &str| direction.get(key).is_none_or(Placed::is_broken);
        if direction.parse::<BitsPerSecond>("rate").is_none() && !unknown("rate") {
            let message = format!("found \"{text}\", but the rate is not one constant");
            let help = "give the limit in packets or bytes".into();
            return self.report.add(at, Code::Contradiction, &join(path, "queue"), message, help);
        }
        if direction.has("queue_rtt") {
            return;
        }
        match round_trip {
            Some(time) => {
                direction.put("queue_rtt", Origin::Default, Placed::text(&time.to_string()));
                // In the order of the key tables, as everything in an expanded scenario.
                direction.entries.sort_by_key(|entry| DIRECTION.names().position(|name| name == entry.key));
            }
            None if unknown("delay") => {}
            None => {
                let message = format!("found \"{text}\", but a delay of the link is not one constant");
                let help = "add `queue_rtt`: the round-trip time that the queue is meant for".into();
                self.report.add(at, Code::MissingKey, &join(path, "queue_rtt"), message, help);
            }
        }
    }

    /// The models of a direction or an event. A value that `other`, the opposite direction, has from the same place was
    /// written in `both`.
    fn models(&mut self, keys: &Table, path: &str, other: Option<(&Table, String)>) {
        for key in ["rate", "delay", "queue", "loss"] {
            let Some(node) = keys.get(key) else { continue };
            let twins = other.as_ref().and_then(|(other, _)| other.get(key));
            for (index, model) in std::iter::once(node).chain(node.items()).enumerate() {
                let Some(table) = model.as_table() else { continue };
                let Some(ModelFault { fault, at, file }) = self.model_fault(key, table) else { continue };
                let twin = twins.and_then(|twin| std::iter::once(twin).chain(twin.items()).nth(index));
                let shared =
                    at == twin.and_then(Placed::as_table).and_then(|twin| twin.written(fault.option));
                let path = match &other {
                    Some((_, both)) if at.is_some() && shared => both,
                    _ => path,
                };
                let code = if file { Code::BadFile } else { Code::BadValue };
                let place = if index == 0 { key.to_owned() } else { format!("{key}.{}", index - 1) };
                let key = join(&join(path, &place), fault.option);
                self.report.add(at.unwrap_or(model.at), code, &key, fault.message, fault.help);
            }
        }
        let twin = other.as_ref().and_then(|(other, _)| other.get("rate"));
        if let Some(rate) = keys.get("rate") {
            let path = match &other {
                Some((_, both)) if twin.is_some_and(|twin| twin.at == rate.at) => both,
                _ => path,
            };
            self.least_rate(rate, path);
        }
    }

    /// Checks that each of several rates has a value at every instant.
    fn least_rate(&mut self, rate: &Placed, path: &str) {
        if rate.items().len() < 2 {
            return;
        }
        for (index, model) in rate.items().iter().enumerate() {
            let Some(table) = model.as_table().filter(|table| self.fault::<Rates>(table).is_none()) else {
                continue;
            };
            let Some(choice) = self.choices.plain::<Rates>(table) else { continue };
            if links::rate::has_rate_at_instants(&choice.row, &choice.options) {
                continue;
            }
            let message =
                format!("`{}` has no rate at an instant, of which others could be less", choice.name());
            let help = "give it alone, and bound it by a `shaper` or by another link in front of it".into();
            let key = join(path, &format!("rate.{index}"));
            self.report.add(model.at, Code::Contradiction, &key, message, help);
        }
    }

    /// The error in the model under `key`.
    fn model_fault(&self, key: &str, table: &Table) -> Option<ModelFault> {
        match key {
            "rate" => self.fault::<Rates>(table),
            "delay" => self.fault::<Delays>(table),
            "queue" => self.fault::<Queues>(table),
            _ => self.fault::<Losses>(table),
        }
    }

    /// The error in a model whose options are valid one by one but not together.
    fn fault<F: Listed>(&self, table: &Table) -> Option<ModelFault> {
        // A size of a queue is checked for itself; what it amounts to does not matter here.
        let any = |size: QueueSize| match size {
            QueueSize::Limit(limit) => Some(limit),
            QueueSize::Bdp(_) => Some(QueueLimit::Bytes(Bytes(1))),
        };
        let choice = self.choices.choice::<F>(table, &any)?;
        let late = || links::beyond_the_run(&choice.options, self.end?);
        let fault = choice.fault().or_else(late)?;
        let file = matches!(choice.options.get(fault.option), Some(OptionValue::File(_)));
        let at = table.written(fault.option);
        Some(ModelFault { fault, at, file })
    }
}
