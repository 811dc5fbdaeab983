//! The memory of a run, estimated before it begins: valid scenarios can ask for more than there is.
//!
//! The estimate counts connections, messages in the send buffers of associations, and packets that find room in queues when every source sends at its peak rate all the
//! time, less what the fastest link carries. Models without a constant are not counted: a run that grows beyond the bound
//! all the same is stopped by its world.

use network::{MAX_MEMORY, PACKET};
use registry::{OptionValue, Options};
use scenario::model::{Direction, Flow, Scenario};
use transport::config::SendBuffer;
use units::{Nanos, QueueLimit};

use crate::RunError;

/// Connections that one replication may open at a time.
pub const MAX_CONNECTIONS: u64 = 100_000;

/// Both ends of a connection, and what is recorded of it: 1.34 GB were measured for 256,000.
const CONNECTION: u64 = 5_500;
/// A message in the send buffer of an association.
const MESSAGE: u64 = 64;
/// Bytes of a packet in a queue whose limit is in bytes.
const USUAL_PACKET: u64 = 1500;

/// Refuses a scenario that is certain to exceed these bounds.
pub(crate) fn bound(scenario: &Scenario) -> Result<(), RunError> {
    let connections = scenario.flows.iter().map(connections).fold(0, u64::saturating_add);
    if connections > MAX_CONNECTIONS {
        return Err(RunError::TooManyConnections { connections });
    }
    let messages = scenario.flows.iter().map(buffered).fold(0, u64::saturating_add);
    if messages.saturating_mul(MESSAGE) > MAX_MEMORY {
        return Err(RunError::TooManyMessages { messages });
    }
    let packets = offered(scenario).saturating_sub(drained(scenario)).min(held(scenario));
    let bytes = packets.saturating_mul(PACKET).saturating_add(connections * CONNECTION);
    if bytes > MAX_MEMORY { Err(RunError::TooMuchMemory { bytes, packets }) } else { Ok(()) }
}

fn connections(flow: &Flow) -> u64 {
    match flow.app.options.get("connections") {
        Some(OptionValue::Integer(n)) => *n,
        _ => 1,
    }
}

/// Messages in the send buffers of a flow over SCTP, if its application fills them.
fn buffered(flow: &Flow) -> u64 {
    match (&flow.transport.sctp, flow.transport.tcp.buffers.send_buffer) {
        (Some(sctp), SendBuffer::Fixed(size)) if flow.app.name() == "bulk" => {
            (size.0 / sctp.config.streams.message.0.max(1)).saturating_mul(connections(flow))
        }
        _ => 0,
    }
}

/// Packets that all flows together can have queued or in transit.
fn offered(scenario: &Scenario) -> u64 {
    let one = |flow: &Flow| match &flow.transport.udp {
        Some(udp) => at_peak_rate(&flow.app.options, scenario.duration) / udp.payload.0.max(1) + 1,
        None => {
            let tcp = &flow.transport.tcp;
            let window = tcp.buffers.receive_buffer_max.min(tcp.window.flight_limit);
            (window.0 / tcp.segment.mss.0.max(1)).saturating_mul(connections(flow))
        }
    };
    scenario.flows.iter().map(one).fold(0, u64::saturating_add)
}

/// Bytes that an application sends in this time at the highest of its rates; 0 if it has none.
fn at_peak_rate(options: &Options, time: Nanos) -> u64 {
    let rates = options.iter().filter_map(|(_, value)| match value {
        OptionValue::Rate(rate) => Some(*rate),
        _ => None,
    });
    bytes_in(rates.map(|rate| rate.0).max().unwrap_or(0), time)
}

/// Packets that the fastest link carries in the whole run; unbounded if the rate of any link is not constant.
fn drained(scenario: &Scenario) -> u64 {
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    let rate = directions.map(|direction| lowest_rate(direction).unwrap_or(u64::MAX)).max().unwrap_or(0);
    bytes_in(rate, scenario.duration) / USUAL_PACKET
}

