//! Anonymous network namespaces: each exists as long as a thread in it or a descriptor of it.
//!
//! May: create and enter one, and configure what is in it. May not: leave anything that outlives this process.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::fault::Fault;

/// A network namespace without a name.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
}

impl Namespace {
    /// A new one, empty but for a loopback device.
    pub(crate) fn new() -> Result<Self, Fault> {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Fault {
                message: format!("a network namespace cannot be made: {error}"),
                help: "run as root, or as a user who may make user namespaces".into(),
            })?;
            File::open("/proc/thread-self/ns/net").map_err(Fault::io("/proc/thread-self/ns/net"))
        });
        Ok(Self { file: joined(made.join())?? })
    }

    /// Moves the calling thread into it, for good.
    pub(crate) fn enter(&self) -> Result<(), Fault> {
        setns(&self.file, CloneFlags::CLONE_NEWNET).map_err(|error| Fault::of("setns", error))
    }

    /// Does `work` on a thread inside.
    pub(crate) fn inside<T: Send>(&self, work: impl FnOnce() -> Result<T, Fault> + Send) -> Result<T, Fault> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.enter().and_then(|()| work()));
            joined(thread.join())?
        })
    }

    /// The number of its descriptor: other programs of the same user reach it as `/proc/PID/fd/NUMBER`.
    pub(crate) fn descriptor(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.file.as_raw_fd()
    }
}

/// The value of a thread that has ended.
pub(crate) fn joined<T>(ended: thread::Result<T>) -> Result<T, Fault> {
    ended.map_err(|_| Fault {
        message: "a thread of the emulation panicked".into(),
        help: "this is a bug: please report the scenario".into(),
    })
}

/// Runs `ip` with these arguments in the namespace of the calling thread.
pub(crate) fn ip(arguments: &str) -> Result<(), Fault> {
    iproute("ip", arguments)
}

/// Runs `tc` with these arguments in the namespace of the calling thread.
pub(crate) fn tc(arguments: &str) -> Result<(), Fault> {
    iproute("tc", arguments)
}

fn iproute(program: &str, arguments: &str) -> Result<(), Fault> {
    let output =
        Command::new(program).args(arguments.split_whitespace()).stdin(Stdio::null()).output().map_err(
            |error| Fault {
                message: format!("`{program}` cannot be started: {error}"),
                help: "install iproute2".into(),
            },
        )?;
    if output.status.success() {
        return Ok(());
    }
    Err(Fault::of(format_args!("{program} {arguments}"), String::from_utf8_lossy(&output.stderr).trim()))
}

/// Writes a setting of the namespace of the calling thread, as `net/ipv4/tcp_rmem`.
pub(crate) fn set(name: &str, value: &str) -> Result<(), Fault> {
    fs::write(format!("/proc/sys/{name}"), value)
        .map_err(|error| Fault::of(format_args!("{name} = {value}"), error))
}
