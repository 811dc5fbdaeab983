//! Values drawn once per replication: `{ draw = "uniform", from = "20Mbit/s", to = "30Mbit/s" }` in the place of a
//! quantity.
//!
//! Such tables are taken out of the tree before its keys are checked, and a value is put in their place: the lower bound, the
//! upper bound, or what a seed gives. So each key is checked at both bounds as if it had been written there, and no
//! other step of the pipeline knows of draws. A draw that is written once is drawn once: `both` and `like` copy the value.

use std::fmt::Display;
use std::str::FromStr;

use document::check::{element_path, join};
use document::diagnostic::{Code, Report, suggest};
use document::tree::{Origin, Placed, Table, Value};
use engine::Stream;
use units::{BitsPerSecond, Bytes, Nanos};

/// The key that makes a table a draw.
const DRAW: &str = "draw";
const UNIFORM: &str = "uniform";
const KEYS: [&str; 4] = [DRAW, "from", "to", "stream"];
const EXAMPLE: &str = "write { draw = \"uniform\", from = \"20Mbit/s\", to = \"30Mbit/s\" }";

/// The value that takes the place of a draw.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick {
    /// The lower bound.
    From,
    /// The upper bound.
    To,
    /// Drawn for a replication.
    Seed(u64),
}

/// A quantity in its base unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Rate(u64),
    Time(u64),
    Size(u64),
    Packets(u64),
    Percent(f64),
    Whole(u64),
    Real(f64),
}

/// A value that is drawn once per replication, uniformly between two bounds.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Name of the random stream: the key as it is written, unless `stream` says otherwise.
    stream: String,
    from: Amount,
    to: Amount,
    /// The table as it was written, its stream named.
    written: Table,
    /// Where its lower bound stands, which is where the value in its place seems to stand.
    at: Origin,
}

impl Draw {
    /// The column of the table `runs` that records it: the stream, and the unit.
    pub fn column(&self) -> String {
        format!("{}{}", self.stream, self.from.suffix())
    }

    /// The value under a seed, in the unit of the column.
    pub fn value(&self, seed: u64) -> f64 {
        self.under(seed).measure()
    }

    fn under(&self, seed: u64) -> Amount {
        let drawn = self.from.towards(self.to, Stream::named(seed, &self.stream, DRAW).uniform());
        debug_assert!(
            (self.from.measure()..=self.to.measure()).contains(&drawn.measure()),
            "{drawn:?} is outside {:?} to {:?}",
            self.from,
            self.to
        );
        drawn
    }
}

