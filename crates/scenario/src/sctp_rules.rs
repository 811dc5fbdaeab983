//! Rules about transports of kind `sctp` and `cmt-sctp`.

use congestion::Needs;
use document::diagnostic::{Code, Report};
use document::tree::{Origin, Placed, Table, Value};
use schedulers::Schedulers;
use units::{Bytes, Nanos};

use crate::model::Choice;
use crate::profiles;
use crate::rules::Rules;

/// Longest delay of a SACK.
const MOST_DELAY: Nanos = Nanos::from_millis(500);
/// Smallest receive buffer, which the INIT advertises.
const LEAST_WINDOW: Bytes = Bytes(1500);
/// The profile of flows over SCTP that name none.
const DEFAULT_PROFILE: &str = "rfc";

/// Before defaults are filled in: a flow over SCTP has a profile that says something of SCTP.
pub(crate) fn profile(root: &mut Table, report: &mut Report<'_>) {
    let Some(Placed { value: Value::List(flows), .. }) = root.get_mut("flow") else { return };
    for (index, flow) in flows.iter_mut().enumerate() {
        let path = document::check::element_path("", "flow", index, flow);
        let Some(transport) = flow.as_table_mut().and_then(|flow| flow.get_mut("transport")) else {
            continue;
        };
        let Some(transport) = transport.as_table_mut() else { continue };
        let Some(kind) = transport.text("kind").filter(|kind| is_sctp(kind)).map(str::to_owned) else {
            continue;
        };
        match transport.get("profile") {
            None => transport.put("profile", Origin::Default, Placed::text(DEFAULT_PROFILE)),
            Some(node) => {
                let name = node.as_text().unwrap_or_default();
                if profiles::NAMES.contains(&name) && !profiles::has_part(name, "sctp") {
                    let message = format!("profile \"{name}\" says nothing of SCTP; found kind = \"{kind}\"");
                    let with: Vec<&str> =
                        profiles::NAMES.into_iter().filter(|name| profiles::has_part(name, "sctp")).collect();
                    let help = format!("choose a profile that does: {}", with.join(", "));
                    let key = format!("{path}.transport.profile");
                    report.add(node.at, Code::Contradiction, &key, message, help);
                }
            }
        }
    }
}

/// A transport over associations.
pub(crate) fn is_sctp(kind: &str) -> bool {
    matches!(kind, "sctp" | "cmt-sctp")
}

