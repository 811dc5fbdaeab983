//! Invariants of the results of every scenario.

use scenario::model::{Scenario, Strip, Transport};
use trace::{Data, Table};
use units::Bytes;

/// Result of a check: the invariant that does not hold.
pub type Verdict = Result<(), String>;

/// Rounding of figures that are computed in another order.
const EPSILON: f64 = 1e-9;

macro_rules! hold {
    ($condition:expr, $($told:tt)*) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($told)*));
        }
    };
}

/// One row of a table.
#[derive(Clone, Copy)]
struct Row<'a>(&'a Table, usize);

impl Row<'_> {
    fn data(&self, column: &str) -> &Data {
        self.0.column(column).unwrap_or_else(|| panic!("no column {}.{column}", self.0.name))
    }

    fn count(&self, column: &str) -> u64 {
        match self.data(column) {
            Data::Integer(values) => values[self.1],
            other => panic!("{column}: {:?}", other.kind()),
        }
    }

    fn real(&self, column: &str) -> Option<f64> {
        match self.data(column) {
            Data::Real(values) => values[self.1],
            other => panic!("{column}: {:?}", other.kind()),
        }
    }

    fn flag(&self, column: &str) -> bool {
        matches!(self.data(column), Data::Flag(values) if values[self.1])
    }

    fn word(&self, column: &str) -> String {
        self.data(column).text(self.1)
    }

    /// Which row this is.
    fn name(&self) -> String {
        let keys = ["run", "flow", "connection", "subflow", "link", "what", "message", "page"];
        let keys = keys.iter().filter(|key| self.0.column(key).is_some());
        let keys: Vec<String> = keys.map(|key| self.word(key)).collect();
        format!("{} {}", self.0.name, keys.join("/"))
    }
}

fn rows<'a>(tables: &'a [Table], name: &str) -> impl Iterator<Item = Row<'a>> + use<'a> {
    let table = tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"));
    let many = table.columns.first().map_or(0, |column| column.data.len());
    (0..many).map(move |row| Row(table, row))
}

/// Checks the tables of a scenario.
///
/// # Errors
/// The first thing that does not hold.
pub fn check(scenario: &Scenario, tables: &[Table]) -> Verdict {
    tables.iter().try_for_each(figures)?;
    rows(tables, "flows").try_for_each(|row| flow(scenario, tables, row))?;
    rows(tables, "subflows").try_for_each(subflow)?;
    rows(tables, "links").try_for_each(|row| link(scenario, tables, row))?;
    rows(tables, "messages").try_for_each(message)?;
    rows(tables, "measures").try_for_each(measure)?;
    rows(tables, "pages").try_for_each(page)
}

/// Figures are finite, and none is negative but gauges of controllers and schedulers in time series.
fn figures(table: &Table) -> Verdict {
    for column in &table.columns {
        let Data::Real(values) = &column.data else { continue };
        for value in values.iter().flatten() {
            let signed = table.name == "series" && column.name == "value";
            let fine = value.is_finite() && (signed || *value >= 0.0);
            hold!(fine, "{}.{} is {value}", table.name, column.name);
        }
    }
    Ok(())
}

/// Each quantile is at least the one before.
fn rising(row: Row<'_>, columns: &[&str]) -> Verdict {
    let values: Vec<f64> = columns.iter().filter_map(|column| row.real(column)).collect();
    hold!(values.is_sorted(), "{}: {} are not in order: {values:?}", row.name(), columns.join(", "));
    hold!(
        values.is_empty() || values.len() == columns.len(),
        "{}: some of {} are missing",
        row.name(),
        columns.join(", ")
    );
    Ok(())
}

fn limits(row: Row<'_>) -> Option<f64> {
    let columns = row.0.columns.iter().filter(|column| column.name.starts_with("limited_"));
    columns.map(|column| row.real(&column.name)).sum()
}

