//! Definition of a column or a time series: name, type, unit, whether more is better, label, meaning.
//!
//! May: describe. May not: compute a value or format one.

/// Whether a large value is a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Up,
    /// Less is better.
    Down,
    /// It depends on the question.
    Neither,
}

impl Better {
    /// One word, as in `up`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Neither => "neither",
        }
    }
}

/// The unit of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// None: a name, a count, a factor, yes or no.
    One,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// A part of a whole, 0 to 1.
    Share,
    /// Packets waiting.
    Packets,
    /// Segments of the MSS.
    Segments,
}

impl Unit {
    /// The ending that names of columns with this unit have, so that a table explains itself.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::One | Self::Share => "",
            Self::Seconds => "_s",
            Self::Bytes => "_bytes",
            Self::BitsPerSecond => "_bit_s",
            Self::Packets => "_packets",
            Self::Segments => "_segments",
        }
    }

    /// The unit that people read, and what to divide a value by for it.
    pub fn shown(self) -> (&'static str, f64) {
        match self {
            Self::One => ("", 1.0),
            Self::Seconds => ("s", 1.0),
            Self::Bytes => ("kB", 1e3),
            Self::BitsPerSecond => ("Mbit/s", 1e6),
            Self::Share => ("%", 1e-2),
            Self::Packets => ("packets", 1.0),
            Self::Segments => ("segments", 1.0),
        }
    }
}

/// The type of a column: a variant of [`crate::Data`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Whole numbers, or none.
    OptionalInteger,
    /// Real numbers, or none.
    Real,
    /// Yes or no.
    Flag,
    /// Words, or none.
    Word,
}

/// One column of a table, or one time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricSpec {
    /// Name; it ends with the unit.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// True if it says which row this is, false if it is a measurement.
    pub key: bool,
    /// Unit.
    pub unit: Unit,
    /// Whether more is better.
    pub better: Better,
    /// Name in plots and reports, without the unit.
    pub label: &'static str,
    /// Its meaning, as the reference page has it.
    pub doc: &'static str,
}

impl MetricSpec {
    /// A column that says which row this is.
    pub(crate) const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { name, kind, key: true, unit: Unit::One, better: Better::Neither, label: name, doc }
    }

    /// Words about a row.
    pub(crate) const fn word(name: &'static str, label: &'static str, doc: &'static str) -> Self {
        let (kind, unit, better) = (Kind::Word, Unit::One, Better::Neither);
        Self { name, kind, key: false, unit, better, label, doc }
    }

    /// A measurement in whole numbers.
    pub(crate) const fn integer(
        name: &'static str,
        unit: Unit,
        better: Better,
        label: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Integer, key: false, unit, better, label, doc }
    }

    /// A measurement in real numbers.
    pub(crate) const fn real(
        name: &'static str,
        unit: Unit,
        better: Better,
        label: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Real, key: false, unit, better, label, doc }
    }

    /// Yes or no.
    pub(crate) const fn flag(
        name: &'static str,
        better: Better,
        label: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { name, kind: Kind::Flag, key: false, unit: Unit::One, better, label, doc }
    }

    /// The same where a row may have no value.
    pub(crate) const fn optional(mut self) -> Self {
        assert!(matches!(self.kind, Kind::Integer), "real numbers and words may be missing anyway");
        self.kind = Kind::OptionalInteger;
        self
    }
}

/// A table and its columns, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Name.
    pub name: &'static str,
    /// Meaning of a row.
    pub row: &'static str,
    /// Columns.
    pub columns: &'static [MetricSpec],
}

impl TableSpec {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&'static MetricSpec> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Kind of object that a time series belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A flow.
    Flow,
    /// A leg of a flow; its names begin with `legN_`, where N is the number of the leg, and its rows are those of the flow.
    Leg,
    /// A connection of a flow; its rows are those of its subflow 0.
    Connection,
    /// A subflow.
    Subflow,
    /// A link direction.
    Link,
}

impl Owner {
    /// One word, as in `flow`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Leg => "leg",
            Self::Connection => "connection",
            Self::Subflow => "subflow",
            Self::Link => "link",
        }
    }
}

/// One time series: a value of the column `metric` of the table `series`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesSpec {
    /// Kind of its owner.
    pub of: Owner,
    /// The congestion controls or schedulers that report it; empty: it is sampled whatever they are.
    pub by: &'static [&'static str],
    /// Its metric.
    pub metric: MetricSpec,
}
