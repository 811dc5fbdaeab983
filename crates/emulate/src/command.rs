//! Commands of the user inside the namespaces.
//!
//! Each runs in a process namespace of its own whose first process the kernel kills when the one that started it ends: nothing that a
//! command starts outlives the run. May: start and kill. May not: know what commands do.

use std::fs;
use std::io::{PipeReader, Read, Write, pipe};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::HostClock;
use crate::fault::Fault;
use crate::plan::{FlowPlan, ports};
use crate::stop::{Stage, Stop};
use crate::talk::Talk;

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(5);
/// The environment variable that permits commands: a scenario may come from a stranger.
const PERMITS: &str = "ROPEWALK_COMMANDS";
/// Looks at a server that does not listen yet.
const LOOKS: usize = 2_000;

/// The commands of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPlan {
    /// That of the end that opens connections.
    pub client: String,
    /// That of the other end.
    pub server: String,
}

/// A command that is killed when this value goes.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Passes on what it says.
    reader: JoinHandle<()>,
    /// The end of that.
    last: Arc<Mutex<Vec<u8>>>,
}

/// Bytes from the end of the output of a command that are kept.
const KEPT: usize = 4_096;
/// Lines from the end of the output of a command that a failure tells.
const LINES: usize = 3;
/// Characters of them, and of a command, that a failure tells.
const SHOWN: usize = 240;
/// Looks at a command that has ended for the rest of its output.
const LOOKS_AT_OUTPUT: usize = 100;

