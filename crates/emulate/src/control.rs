//! Congestion controls that are registered with the kernel for the time of a run.
//!
//! A program of its own holds the registration. It ends when its standard input does, so that the kernel forgets the control
//! however this process ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::fault::Fault;

/// A congestion control to be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlPlan {
    /// The program that registers it.
    pub loader: PathBuf,
    /// Its BPF object.
    pub object: PathBuf,
    /// Its name in the kernel: 15 characters at most, and no other control has it.
    pub name: String,
    /// Bytes that wait on a subflow to be sent before it takes no more; `None`: no limit.
    pub subflow_unsent_limit: Option<u32>,
}

/// A control that is registered as long as this value exists.
#[derive(Debug)]
pub(crate) struct Registered(Child);

impl Registered {
    pub(crate) fn new(plan: &ControlPlan) -> Result<Self, Fault> {
        let fault = |message: String| Fault {
            message: format!("the kernel does not take the congestion control {}: {message}", plan.name),
            help: "run as root of the machine, with BTF in the kernel (/sys/kernel/btf/vmlinux)".into(),
        };
        let child = Command::new(&plan.loader)
            .args([plan.object.as_os_str(), plan.name.as_ref()])
            .arg(plan.subflow_unsent_limit.unwrap_or(0).to_string())
            // A signal to the group of this process must leave it time to abort the connections.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| fault(error.to_string()))?;
        let mut registered = Self(child);
        let mut said = String::new();
        if let Some(output) = registered.0.stdout.take() {
            BufReader::new(output).read_line(&mut said).map_err(|error| fault(error.to_string()))?;
        }
        if said.trim() == "ready" {
            return Ok(registered);
        }
        let mut errors = String::new();
        if let Some(mut output) = registered.0.stderr.take() {
            // The lines so far is better than nothing.
            let _ = output.read_to_string(&mut errors);
        }
        let last: Vec<&str> = errors.lines().rev().take(2).collect();
        Err(fault(last.into_iter().rev().collect::<Vec<_>>().join("; ")))
    }
}

impl Registered {
    /// Lets the program abort the connections in these namespaces when it ends, which would keep the control otherwise.
    pub(crate) fn watch(&mut self, descriptors: impl Iterator<Item = i32>) -> Result<(), Fault> {
        let Some(input) = &mut self.0.stdin else { return Ok(()) };
        for descriptor in descriptors {
            writeln!(input, "/proc/{}/fd/{descriptor}", std::process::id())
                .map_err(|error| Fault::of("the program that holds a congestion control", error))?;
        }
        Ok(())
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
