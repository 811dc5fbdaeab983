//! Rules of buffers: sizes that go together, and limits that something reads.

use document::diagnostic::Code;
use document::tree::{Origin, Placed, Table};
use schedulers::{Queueing, Schedulers};
use units::Bytes;

use crate::keys::BUFFER_RULES;
use crate::model::Choice;
use crate::rules::{Rules, whose};

/// Sizes of send and receive buffers.
pub(crate) fn sizes(rules: &mut Rules<'_, '_, '_>, transport: &mut Table, at: Origin) {
    if transport.text("kind").is_some_and(crate::sctp_rules::is_sctp) {
        return;
    }
    if !transport.has("receive_buffer_max")
        && let Some(node) = transport.get("receive_buffer").cloned()
    {
        transport.put("receive_buffer_max", Origin::Default, Placed::new(node.value, Origin::Default));
    }
    rules.ordered::<Bytes>(transport, at, "receive_buffer", "receive_buffer_max");
    let fixed = transport.text("send_buffer").is_some_and(|size| !BUFFER_RULES.contains(&size));
    if fixed
        && let Some(max) = transport.take("send_buffer_max")
        && max.node.at != Origin::Default
    {
        let message = format!(
            "`send_buffer_max` has no meaning with send_buffer = {}{}",
            transport.text("send_buffer").unwrap_or_default(),
            whose(transport, "send_buffer")
        );
        let help = "set send_buffer = \"auto\" or \"expand\", or remove `send_buffer_max`".into();
        rules.add(max.node.at, Code::Contradiction, "transport.send_buffer_max", message, help);
    }
}

/// A limit for what waits on a subflow needs a scheduler that lets something wait there, and looks at its send buffer.
pub(crate) fn subflow_queue(
    rules: &mut Rules<'_, '_, '_>,
    transport: &Table,
    scheduler: &Choice<Schedulers>,
) {
    let limited = transport.parse::<Bytes>("subflow_unsent_limit").is_some_and(|limit| limit < Bytes::MAX);
    let queueing = (scheduler.row.build)(&scheduler.options).needs().queueing;
    let Some(node) = transport.get("subflow_unsent_limit").filter(|_| limited) else { return };
    if queueing == Queueing::SendBuffer {
        return;
    }
    let queues = if queueing == Queueing::Never {
        "queues nothing on subflows"
    } else {
        "queues without regard to a send buffer"
    };
    let message = format!(
        "`subflow_unsent_limit` has no meaning with scheduler = \"{}\"{}, which {queues}",
        scheduler.name(),
        whose(transport, "scheduler")
    );
    let help = "set scheduler = \"minratio\", or remove `subflow_unsent_limit`".into();
    rules.add(node.at, Code::Contradiction, "transport.subflow_unsent_limit", message, help);
}

#[cfg(test)]
mod tests {
    use crate::{Document, Registries};

    #[test]
    fn a_limit_of_what_waits_on_a_subflow_needs_a_scheduler_that_it_limits() {
        let parse = |scheduler: &str| {
            let text = format!(
                "duration = \"1s\"\npath = [{{ name = \"a\", both = {{ rate = \"1Mbit/s\", delay = \"1ms\" }} }}]\n\
                 flow = [{{ name = \"f\", from = \"terminal\", to = \"server\", transport = {{ kind = \"mptcp\", \
                 scheduler = \"{scheduler}\", subflow_unsent_limit = \"16KiB\" }} }}]\n"
            );
            Document::parse(&text, "test.toml", &[], &Registries::builtin()).map(|_| ())
        };
        for scheduler in ["minratio", "otias", "sttf"] {
            assert!(parse(scheduler).is_ok(), "{scheduler}");
        }
        for (scheduler, why) in
            [("minrtt", "queues nothing on subflows"), ("daps", "queues without regard to a send buffer")]
        {
            let told = parse(scheduler).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
            assert!(
                told.contains("fix: set scheduler = \"minratio\", or remove `subflow_unsent_limit`"),
                "{told}"
            );
        }
    }
}
