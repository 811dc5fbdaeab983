//! Commands of the user as the two ends of a flow: only a back end with a kernel can run them.

use registry::{OptionFault, OptionKind, OptionSpec, Options};

use crate::{Algorithm, App, AppContext, Event};

/// Name of the row.
pub const COMMAND: &str = "command";

pub(crate) const ROW: Algorithm = Algorithm {
    name: COMMAND,
    summary: "two commands of a shell, such as iperf3, curl and nginx: runs on a kernel alone",
    source: "the user",
    notes: "`{server}`, `{client}` and `{port}` in them are addresses and a port; for `ropewalk emulate`",
    options: &[
        OptionSpec::compulsory(
            "client",
            OptionKind::Text,
            "command of the end that opens connections, at the start of the flow; the flow completes when it ends",
        ),
        OptionSpec::compulsory(
            "server",
            OptionKind::Text,
            "command of the other end, from before the run; it is killed at the end",
        ),
    ],
    check,
    build: |_| Box::new(Command),
};

/// Both commands name the port: a run finds their connections by it.
fn check(options: &Options) -> Result<(), OptionFault> {
    for (option, must) in [("client", "{server}"), ("client", "{port}"), ("server", "{port}")] {
        let text = options.text(option);
        if !text.contains(must) {
            return Err(OptionFault {
                option,
                message: format!("the command does not name {must}"),
                help: format!(
                    "write {must} in the place of the {}: the run puts it in",
                    if must == "{port}" { "port" } else { "address of the server" }
                ),
            });
        }
    }
    Ok(())
}

/// Stands for the commands, which are not of this program: back ends that run applications refuse it.
#[derive(Clone, Copy, Debug)]
struct Command;

impl App for Command {
    fn on_event(&mut self, _event: Event, _ctx: &mut dyn AppContext) {
        unreachable!("a back end without a kernel was given commands to run")
    }
}

#[cfg(test)]
mod tests {
    use registry::OptionValue;

    use super::*;

    #[test]
    fn commands_name_the_port_and_the_server() {
        let options = |client: &str, server: &str| {
            let text = |text: &str| OptionValue::Text(text.into());
            Options::new(vec![("client", text(client)), ("server", text(server))])
        };
        assert!(check(&options("iperf3 -c {server} -p {port}", "iperf3 -s -p {port}")).is_ok());
        for (client, server, option) in [
            ("iperf3 -c {server}", "iperf3 -s -p {port}", "client"),
            ("iperf3 -p {port}", "iperf3 -s -p {port}", "client"),
            ("iperf3 -c {server} -p {port}", "iperf3 -s", "server"),
        ] {
            assert_eq!(check(&options(client, server)).unwrap_err().option, option);
        }
    }
}
