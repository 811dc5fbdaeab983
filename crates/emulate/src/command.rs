//! Commands of the user inside the namespaces.
//!
//! Each runs in a process namespace of its own whose first process the kernel kills when the one that started it ends: nothing that a
//! command starts outlives the run. May: start and kill. May not: know what commands do.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
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
pub(crate) struct Running(Child);

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
        let child = Command::new("setpriv")
            .args(words)
            .stdin(Stdio::null())
            // The standard output of this process has its tables.
            .stdout(Stdio::from(std::io::stderr()))
            .spawn()
            .map_err(|error| Fault {
                message: format!("`setpriv` cannot be started: {error}"),
                help: "install util-linux 2.33 or newer".into(),
            })?;
        Ok(Self(child))
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, Fault> {
        self.0.try_wait().map_err(Fault::io("a command"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Either fails only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
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
            return Err(Fault {
                message: format!(
                    "the server of flow {} has ended: {}: {}",
                    flow.name,
                    said(status),
                    plan.server
                ),
                help: "try the command in a shell".into(),
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
    clock: HostClock,
    stop: &Stop,
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
                let failed = (!status.success())
                    .then(|| format!("the client of flow {} ended: {}", flow.name, said(status)));
                talk.failure = failed;
                break;
            }
            Err(fault) => {
                talk.failure = Some(fault.message);
                break;
            }
        }
    }
    talk.end = Some(clock.now().min(flow.stop));
    talk.done = talk.end;
    (talk, Some(client))
}

fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".into(),
    }
}
