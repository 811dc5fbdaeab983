//! The program for ns-3: its sources, and running it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use network::Watch;

use super::Arguments;
use crate::backend::compiled::{Compiled, end_of};
use crate::backend::{Failure, NotReady};

const PROGRAM: Compiled = Compiled {
    what: "ns-3",
    package: "libns3-dev",
    cure: "on Debian 12, or in a container with it, as root: apt-get install g++ libns3-dev; or use the back end simulator",
    name: "network",
    sources: &[
        ("network.cc", include_str!("../../../ns3/network.cc")),
        ("flows.h", include_str!("../../../ns3/flows.h")),
        ("mended.h", include_str!("../../../ns3/mended.h")),
        ("mended_socket.h", include_str!("../../../ns3/mended_socket.h")),
        ("routing.h", include_str!("../../../ns3/routing.h")),
    ],
    compiler: &["g++", "-std=c++17", "-O2"],
    compiled: &["network.cc"],
    libraries: &[
        "-lns3-core",
        "-lns3-network",
        "-lns3-internet",
        "-lns3-point-to-point",
        "-lns3-applications",
        "-lns3-traffic-control",
        "-lns3-bridge",
        "-lns3-stats",
    ],
};

/// How often a run looks whether it is cancelled.
const POLL: Duration = Duration::from_millis(10);

/// Version of the package, if it is installed.
pub fn installed() -> Option<String> {
    PROGRAM.installed()
}

/// The program, built in `folder` unless it is there: one for each version of ns-3 and of its sources.
///
/// # Errors
/// ns-3 or a compiler is missing, or the program cannot be built.
pub fn built(folder: &Path) -> Result<PathBuf, NotReady> {
    PROGRAM.built(folder)
}

/// Runs the program with `arguments` and returns its output.
pub(super) fn run(program: &Path, arguments: &Arguments, watch: &dyn Watch) -> Result<String, Failure> {
    let options: Vec<String> = arguments.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let failed = |message: String| Failure::Failed {
        message: format!("ns-3 failed: {message}"),
        help: format!("repeat it with: {} {}", program.display(), options.join(" ")),
    };
    let mut command = Command::new(program);
    command.args(&options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    // Both are read while it runs: a full pipe would stop it.
    let (status, out, err) = thread::scope(|scope| {
        let (out, err) = (scope.spawn(|| all_of(out)), scope.spawn(|| all_of(err)));
        let status = wait(&mut child, watch);
        (status, out.join().unwrap_or_default(), err.join().unwrap_or_default())
    });
    match status.map_err(|error| failed(error.to_string()))? {
        None => Err(Failure::Cancelled),
        Some(true) => Ok(String::from_utf8_lossy(&out).into_owned()),
        Some(false) => Err(failed(end_of(&err))),
    }
}

/// Whether it ended well; `None` if it was cancelled.
fn wait(child: &mut Child, watch: &dyn Watch) -> io::Result<Option<bool>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if watch.is_stopped() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // Unreadable output is taken as empty: the exit status or the parser reports it.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}