/// Rules of one flow.
pub(crate) fn flow(flow: &mut Table, path: &str, report: &mut Report<'_>) {
    let Some(transport) = flow.table("transport") else { return };
    let Some(kind) = transport.text("kind").filter(|kind| is_sctp(kind)) else { return };
    let mut refuse = |table: &Table, key: &str, message: String, help: &str| {
        let at = table.get(key).map_or(Origin::Default, |node| node.at);
        let key = match key {
            "objects_per_connection" => format!("app.{key}"),
            _ => format!("transport.{key}"),
        };
        report.add(at, Code::Contradiction, &format!("{path}.{key}"), message, help.into());
    };
    if transport.flag("ecn") == Some(true) {
        let message = format!("`ecn` has no effect with kind = \"{kind}\"");
        refuse(transport, "ecn", message, "remove `ecn`");
    }
    if let Some(size) = transport.text("send_buffer").filter(|size| size.parse::<Bytes>().is_err()) {
        let message = format!("send_buffer = \"{size}\" is for TCP; found kind = \"{kind}\"");
        refuse(transport, "send_buffer", message, "give a size, such as send_buffer = \"1MiB\"");
    }
    // RFC 9260 section 6.2: "An implementation MUST NOT allow the maximum delay (protocol parameter 'SACK.Delay') to be
    // configured to be more than 500 ms."
    if let Some(delay) =
        transport.text("ack_delay").filter(|delay| delay.parse().is_ok_and(|d: Nanos| d > MOST_DELAY))
    {
        let message = format!("found \"{delay}\" with kind = \"{kind}\"");
        refuse(transport, "ack_delay", message, "at most \"500ms\" (RFC 9260 section 6.2)");
    }
    // RFC 9260 section 3.3.2: "The Advertised Receiver Window Credit MUST NOT be smaller than 1500."
    let small = |size: &&str| size.parse().is_ok_and(|size: Bytes| size < LEAST_WINDOW);
    if let Some(size) = transport.text("receive_buffer").filter(small) {
        let message = format!("found \"{size}\" with kind = \"{kind}\"");
        refuse(transport, "receive_buffer", message, "at least \"1500B\" (RFC 9260 section 3.3.2)");
    }
    let above = |table: &Table, key: &str, least: i64| table.integer(key).is_some_and(|n| n > least);
    if let Some(app) = flow.table("app").filter(|app| above(app, "objects_per_connection", 0))
        && above(transport, "streams", 1)
    {
        let message = "the streams of an association stay open; found streams above 1".to_owned();
        let help =
            "remove `objects_per_connection`, or set streams = 1: each connection is an association then";
        refuse(app, "objects_per_connection", message, help);
    }
    let off = |key: &str, word: &str| transport.text(key) == Some(word);
    // Keys without effect beside the value of another, which is the cure.
    let idle: Vec<(&str, &str, &str)> = [
        ("max_burst", "burst", "unlimited"),
        ("buffer_split_by", "buffer_split", "off"),
        ("rescheduling_threshold", "rescheduling", "off"),
        ("rescheduling_reduces", "rescheduling", "off"),
    ]
    .into_iter()
    .filter(|(_, other, word)| off(other, word))
    .collect();
    let Some(transport) = flow.get_mut("transport").and_then(Placed::as_table_mut) else { return };
    for (key, other, word) in idle {
        let Some(taken) = transport.take(key) else { continue };
        if taken.node.at != Origin::Default {
            let message = format!("`{key}` has no effect with {other} = \"{word}\"");
            let help = format!("remove `{key}`, or choose another `{other}`");
            let key = format!("{path}.transport.{key}");
            report.add(taken.node.at, Code::Contradiction, &key, message, help);
        }
    }
}

impl Rules<'_, '_, '_> {
    /// Tells why an association cannot follow an algorithm, with the cure; true if so.
    pub(crate) fn refuse(&mut self, transport: &Table, key: &str, why: Option<(String, String)>) -> bool {
        let Some((message, help)) = why else { return false };
        let at = transport.get(key).map_or(Origin::Default, |node| node.at);
        self.add(at, Code::Contradiction, &format!("transport.{key}"), message, help);
        true
    }
}

/// Whether concurrent transfer can follow a scheduler: message and cure if it cannot.
pub(crate) fn scheduler(transport: &Table, choice: &Choice<Schedulers>) -> Option<(String, String)> {
    let kind = transport.text("kind").filter(|kind| *kind == "cmt-sctp")?;
    if transport::sctp::schedules((choice.row.build)(&choice.options).needs()) {
        return None;
    }
    let name = choice.name();
    let message = format!(
        "scheduler = \"{name}\" is for MPTCP: it sends every segment on all paths; found kind = \"{kind}\""
    );
    let help = "choose another, such as \"primary_first\" or \"minrtt\"";
    Some((message, help.into()))
}

/// Whether a path of an association can follow a congestion control: message and cure if it cannot.
pub(crate) fn congestion(transport: &Table, name: &str, needs: Needs) -> Option<(String, String)> {
    let kind = transport.text("kind").filter(|kind| is_sctp(kind) && needs.tcp_sender)?;
    let message = format!(
        "congestion = \"{name}\" is for TCP and MPTCP: it needs delivery rates, round trips of each ACK, pacing, marks or \
         dummies, which SCTP does not have here; found kind = \"{kind}\""
    );
    let help = "choose another, such as \"newreno\", \"cubic\" or \"lia\"";
    Some((message, help.into()))
}