impl Amount {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(n) => u64::try_from(*n).ok().map(Self::Whole),
            Value::Float(x) => x.is_finite().then_some(Self::Real(*x)),
            Value::Text(text) => Self::of_text(text.trim()),
            _ => None,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        fn quantity<T: FromStr>(text: &str) -> Option<T> {
            text.parse().ok()
        }
        if let Some(share) = text.strip_suffix('%') {
            return share.trim().parse().ok().filter(|share: &f64| share.is_finite()).map(Self::Percent);
        }
        if let Some(packets) = text.strip_suffix('p').and_then(|count| count.trim().parse().ok()) {
            return Some(Self::Packets(packets));
        }
        quantity::<BitsPerSecond>(text)
            .map(|rate| Self::Rate(rate.0))
            .or_else(|| quantity::<Nanos>(text).map(|time| Self::Time(time.0)))
            .or_else(|| quantity::<Bytes>(text).map(|size| Self::Size(size.0)))
    }

    /// The quantity at `share`, from 0 to 1, between this one and another of its kind, both included.
    fn towards(self, to: Self, share: f64) -> Self {
        let whole =
            |low: u64, high: u64| low + (((high - low) as f64 + 1.0) * share).min((high - low) as f64) as u64;
        let real = |low: f64, high: f64| (low + (high - low) * share).clamp(low, high);
        match (self, to) {
            (Self::Rate(low), Self::Rate(high)) => Self::Rate(whole(low, high)),
            (Self::Time(low), Self::Time(high)) => Self::Time(whole(low, high)),
            (Self::Size(low), Self::Size(high)) => Self::Size(whole(low, high)),
            (Self::Packets(low), Self::Packets(high)) => Self::Packets(whole(low, high)),
            (Self::Whole(low), Self::Whole(high)) => Self::Whole(whole(low, high)),
            (Self::Percent(low), Self::Percent(high)) => Self::Percent(real(low, high)),
            (low, high) => Self::Real(real(low.measure(), high.measure())),
        }
    }

    /// As it would have been written.
    fn value(self) -> Value {
        let text = |number: &dyn Display, unit: &str| Value::Text(format!("{number}{unit}"));
        match self {
            Self::Rate(n) => text(&n, "bit/s"),
            Self::Time(n) => text(&n, "ns"),
            Self::Size(n) => text(&n, "B"),
            Self::Packets(n) => text(&n, "p"),
            Self::Percent(x) => text(&x, "%"),
            Self::Whole(n) => i64::try_from(n).map_or(Value::Broken, Value::Integer),
            Self::Real(x) => Value::Float(x),
        }
    }

    /// In the unit of its column.
    fn measure(self) -> f64 {
        match self {
            Self::Rate(n) | Self::Size(n) | Self::Packets(n) | Self::Whole(n) => n as f64,
            Self::Time(n) => Nanos(n).as_secs_f64(),
            Self::Percent(x) => x / 100.0,
            Self::Real(x) => x,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Rate(_) => "_bit_s",
            Self::Time(_) => "_s",
            Self::Size(_) => "_bytes",
            Self::Packets(_) => "_packets",
            Self::Percent(_) | Self::Whole(_) | Self::Real(_) => "",
        }
    }

    /// Whole numbers and others mix; nothing else does.
    fn is_like(self, other: Self) -> bool {
        let plain = |one: Self| matches!(one, Self::Whole(_) | Self::Real(_));
        std::mem::discriminant(&self) == std::mem::discriminant(&other) || plain(self) && plain(other)
    }
}

/// Puts values in the place of all draws of a tree.
pub(crate) fn lift(root: &mut Table, pick: Pick, report: &mut Report<'_>) -> Vec<Draw> {
    let mut lifter = Lifter { pick, found: Vec::new(), report };
    lifter.table(root, "");
    lifter.found
}

struct Lifter<'r, 'a> {
    pick: Pick,
    found: Vec<Draw>,
    report: &'r mut Report<'a>,
}

impl Lifter<'_, '_> {
    fn table(&mut self, table: &mut Table, path: &str) {
        for entry in &mut table.entries {
            let own = join(path, &entry.key);
            let Value::List(items) = &mut entry.node.value else {
                self.node(&mut entry.node, &own);
                continue;
            };
            for (index, item) in items.iter_mut().enumerate() {
                let own = element_path(path, &entry.key, index, item);
                self.node(item, &own);
            }
        }
    }

    fn node(&mut self, node: &mut Placed, path: &str) {
        let at = node.at;
        let Some(table) = node.as_table_mut() else { return };
        if !table.has(DRAW) {
            return self.table(table, path);
        }
        let table = std::mem::take(table);
        *node = self.draw(table, at, path).unwrap_or(Placed::broken(at));
    }

    fn add(
        &mut self,
        at: Origin,
        code: Code,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report.add(at, code, path, message.into(), help.into());
    }

