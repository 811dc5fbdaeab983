//! The program for ns-3: its sources, building it once, running it.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use network::Watch;
use sha2::{Digest, Sha256};

use super::Arguments;
use crate::backend::{Failure, NotReady};

/// Debian's package, which has the headers.
const PACKAGE: &str = "libns3-dev";
const CURE: &str = "on Debian 12, or in a container with it, as root: apt-get install g++ libns3-dev; or use the back end \
                    simulator";
const MODULES: [&str; 8] =
    ["core", "network", "internet", "point-to-point", "applications", "traffic-control", "bridge", "stats"];
/// The first is what is compiled.
const SOURCES: [(&str, &str); 5] = [
    ("network.cc", include_str!("../../../ns3/network.cc")),
    ("flows.h", include_str!("../../../ns3/flows.h")),
    ("mended.h", include_str!("../../../ns3/mended.h")),
    ("mended_socket.h", include_str!("../../../ns3/mended_socket.h")),
    ("routing.h", include_str!("../../../ns3/routing.h")),
];
/// How often a run looks whether it is cancelled.
const POLL: Duration = Duration::from_millis(10);
/// Of what a failed command said, so many characters at the end are shown.
const SHOWN: usize = 2_000;

/// Version of the package, if it is installed.
pub fn installed() -> Option<String> {
    let query = ["--show", "--showformat", "${db:Status-Status} ${Version}", PACKAGE];
    let output = Command::new("dpkg-query").args(query).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.strip_prefix("installed ").map(|version| version.trim().to_owned())
}

/// The program, built in `folder` unless it is there: one for each version of ns-3 and of its sources.
///
/// # Errors
/// ns-3 or a compiler is missing, or the program cannot be built.
pub fn built(folder: &Path) -> Result<PathBuf, NotReady> {
    let missing = |message: &str| NotReady { message: message.into(), help: CURE.into() };
    let version = installed().ok_or_else(|| missing("ns-3 is not installed"))?;
    let program = folder.join(format!("network-{}", key(&version)));
    if program.exists() {
        return Ok(program);
    }
    let failed = |error: io::Error| NotReady {
        message: format!("{}: cannot build the program for ns-3 there: {error}", folder.display()),
        help: "make room there, or name another place with XDG_CACHE_HOME".into(),
    };
    // A folder of this process alone: two that build at once each move a whole program to its place.
    let sources = folder.join(format!("{}-{}", key(&version), std::process::id()));
    fs::create_dir_all(&sources).map_err(failed)?;
    for (name, text) in SOURCES {
        fs::write(sources.join(name), text).map_err(failed)?;
    }
    let (source, part) = (sources.join(SOURCES[0].0), sources.join("network"));
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O2", "-o"]).arg(&part).arg(source);
    compiler.args(MODULES.map(|module| format!("-lns3-{module}")));
    let output = compiler.output().map_err(|error| missing(&format!("g++ cannot be started: {error}")))?;
    if !output.status.success() {
        let message = format!("the program for ns-3 {version} does not compile:\n{}", end_of(&output.stderr));
        return Err(missing(&message));
    }
    fs::rename(part, &program).map_err(failed)?;
    // Leftover files are harmless.
    let _ = fs::remove_dir_all(sources);
    Ok(program)
}

/// Of a version of ns-3 and the sources.
fn key(version: &str) -> String {
    let mut hash = Sha256::new_with_prefix(version);
    SOURCES.iter().for_each(|(_, text)| hash.update(text));
    let mut key = String::new();
    // Writing to a string cannot fail.
    hash.finalize().iter().take(8).for_each(|byte| {
        let _ = write!(key, "{byte:02x}");
    });
    key
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

fn end_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let skipped = text.chars().count().saturating_sub(SHOWN);
    text.chars().skip(skipped).collect::<String>().trim().to_owned()
}
