//! Recorded quantities, defined once: histograms, time averages, time series, records of a run, tables of columns.
//!
//! May: store numbers compactly, in bounded memory where that is possible. May not: know what produced them.

mod accuracy;
mod average;
mod buckets;
mod histogram;
mod levels;
mod measured;
mod messages;
mod metric;
pub mod metrics;
mod record;
mod series;
mod states;
mod table;

pub use accuracy::Accuracy;
pub use average::TimeAverage;
pub use histogram::Histogram;
pub use levels::TimeLevels;
pub use measured::{Measured, MeasuredTable};
pub use messages::MessageStats;
pub use metric::{Better, Kind, MetricSpec, Owner, SeriesSpec, TableSpec, Unit};
pub use record::{
    FlowRecord, Held, JoinRecord, LIMITS, LegRecord, Limited, LinkRecord, MessageRecord, NEVER_ESTABLISHED,
    PageRecord, RunRecord, Sending, SubflowRecord,
};
pub use series::{Metric, Series, SeriesKey};
pub use states::StateTimes;
pub use table::{Column, Data, Table, TableBuilder, Words};
