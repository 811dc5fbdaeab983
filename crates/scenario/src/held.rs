//! From a checked value to what it stands for: quantities, numbers, and the words of closed lists.
//!
//! A key whose field has its name needs no more than that name in `fields!`; the type of the field says how the value is
//! read. The words of a closed list stand here once: the key tables take them from `Words::WORDS`.

use congestion::SsthreshFrom;
use transport::AbortForm;
use transport::config::{
    AckPushed, CwndCounts, FlightAfterTimeout, IdleRestart, LossMeans, PacingRule, PrrRule, QuantumRule,
    Reassembly, ReceiveCounts, ReinjectOn, Reinjection, RtoFloor, RtoRule, UndoRule,
};
use transport::sctp::config::{
    BufferSplit, EagerSack, FastRetransmit, InitialWindow, Occupancy, Reductions, RetransmissionPolicy,
    TimerDefects, WindowUpdate,
};
use units::{BitsPerSecond, Bytes, Nanos, Ratio, SimTime};

use crate::model::{CrashForm, Ecmp, ProxyHandshake, ProxyKind, ProxyServers};
use document::keys::UNLIMITED;
use document::tree::{Placed, Table, Value};

/// Meaning of a checked value.
pub(crate) trait Held: Sized {
    /// `None`: the key table allows values that this type cannot hold.
    fn held(node: &Placed) -> Option<Self>;
}

/// A closed list of words and what they mean.
pub(crate) trait Words: Sized {
    /// In the order of messages and of the reference page.
    const WORDS: &'static [&'static str];
    /// The value that a word stands for.
    fn of(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($type:ty { $($word:literal => $meaning:expr),* $(,)? })*) => {
        $(impl Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($meaning),)*
                    _ => None,
                }
            }
        }

        impl Held for $type {
            fn held(node: &Placed) -> Option<Self> {
                Self::of(node.as_text()?)
            }
        })*
    };
}

words! {
    Ecmp { "flow" => Self::Flow, "packet" => Self::Packet }
    ProxyServers { "all" => Self::All, "plain" => Self::Plain, "multipath" => Self::Multipath }
    ProxyKind { "split" => Self::Split, "mptcp" => Self::Mptcp, "one-subflow" => Self::OneSubflow, "convert" => Self::Convert }
    ProxyHandshake { "early" => Self::Early, "late" => Self::Late }
    CrashForm { "reset" => Self::Reset, "silent" => Self::Silent }
    AbortForm { "ack" => Self::Ack, "reset" => Self::Reset }
    Reinjection { "timeout" => Self::Timeout, "death" => Self::Death, "upstream" => Self::Upstream }
    ReinjectOn {
        "scheduler" => Self::Scheduler,
        "same-path" => Self::SamePath,
        "lowest-rtt" => Self::LowestRtt,
        "all" => Self::All,
    }
    Reassembly { "separate" => Self::Separate, "joint" => Self::Joint }
    RtoFloor { "total" => Self::Total, "variance" => Self::Variance }
    RtoRule { "rfc" => Self::Rfc, "ns3" => Self::Ns3, "linux" => Self::Linux }
    SsthreshFrom { "flight" => Self::Flight, "cwnd" => Self::Cwnd }
    CwndCounts { "bytes" => Self::Bytes, "segments" => Self::Segments }
    AckPushed { "never" => Self::Never, "short" => Self::Short, "any" => Self::Any }
    PacingRule { "ideal" => Self::Ideal, "linux" => Self::Linux }
    QuantumRule { "none" => Self::None, "linux" => Self::Linux }
    UndoRule { "never" => Self::Never, "linux" => Self::Linux }
    PrrRule { "rfc" => Self::Rfc, "linux" => Self::Linux }
    FlightAfterTimeout { "retransmitted" => Self::Retransmitted, "outstanding" => Self::Outstanding }
    ReceiveCounts {
        "payload" => Self::Payload,
        "memory" => Self::Memory,
        "subflow-memory" => Self::SubflowMemory,
    }
    IdleRestart { "never" => Self::Never, "initial" => Self::Initial, "halving" => Self::Halving }
    RetransmissionPolicy {
        "same-path" => Self::SamePath,
        "largest-window" => Self::LargestWindow,
        "largest-threshold" => Self::LargestThreshold,
        "lowest-loss" => Self::LowestLoss,
        "any-with-room" => Self::AnyWithRoom,
        "lowest-rtt" => Self::LowestRtt,
    }
    Reductions { "once" => Self::Once, "each" => Self::Each }
    FastRetransmit { "single" => Self::Single, "all" => Self::All }
    TimerDefects {
        "absent" => Self::Absent,
        "late-restart" => Self::LateRestart,
        "starvation" => Self::Starvation,
        "both" => Self::Both,
    }
    EagerSack { "never" => Self::Never, "first" => Self::First, "with-departures" => Self::WithDepartures }
    Occupancy { "queued" => Self::Queued, "flight" => Self::Flight }
    WindowUpdate { "v1" => Self::V1, "v2" => Self::V2 }
    BufferSplit { "off" => Self::Off, "sender" => Self::Sender, "receiver" => Self::Receiver, "both" => Self::Both }
    LossMeans { "congestion" => Self::Congestion, "corruption" => Self::Corruption }
}

macro_rules! quantities {
    ($($type:ty),*) => {
        $(impl Held for $type {
            fn held(node: &Placed) -> Option<Self> {
                node.as_text()?.parse().ok()
            }
        })*
    };
}

quantities!(BitsPerSecond, Bytes, Nanos, SimTime);

impl Held for String {
    fn held(node: &Placed) -> Option<Self> {
        node.as_text().map(str::to_owned)
    }
}

impl Held for bool {
    fn held(node: &Placed) -> Option<Self> {
        match node.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }
}

/// A number that fits; the largest one where there is no limit.
impl Held for u32 {
    fn held(node: &Placed) -> Option<Self> {
        match &node.value {
            Value::Integer(n) => Self::try_from(*n).ok(),
            Value::Text(text) if text == UNLIMITED => Some(Self::MAX),
            _ => None,
        }
    }
}

impl Held for InitialWindow {
    fn held(node: &Placed) -> Option<Self> {
        match node.as_text()? {
            "rfc9260" => Some(Self::Rfc9260),
            "rfc4960" => Some(Self::Rfc4960),
            size => size.parse().ok().map(Self::Bytes),
        }
    }
}

impl Held for Ratio {
    fn held(node: &Placed) -> Option<Self> {
        Self::new(node.value.bare()?.parse().ok()?).ok()
    }
}

/// Reads values of a checked table.
pub(crate) trait Read {
    /// Value of `key`; `None` if the key is missing, too.
    fn read<T: Held>(&self, key: &str) -> Option<T>;
}

impl Read for Table {
    fn read<T: Held>(&self, key: &str) -> Option<T> {
        T::held(self.get(key)?)
    }
}

/// A struct of the keys of a table: a field by itself holds the key of its name, others say where they come from.
macro_rules! fields {
    (@ $keys:ident $field:ident) => { $keys.read(stringify!($field))? };
    (@ $keys:ident $field:ident $value:expr) => { $value };
    ($keys:ident => $type:ident { $($field:ident $(: $value:expr)?),* $(,)? }) => {
        $type { $($field: fields!(@ $keys $field $($value)?)),* }
    };
}
pub(crate) use fields;
