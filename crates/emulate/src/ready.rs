//! Rights of this process.

use std::fs::{self, File};
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
    /// `/dev/net/tun` is not there, or may not be opened.
    Tun,
    /// The process is not root, and the kernel permits no user namespace.
    UserNamespaces,
    /// The process is not root, and the kernel refuses a network namespace in a user namespace, or `unshare` is missing.
    Unshare,
}

/// Tries it out.
pub fn privilege() -> Privilege {
    if File::open("/dev/net/tun").is_err() {
        return Privilege::None(Missing::Tun);
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