impl Running {
    /// Starts a command in the network namespace of the calling thread, which must not end before the command.
    fn start(command: &str, flow: &FlowPlan, index: usize) -> Result<Self, Fault> {
        let [port, _] = ports(index);
        let text = command
            .replace("{server}", &flow.server.to_string())
            .replace("{client}", &flow.client.to_string())
            .replace("{port}", &port.to_string());
        // The first kills `unshare` when this process ends, which kills the first process of the namespace, and with it all.
        let mut words = vec!["--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"];
        if flow.sockets.mptcp {
            words.extend(["mptcpize", "run"]);
        }
        words.extend(["sh", "-c", &text]);
        let (output, input) = pipe().map_err(Fault::io("a pipe"))?;
        let errors = input.try_clone().map_err(Fault::io("a pipe"))?;
        let child = Command::new("setpriv")
            .args(words)
            .stdin(Stdio::null())
            .stdout(input)
            .stderr(errors)
            .spawn()
            .map_err(|error| Fault {
                message: format!("`setpriv` cannot be started: {error}"),
                help: "install util-linux 2.33 or newer".into(),
            })?;
        let last = Arc::default();
        let kept = Arc::clone(&last);
        Ok(Self { child, reader: thread::spawn(move || pass_on(output, &kept)), last })
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Fault> {
        self.child.try_wait().map_err(Fault::io("a command"))
    }

    /// How it failed, if it has: its exit code and what it said at last.
    fn failure(&mut self, whose: &str, command: &str) -> Result<Option<String>, Fault> {
        let Some(status) = self.ended()?.filter(|status| !status.success()) else { return Ok(None) };
        self.wait_for_output();
        let said = last_lines(&self.last.lock().unwrap_or_else(PoisonError::into_inner));
        let said = if said.is_empty() { "it said nothing".into() } else { format!("it said: {said}") };
        Ok(Some(format!("the {whose}'s command ended with {}, {said} ({})", code(status), short(command))))
    }

    /// Until everything that an ended command has said is passed on.
    fn wait_for_output(&self) {
        for _ in 0..LOOKS_AT_OUTPUT {
            if self.reader.is_finished() {
                break;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Writes the output of a command to the standard error, as the standard output of this process has its tables.
fn pass_on(mut output: PipeReader, last: &Mutex<Vec<u8>>) {
    let mut buffer = [0; KEPT];
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        // A closed standard error ends no command.
        let _ = std::io::stderr().write_all(&buffer[..length]);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.extend_from_slice(&buffer[..length]);
        let more = last.len().saturating_sub(KEPT);
        last.drain(..more);
    }
}

/// The last lines, in one.
fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines[lines.len().saturating_sub(LINES)..].join(" | ");
    let skipped = joined.chars().count().saturating_sub(SHOWN);
    joined.chars().skip(skipped).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The command, or its beginning.
fn short(command: &str) -> String {
    let mut text: String = command.chars().take(SHOWN).collect();
    if text.len() < command.len() {
        text += "...";
    }
    text
}

impl Drop for Running {
    fn drop(&mut self) {
        // Either fails only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.wait_for_output();
    }
}

/// Starts the server of a flow, in the namespace of the calling thread, and waits until it listens.
pub(crate) fn serve(plan: &CommandPlan, flow: &FlowPlan, index: usize) -> Result<Running, Fault> {
    if std::env::var_os(PERMITS).is_none_or(|value| value != "1") {
        return Err(Fault {
            message: format!(
                "flow {} runs commands that its scenario names, with your rights: {:?} and {:?}",
                flow.name, plan.server, plan.client
            ),
            help: format!("read them, and set {PERMITS}=1 in the environment if they may run"),
        });
    }
    if flow.sockets.mptcp && !mptcpize() {
        return Err(Fault {
            message: format!("{}: commands use MPTCP through `mptcpize`, which is not installed", flow.name),
            help: "install mptcpize, or set transport.kind = \"tcp\"".into(),
        });
    }
    let mut server = Running::start(&plan.server, flow, index)?;
    for _ in 0..LOOKS {
        if let Some(status) = server.ended()? {
            let failure = server.failure("server", &plan.server)?;
            let ended =
                || format!("the server's command ended with {} ({})", code(status), short(&plan.server));
            return Err(Fault {
                message: format!("flow {}: {}", flow.name, failure.unwrap_or_else(ended)),
                help: "it is to listen at {port} until it is killed: try the command in a shell".into(),
            });
        }
        if listens(ports(index)[0])? {
            return Ok(server);
        }
        thread::sleep(LOOK);
    }
    Err(Fault {
        message: format!("the server of flow {} does not listen at {{port}}: {}", flow.name, plan.server),
        help: "let it listen at {port} with TCP".into(),
    })
}

fn mptcpize() -> bool {
    Command::new("mptcpize").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// A TCP socket of this namespace listens at the port.
fn listens(port: u16) -> Result<bool, Fault> {
    let wanted = format!(":{port:04X}");
    let listening = |path| -> Result<bool, Fault> {
        let text = fs::read_to_string(path).map_err(Fault::io(path))?;
        Ok(text.lines().skip(1).any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(1).is_some_and(|local| local.ends_with(&wanted)) && words.get(3) == Some(&"0A")
        }))
    };
    // Without IPv6 there is no such file.
    Ok(listening("/proc/thread-self/net/tcp")? || listening("/proc/thread-self/net/tcp6").unwrap_or(false))
}

/// Runs the client of a flow, in the namespace of the calling thread, until it ends or the flow's time does; then it goes on until
/// the value goes.
pub(crate) fn run(
    plan: &CommandPlan,
    flow: &FlowPlan,
    index: usize,
    server: &mut Running,
    (clock, stop): (HostClock, &Stop),
) -> (Talk, Option<Running>) {
    let mut talk = Talk { start: Some(clock.now()), command: true, ..Talk::default() };
    let mut client = match Running::start(&plan.client, flow, index) {
        Ok(client) => client,
        Err(fault) => return (Talk { failure: Some(fault.message), ..talk }, None),
    };
    while clock.now() < flow.stop && stop.stage() == Stage::Running {
        match client.ended() {
            Ok(None) => thread::sleep(LOOK),
            Ok(Some(status)) => {
                talk.completed = status.success();
                break;
            }
            Err(_) => break,
        }
    }
    talk.end = Some(clock.now().min(flow.stop));
    talk.done = talk.end;
    let failed = [client.failure("client", &plan.client), server.failure("server", &plan.server)];
    let told: Vec<String> =
        failed.into_iter().filter_map(|failed| failed.unwrap_or_else(|fault| Some(fault.message))).collect();
    talk.failure = (!told.is_empty()).then(|| told.join("; "));
    (talk, Some(client))
}

fn code(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_a_command_said_is_one_line() {
        assert_eq!(last_lines(b""), "");
        assert_eq!(last_lines(b"one\ntwo\n\n  three \nfour\n"), "two | three | four");
        // A progress meter, a colour, bytes that are no text.
        assert_eq!(last_lines(b"10 %\r20 %\r\x1b[31mno\xff\n"), "10 % | 20 % |  [31mno\u{fffd}");
        let long = format!("{}end\n", "x".repeat(10 * SHOWN));
        let told = last_lines(long.as_bytes());
        assert_eq!(told.len(), SHOWN);
        assert!(told.ends_with("xend"));
        assert_eq!(short(&long).len(), SHOWN + 3);
    }
}