/// The lowest rate of a direction, which applies, in bit/s; `None` if one of its rates is not constant.
fn lowest_rate(direction: &Direction) -> Option<u64> {
    let rates: Option<Vec<u64>> = direction.rate.iter().map(|rate| rate.value().map(|rate| rate.0)).collect();
    rates?.into_iter().min()
}

fn bytes_in(rate: u64, time: Nanos) -> u64 {
    let bits = u128::from(rate) * u128::from(time.0) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// Packets for which all links together have room: in queues, and in propagation.
fn held(scenario: &Scenario) -> u64 {
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    directions.map(room).fold(0, u64::saturating_add)
}

fn room(direction: &Direction) -> u64 {
    let waiting = match direction.queue.value() {
        Some(QueueLimit::Packets(n)) => n,
        Some(QueueLimit::Bytes(bytes)) => bytes.0 / USUAL_PACKET,
        None => 0,
    };
    let delay: u64 = direction.delay.iter().filter_map(|delay| delay.value()).map(|delay| delay.0).sum();
    waiting.saturating_add(bytes_in(lowest_rate(direction).unwrap_or(0), Nanos(delay)) / USUAL_PACKET)
}

#[cfg(test)]
mod tests {
    use scenario::{Document, Registries};

    use super::*;

    fn judged(link: &str, flow: &str) -> Result<(), RunError> {
        let text = format!(
            "duration = \"300s\"\n[[path]]\nname = \"p\"\nboth = {{ delay = \"10ms\", {link} }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"terminal\"\nto = \"server\"\n{flow}\n"
        );
        let document = Document::parse(&text, "x.toml", &[], &Registries::builtin());
        bound(&document.unwrap_or_else(|e| panic!("{e}")).scenario)
    }

    const FLOOD: &str = "app = { kind = \"onoff\", rate = \"1Gbit/s\" }\ntransport = { kind = \"udp\" }";

    #[test]
    fn a_queue_that_grows_without_end_is_refused() {
        let endless = "rate = \"1kbit/s\", queue = \"1000000000000p\"";
        let Err(error @ RunError::TooMuchMemory { .. }) = judged(endless, FLOOD) else { panic!("accepted") };
        let told = error.to_string();
        assert!(told.contains("25475519 packets") && told.contains("queue"), "{told}");
        // The same queue with a sender that has a window, and the same sender with a queue.
        judged(endless, "transport = { kind = \"tcp\" }").unwrap();
        judged("rate = \"1kbit/s\", queue = \"1000p\"", FLOOD).unwrap();
        judged("rate = \"1Gbit/s\", queue = \"1000000000000p\"", FLOOD).unwrap();
    }

    #[test]
    fn a_run_that_has_grown_says_what_of() {
        let held = network::Footprint {
            at: units::SimTime(1_500_000_000),
            packets: 20_000_000,
            messages: 7,
            trace: 0,
        };
        let told = RunError::Grown(held).to_string();
        assert!(told.contains("at 1.500 s") && told.contains("20000000 packets"), "{told}");
        assert!(told.contains("takes 4.8 GiB of memory, and 4 GiB are allowed"), "{told}");
    }

    #[test]
    fn more_messages_than_memory_are_refused() {
        let flow = |message: &str| {
            format!("transport = {{ kind = \"sctp\", send_buffer = \"1GiB\", message = \"{message}\" }}")
        };
        let error = judged("rate = \"1Gbit/s\"", &flow("1B")).expect_err("accepted");
        assert_eq!(error, RunError::TooManyMessages { messages: 1 << 30 });
        assert!(error.to_string().contains("1073741824 messages"), "{error}");
        judged("rate = \"1Gbit/s\"", &flow("1000B")).unwrap();
    }

    #[test]
    fn more_connections_than_memory_are_refused() {
        let flows = |count: u32| {
            let app = "app = { kind = \"bulk\", connections = 256 }";
            judged("rate = \"1Gbit/s\"", &format!("count = {count}\n{app}\ntransport = {{ kind = \"tcp\" }}"))
        };
        let Err(error) = flows(1000) else { panic!("accepted") };
        assert_eq!(error, RunError::TooManyConnections { connections: 256_000 });
        assert!(error.to_string().contains("256000 connections"), "{error}");
        flows(300).unwrap();
    }
}
