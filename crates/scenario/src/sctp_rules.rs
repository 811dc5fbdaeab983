//! Rules about transports of kind `sctp` and `cmt-sctp`.

use document::diagnostic::{Code, Report};
use document::tree::{Origin, Placed, Table, Value};
use units::Bytes;

use crate::profiles;

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
        let key = if key == "compare_paths" { key.to_owned() } else { format!("transport.{key}") };
        report.add(at, Code::Contradiction, &format!("{path}.{key}"), message, help.into());
    };
    if flow.flag("compare_paths") == Some(true) {
        let message = format!("`compare_paths` compares with plain TCP; found kind = \"{kind}\"");
        refuse(flow, "compare_paths", message, "remove `compare_paths`, and add flows over the single paths");
    }
    if transport.flag("ecn") == Some(true) {
        let message = format!("`ecn` has no effect with kind = \"{kind}\"");
        refuse(transport, "ecn", message, "remove `ecn`");
    }
    if let Some(size) = transport.text("send_buffer").filter(|size| size.parse::<Bytes>().is_err()) {
        let message = format!("send_buffer = \"{size}\" is for TCP; found kind = \"{kind}\"");
        refuse(transport, "send_buffer", message, "give a size, such as send_buffer = \"1MiB\"");
    }
    let unlimited = transport.text("burst") == Some("unlimited");
    let Some(transport) = flow.get_mut("transport").and_then(Placed::as_table_mut) else { return };
    // Where bursts have no limit there is no size of one.
    if unlimited
        && let Some(size) = transport.take("max_burst")
        && size.node.at != Origin::Default
    {
        let message = "`max_burst` has no effect with burst = \"unlimited\"".to_owned();
        let help = "remove `max_burst`, or choose another `burst`".into();
        let key = format!("{path}.transport.max_burst");
        report.add(size.node.at, Code::Contradiction, &key, message, help);
    }
}
