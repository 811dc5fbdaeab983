//! Rights of this process.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// The right under which namespaces can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// This process may make network namespaces as it is.
    Direct {
        /// It also has real-time priority.
        real_time: bool,
    },
    /// It may in a user namespace, which a process makes before it has threads: `unshare --user --map-root-user`.
    UserNamespace,
    /// It may not.
    None(Missing),
}

/// The first thing that a process lacks which may not make namespaces with TUN devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// `/dev/net/tun` is not there, or nothing in the kernel stands behind it.
    Tun,
    /// Its owner and mode let this process not open it.
    TunMode,
    /// The kernel lets this process not open it, whatever its mode: a container without the device.
    TunForbidden,
    /// The process is not root, and the kernel permits no user namespace.
    UserNamespaces,
    /// The process is not root, and the kernel refuses a network namespace in a user namespace, or `unshare` is missing.
    Unshare,
}

/// Tries it out.
pub fn privilege() -> Privilege {
    if let Err(missing) = tun(Path::new("/dev/net/tun")) {
        return Privilege::None(missing);
    }
    let direct = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_ok()).join();
    if direct.unwrap_or(false) {
        let real_time = thread::spawn(|| {
            let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
            1u8.try_into().is_ok_and(|priority| {
                let priority = ThreadPriority::Crossplatform(priority);
                set_thread_priority_and_policy(thread_native_id(), priority, policy).is_ok()
            })
        });
        return Privilege::Direct { real_time: real_time.join().unwrap_or(false) };
    }
    user_namespaces().map_or_else(Privilege::None, |()| Privilege::UserNamespace)
}

/// Whether devices can be made through this file.
fn tun(file: &Path) -> Result<(), Missing> {
    let Err(error) = OpenOptions::new().read(true).write(true).open(file) else { return Ok(()) };
    Err(match (error.kind(), error.raw_os_error()) {
        (ErrorKind::PermissionDenied, Some(EPERM)) => Missing::TunForbidden,
        (ErrorKind::PermissionDenied, _) => Missing::TunMode,
        _ => Missing::Tun,
    })
}

/// The number of "operation not permitted", which the mode of a file is not.
const EPERM: i32 = 1;

/// A need of the kernel, or of this process, for congestion controls that are BPF programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlsNeed {
    /// The kernel has no description of its types.
    Btf,
    /// The process is in a user namespace: the kernel takes programs from the first one alone.
    FirstUserNamespace,
    /// The process lacks `CAP_BPF` and `CAP_PERFMON`.
    Capabilities,
}

/// Where a kernel describes its types.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// The whole range of user IDs, which only the first user namespace maps to itself.
const EVERYBODY: [&str; 3] = ["0", "0", "4294967295"];
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Whether the kernel takes congestion controls from this process, as far as that can be known without one.
///
/// # Errors
/// The first thing that it needs.
pub fn takes_controls() -> Result<(), ControlsNeed> {
    if !Path::new(BTF).exists() {
        return Err(ControlsNeed::Btf);
    }
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    may_load(&read("/proc/self/uid_map"), &read("/proc/thread-self/status"))
}

/// The same of a process with this map of user IDs and this status.
fn may_load(uid_map: &str, status: &str) -> Result<(), ControlsNeed> {
    if !uid_map.split_whitespace().eq(EVERYBODY) {
        return Err(ControlsNeed::FirstUserNamespace);
    }
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or_default();
    let enough = held & CAP_SYS_ADMIN != 0 || held & (CAP_BPF | CAP_PERFMON) == CAP_BPF | CAP_PERFMON;
    if enough { Ok(()) } else { Err(ControlsNeed::Capabilities) }
}

/// Whether a process without threads can make a user namespace with a network namespace in it.
fn user_namespaces() -> Result<(), Missing> {
    let limit = fs::read_to_string("/proc/sys/user/max_user_namespaces");
    if limit.is_ok_and(|limit| limit.trim() == "0") {
        return Err(Missing::UserNamespaces);
    }
    let made =
        std::process::Command::new("unshare").args(["--user", "--map-root-user", "--net", "true"]).output();
    if made.is_ok_and(|output| output.status.success()) { Ok(()) } else { Err(Missing::Unshare) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_told_from_one_that_may_not_be_opened() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("ropewalk-tun-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("tun");
        assert_eq!(tun(&file), Err(Missing::Tun));
        fs::write(&file, "").unwrap();
        assert_eq!(tun(&file), Ok(()));
        fs::set_permissions(&file, PermissionsExt::from_mode(0o400)).unwrap();
        // Root opens it whatever its mode.
        let opened = OpenOptions::new().write(true).open(&file).is_ok();
        assert_eq!(tun(&file), if opened { Ok(()) } else { Err(Missing::TunMode) });
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn programs_are_taken_from_the_first_user_namespace_and_with_two_capabilities() {
        let first = "         0          0 4294967295\n";
        let of = |held: u64| format!("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t{held:016x}\n");
        assert_eq!(may_load(first, &of(u64::MAX)), Ok(()));
        assert_eq!(may_load("0 1000 1\n", &of(u64::MAX)), Err(ControlsNeed::FirstUserNamespace));
        assert_eq!(may_load("", &of(u64::MAX)), Err(ControlsNeed::FirstUserNamespace));
        assert_eq!(may_load(first, &of(CAP_BPF | CAP_PERFMON)), Ok(()));
        assert_eq!(may_load(first, &of(CAP_SYS_ADMIN)), Ok(()));
        for lacking in [0, CAP_BPF, CAP_PERFMON] {
            assert_eq!(may_load(first, &of(lacking)), Err(ControlsNeed::Capabilities));
        }
        assert_eq!(may_load(first, "Name:\tx\n"), Err(ControlsNeed::Capabilities));
    }
}
