//! Time series: samples of named metrics at instants, in columns.

use units::SimTime;

/// Owner of a series. Indices are those of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SeriesKey {
    /// One subflow of a flow: flow, connection of the flow, subflow of the connection.
    Subflow(u32, u32, u32),
    /// A flow as a whole.
    Flow(u32),
    /// One leg of all connections of a flow that proxies have a part in: flow, number of the leg from 0 at the data sender.
    /// In tables its metrics have the name of the leg in front: `leg1_cwnd_bytes`.
    Leg(u32, u32),
    /// A link direction.
    Link(u32),
}

/// Name of the sampled quantity, with its unit.
pub type Metric = &'static str;

/// Samples in the order in which they were taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Instants.
    pub at: Vec<SimTime>,
    /// Owners.
    pub key: Vec<SeriesKey>,
    /// Metrics.
    pub metric: Vec<Metric>,
    /// Values.
    pub value: Vec<f64>,
}

impl Series {
    /// Adds one sample.
    pub fn push(&mut self, at: SimTime, key: SeriesKey, metric: Metric, value: f64) {
        self.at.push(at);
        self.key.push(key);
        self.metric.push(metric);
        self.value.push(value);
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// True without samples.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}
