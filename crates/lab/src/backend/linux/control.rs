//! Coupled congestion controls as BPF programs (`deploy/bpf`), which the kernel does not have itself.
//!
//! May: build them. May not: register them (`emulate` does).

use std::path::{Path, PathBuf};

use crate::backend::NotReady;
use crate::backend::compiled::Compiled;

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../../deploy/bpf/", $name)))
    };
}

const CURE: &str = "on Debian 12, or in a container with it, as root: apt-get install clang gcc libbpf-dev";
const PACKAGE: &str = "libbpf-dev";
const ARCHITECTURE: &str =
    if cfg!(target_arch = "aarch64") { "-D__TARGET_ARCH_arm64" } else { "-D__TARGET_ARCH_x86" };

const LOADER: Compiled = Compiled {
    what: "libbpf",
    package: PACKAGE,
    cure: CURE,
    name: "load",
    sources: &[source!("load.c")],
    compiler: &["gcc", "-std=gnu11", "-Wall", "-Wextra", "-O2"],
    compiled: &["load.c"],
    libraries: &["-lbpf"],
};

const fn object(name: &'static str, compiled: &'static [&'static str]) -> Compiled {
    Compiled {
        what: "BPF",
        package: PACKAGE,
        cure: CURE,
        name,
        sources: SOURCES,
        compiler: &["clang", "-O2", "-g", "-Wall", "-target", "bpf", ARCHITECTURE, "-c"],
        compiled,
        libraries: &[],
    }
}

const SOURCES: &[(&str, &str)] = &[
    source!("kernel.h"),
    source!("paths.h"),
    source!("subflows.h"),
    source!("lia.h"),
    source!("olia.h"),
    source!("balia.h"),
    source!("wvegas.h"),
    source!("lia.bpf.c"),
    source!("olia.bpf.c"),
    source!("balia.bpf.c"),
    source!("wvegas.bpf.c"),
];

/// Names of the controls.
pub const CONTROLS: [&str; 4] = ["lia", "olia", "balia", "wvegas"];

const OBJECTS: [Compiled; 4] = [
    object(CONTROLS[0], &["lia.bpf.c"]),
    object(CONTROLS[1], &["olia.bpf.c"]),
    object(CONTROLS[2], &["balia.bpf.c"]),
    object(CONTROLS[3], &["wvegas.bpf.c"]),
];

/// The program that registers a control and the BPF object of this one, built in `folder` unless they are there.
///
/// # Errors
/// There is no such control, a compiler or libbpf is missing, or they cannot be built.
pub fn control(folder: &Path, name: &str) -> Result<(PathBuf, PathBuf), NotReady> {
    let place = CONTROLS.iter().position(|known| *known == name).ok_or_else(|| NotReady {
        message: format!("no congestion control {name} for the kernel"),
        help: format!("take one of {}", CONTROLS.join(", ")),
    })?;
    Ok((LOADER.built(folder)?, OBJECTS[place].built(folder)?))
}