fn flow(scenario: &Scenario, tables: &[Table], row: Row<'_>) -> Verdict {
    let name = row.name();
    let (start, end) = (row.real("start_s").unwrap_or_default(), row.real("end_s").unwrap_or_default());
    hold!(start <= end, "{name}: starts at {start} and ends at {end}");
    hold!(end <= scenario.duration.as_secs_f64() + EPSILON, "{name}: ends at {end}, after the run");
    let delivered = row.count("delivered_bytes");
    let lasted = end - start;
    if let Some(goodput) = row.real("goodput_bit_s") {
        let expected = delivered as f64 * 8.0 / lasted;
        hold!(
            (goodput - expected).abs() <= expected * 1e-6,
            "{name}: goodput {goodput}, but {delivered} bytes in {lasted} s"
        );
    }
    rising(row, &["delay_p50_s", "delay_p95_s", "delay_p99_s"])?;
    let told = row.flag("completed") == row.real("completion_s").is_some();
    hold!(told, "{name}: completed and its time disagree");
    // An end whose packets are lost gives up after the data has arrived; an event can abort what is complete.
    let failure = row.word("failure");
    let unanswered = [
        "too many timeouts",
        "the peer cannot be reached",
        "the handshake was not answered",
        "the shutdown was not answered",
    ];
    let reset = ["reset by the peer", "aborted by the peer"].contains(&failure.as_str());
    let torn = begins_to_strip(scenario) && is_torn(tables, row)
        || delivered == 0 && has_legs(tables, row)
        || lost_its_subflows(row)
        || ends(scenario).any(gives_up_soon);
    // The others carry the data of one that is never established.
    let spare = failure == "no answer to the SYN" && has_connections(tables, row);
    let gave_up = unanswered.contains(&failure.as_str()) || is_cut_short(scenario) || reset && torn || spare;
    hold!(!row.flag("completed") || failure.is_empty() || gave_up, "{name}: completed and failed, {failure}");
    hold!(row.count("retransmitted_segments") <= row.count("segments_sent"), "{name}: retransmissions");
    for share in ["seen_retransmitted_share", "seen_late_share"] {
        hold!(row.real(share).is_none_or(|share| share <= 1.0), "{name}: {share} above 1");
    }
    if let Some(sum) = limits(row) {
        hold!((sum - lasted).abs() <= 1e-6 * (1.0 + lasted), "{name}: limits add up to {sum}, not {lasted}");
    }
    let of_flow = |row: &Row<'_>, other: &Row<'_>| {
        row.word("run") == other.word("run") && row.word("flow") == other.word("flow")
    };
    let subflows: Vec<Row<'_>> = rows(tables, "subflows").filter(|other| of_flow(&row, other)).collect();
    let sum = |column: &str| subflows.iter().map(|subflow| subflow.count(column)).sum::<u64>();
    hold!(sum("segments_sent") == row.count("segments_sent"), "{name}: segments of its subflows");
    let sent = sum("bytes_sent");
    hold!(delivered <= sent, "{name}: {delivered} bytes delivered, {sent} sent");
    let held: u64 =
        rows(tables, "delays").filter(|other| of_flow(&row, other)).map(|row| row.count("bytes")).sum();
    hold!(held == delivered, "{name}: {delivered} bytes delivered, {held} in its delays");
    let shares: Vec<f64> = subflows.iter().filter_map(|subflow| subflow.real("share")).collect();
    let whole = shares.is_empty() || (shares.iter().sum::<f64>() - 1.0).abs() < 1e-6;
    hold!(whole, "{name}: shares of its subflows are {shares:?}");
    Ok(())
}

fn subflow(row: Row<'_>) -> Verdict {
    let name = row.name();
    hold!(row.count("bytes_sent") <= row.count("wire_bytes"), "{name}: more payload than packets");
    hold!(row.count("retransmitted_segments") <= row.count("segments_sent"), "{name}: retransmissions");
    hold!(row.count("ofo_p95_bytes") <= row.count("ofo_max_bytes"), "{name}: out-of-order memory");
    for share in ["share", "seen_retransmitted_share", "seen_late_share"] {
        hold!(row.real(share).is_none_or(|share| share <= 1.0 + EPSILON), "{name}: {share} above 1");
    }
    Ok(())
}

fn link(scenario: &Scenario, tables: &[Table], row: Row<'_>) -> Verdict {
    let name = row.name();
    let used = row.real("utilisation").unwrap_or_default();
    hold!(used <= 1.0 + EPSILON, "{name}: utilisation {used}");
    let (mean, max) = (row.real("queue_delay_mean_s"), row.real("queue_delay_max_s"));
    hold!(mean.unwrap_or(0.0) <= max.unwrap_or(0.0) + EPSILON, "{name}: mean wait {mean:?} above {max:?}");
    hold!(mean.is_some() == (row.count("packets") > 0), "{name}: a wait without packets");
    hold!(row.count("packets") <= row.count("bytes"), "{name}: packets without bytes");
    let known = scenario.duplex_links.iter().enumerate().find_map(|(link, duplex)| {
        let direction = duplex.directions.iter().position(|direction| direction.name == row.word("link"))?;
        Some((link, direction))
    });
    let Some((link, direction)) = known else { return Err(format!("{name}: no such link")) };
    let changes = scenario.events.iter().any(|event| event.links.contains(&(link, direction)));
    let [rate] = scenario.duplex_links[link].directions[direction].rate.as_slice() else { return Ok(()) };
    let (false, Some(rate)) = (changes, rate.value()) else { return Ok(()) };
    let run = rows(tables, "runs").find(|other| other.word("run") == row.word("run"));
    let time = run.and_then(|run| run.real("end_s")).unwrap_or_default();
    // The packet on the transmitter at the end is counted when it began, or when it ended.
    let slack = Bytes(70_000).0 as f64 * 8.0;
    let bits = row.count("bytes") as f64 * 8.0;
    hold!(bits <= rate.0 as f64 * time + slack, "{name}: {bits} bits in {time} s at {rate}");
    Ok(())
}