    /// The value in the place of a draw; nothing if it has a mistake.
    fn draw(&mut self, mut table: Table, at: Origin, path: &str) -> Option<Placed> {
        let before = self.report.len();
        for entry in table.entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            let help = suggest(&entry.key, "keys of a draw", KEYS);
            let message = format!("`{}` is not a key of a draw", entry.key);
            self.add(entry.at, Code::UnknownKey, &join(path, &entry.key), message, help);
        }
        if let Some(word) = table.get(DRAW).filter(|node| node.as_text() != Some(UNIFORM)) {
            let message = format!("found {}, which is not a distribution", word.value.found());
            self.add(
                word.at,
                Code::UnknownWord,
                &join(path, DRAW),
                message,
                format!("allowed: \"{UNIFORM}\""),
            );
        }
        let from = self.bound(&table, "from", at, path);
        let to = self.bound(&table, "to", at, path);
        let stream = self.stream(&table, path);
        let ((from, from_at), (to, to_at), stream) = (from?, to?, stream?);
        if !from.is_like(to) {
            self.add(
                to_at,
                Code::Contradiction,
                path,
                "`from` and `to` are not of one kind",
                "give both the same unit",
            );
        } else if from.measure() >= to.measure() {
            let help = "write the smaller one as `from`, or the value itself in the place of the draw";
            self.add(to_at, Code::Contradiction, path, "`to` is not above `from`: nothing is drawn", help);
        }
        let other =
            self.found.iter().find(|other| other.stream == stream && (other.from, other.to) != (from, to));
        if let Some(other) = other.map(|other| other.stream.clone()) {
            let message = format!("the stream \"{other}\" is drawn from other bounds elsewhere");
            self.add(at, Code::Contradiction, path, message, "give one of them another `stream`");
        }
        if self.report.len() > before {
            return None;
        }
        table.put("stream", Origin::Default, Placed::text(&stream));
        let draw = Draw { stream, from, to, written: table, at: from_at };
        // Bounds as they are written: so messages show them.
        let value = match self.pick {
            Pick::From => draw.written.get("from").cloned(),
            Pick::To => draw.written.get("to").cloned(),
            Pick::Seed(seed) => Some(Placed::new(draw.under(seed).value(), from_at)),
        };
        self.found.push(draw);
        value
    }

    fn bound(&mut self, table: &Table, key: &str, at: Origin, path: &str) -> Option<(Amount, Origin)> {
        let Some(node) = table.get(key) else {
            self.add(at, Code::MissingKey, &join(path, key), format!("`{key}` is missing"), EXAMPLE);
            return None;
        };
        let amount = Amount::of(&node.value);
        if amount.is_none() && !node.is_broken() {
            let message = format!("found {}, which cannot be drawn", node.value.found());
            let help = "give a number, or a quantity with its unit: a rate, a time, a size, packets, percent";
            self.add(node.at, Code::BadValue, &join(path, key), message, help);
        }
        amount.map(|amount| (amount, node.at))
    }

    fn stream(&mut self, table: &Table, path: &str) -> Option<String> {
        let Some(node) = table.get("stream") else { return Some(path.to_owned()) };
        let fits = |text: &&str| {
            !text.is_empty()
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        let name = node.as_text().filter(fits);
        if name.is_none() {
            let message = format!("found {}; expected a name", node.value.found());
            let help = "write letters, digits, _, - and dots: the name of a column of the table of runs";
            self.add(node.at, Code::BadName, &join(path, "stream"), message, help);
        }
        name.map(str::to_owned)
    }
}

/// The filled tree with its draws as they were written. `low` and `high` are the trees with the bounds in their places.
/// Defaults that follow from a drawn value, such as the end of a flow from the duration, are left out.
pub(crate) fn restored(low: &Table, high: &Table, draws: &[Draw]) -> Table {
    let mut table = Table { entries: Vec::with_capacity(low.entries.len()), partial: low.partial };
    for entry in &low.entries {
        let other = high.get(&entry.key).unwrap_or(&entry.node);
        if let Some(node) = value(&entry.node, other, draws) {
            table.put(&entry.key, entry.at, node);
        }
    }
    table
}

fn value(low: &Placed, high: &Placed, draws: &[Draw]) -> Option<Placed> {
    if let Some(draw) = draws.iter().find(|draw| draw.at == low.at && draw.at != Origin::Default) {
        return Some(Placed::new(Value::Table(draw.written.clone()), low.at));
    }
    let kept = match (&low.value, &high.value) {
        (Value::Table(low), Value::Table(high)) => Value::Table(restored(low, high, draws)),
        (Value::List(low), Value::List(high)) if low.len() == high.len() => {
            Value::List(low.iter().zip(high).filter_map(|(low, high)| value(low, high, draws)).collect())
        }
        (mine, other) if low.at == Origin::Default && mine.bare() != other.bare() => return None,
        (mine, _) => mine.clone(),
    };
    Some(Placed::new(kept, low.at))
}
