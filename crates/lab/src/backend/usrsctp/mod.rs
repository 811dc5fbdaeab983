//! The library libusrsctp (SCTP of FreeBSD in user space), unmodified, as both ends of associations in virtual time.
//!
//! Each end is a process of a small C program (`crates/lab/usrsctp/`), which is built once where the library is installed. The
//! program gives the library a clock, random numbers, addresses and a raw socket of its own; the links are those of the
//! simulator. No root, no threads, and the same bytes in every run.
//! May: start the program, run it in lock step, count. May not: change what the library does.

mod counts;
mod driver;
mod end;
mod packets;
mod settings;
mod timers;

use std::path::{Path, PathBuf};

use super::NotReady;
use super::compiled::Compiled;

pub use counts::{MessageTimes, PathCounts};
pub use driver::{AssociationRan, Ran, run};
pub use end::EndCounters;
pub use settings::{Association, Cmt, Settings, Traffic};

const PROGRAM: Compiled = Compiled {
    what: "libusrsctp",
    package: "libusrsctp-dev",
    cure: "on Debian 12, or in a container with it, as root: apt-get install gcc libusrsctp-dev; or use the back end \
           simulator",
    name: "end",
    sources: &[
        ("end.c", include_str!("../../../usrsctp/end.c")),
        ("machine.c", include_str!("../../../usrsctp/machine.c")),
        ("machine.h", include_str!("../../../usrsctp/machine.h")),
    ],
    compiler: &["gcc", "-std=c11", "-Wall", "-Wextra", "-O2"],
    compiled: &["end.c", "machine.c"],
    libraries: &["-lusrsctp", "-ldl"],
};

/// Version of the package, if it is installed.
pub fn installed() -> Option<String> {
    PROGRAM.installed()
}

/// The program, built in `folder` unless it is there: one for each version of the library and of its sources.
///
/// # Errors
/// The library or a compiler is missing, or the program cannot be built.
pub fn built(folder: &Path) -> Result<PathBuf, NotReady> {
    PROGRAM.built(folder)
}