fn message(row: Row<'_>) -> Verdict {
    let (start, end) = (row.real("start_s"), row.real("end_s"));
    let ordered = end.is_none() || start.is_some() && start <= end;
    hold!(ordered, "{}: from {start:?} to {end:?}", row.name());
    Ok(())
}

fn measure(row: Row<'_>) -> Verdict {
    let name = row.name();
    let (sent, delivered) = (row.count("sent"), row.count("delivered"));
    hold!(delivered <= sent, "{name}: {delivered} delivered of {sent}");
    hold!(row.real("late").is_none_or(|late| late <= 1.0), "{name}: a share above 1");
    rising(row, &["delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_max_s"])
}

fn page(row: Row<'_>) -> Verdict {
    let name = row.name();
    hold!(row.count("arrived") <= row.count("objects"), "{name}: more objects than it has");
    let whole = row.count("arrived") == row.count("objects");
    hold!(whole || row.real("end_s").is_none(), "{name}: complete with objects missing");
    hold!(
        row.real("end_s").is_none() || row.real("start_s") <= row.real("end_s"),
        "{name}: ends before it starts"
    );
    Ok(())
}

/// A middlebox takes options away, but not of all segments.
fn begins_to_strip(scenario: &Scenario) -> bool {
    let directions = scenario.duplex_links.iter().flat_map(|link| &link.directions);
    directions.into_iter().any(|direction| matches!(direction.strip, Strip::After(_)))
        || scenario.events.iter().any(|event| event.strip.is_some())
}

/// The ends of a flow may judge the loss of MPTCP options differently while a join is half done, each by RFC 8684 section
/// 3.7: the end without a second subflow falls back to TCP, and the end that has one resets the segments without options.
fn is_torn(tables: &[Table], flow: Row<'_>) -> bool {
    let of_flow =
        |row: &Row<'_>| row.word("run") == flow.word("run") && row.word("flow") == flow.word("flow");
    let joins = rows(tables, "failed_joins").any(|row| of_flow(&row))
        || rows(tables, "subflows").any(|row| of_flow(&row) && row.count("subflow") > 0);
    flow.flag("fell_back") && joins
}

/// A proxy has a part in the flow. One that gives up its client, whose handshake seems not to be answered, resets the server;
/// a transfer of nothing is complete by then.
fn has_legs(tables: &[Table], flow: Row<'_>) -> bool {
    rows(tables, "legs")
        .any(|leg| leg.word("run") == flow.word("run") && leg.word("flow") == flow.word("flow"))
}

/// The sender of an MPTCP connection resets a subflow after too many timeouts, and waits for another one before it reports a
/// failure: until then the only reason is that of the receiver. Counters end with the flow, and so may lack the timeouts.
fn lost_its_subflows(flow: Row<'_>) -> bool {
    flow.word("transport") == "mptcp" && flow.count("retransmitted_segments") > 0
}

/// The server, or a proxy, gives up when its FIN has been lost a few times, and resets a client that has all data and waits for it.
fn gives_up_soon(end: &Transport) -> bool {
    end.tcp.timers.retries <= 4
}

/// Transports of flows, and of the ends in proxies.
fn ends(scenario: &Scenario) -> impl Iterator<Item = &Transport> {
    let proxies = scenario.proxies.iter().flat_map(|proxy| [&proxy.client, &proxy.server]);
    scenario.flows.iter().map(|flow| &flow.transport).chain(proxies).map(|transport| &**transport)
}

/// The flow had more than one connection.
fn has_connections(tables: &[Table], flow: Row<'_>) -> bool {
    rows(tables, "subflows").any(|subflow| {
        subflow.word("run") == flow.word("run")
            && subflow.word("flow") == flow.word("flow")
            && subflow.count("connection") > 0
    })
}

/// An event aborts connections, or a proxy crashes with them.
fn is_cut_short(scenario: &Scenario) -> bool {
    !scenario.flow_events.is_empty() || scenario.proxies.iter().any(|proxy| !proxy.crashes.is_empty())
}
