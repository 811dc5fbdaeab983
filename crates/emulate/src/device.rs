//! TUN devices: what the kernel sends over one is read, and what is written to it arrives there.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use network::Interface;
use tappers::Interface as DeviceName;
use tappers::linux::Tun;

use crate::fault::Fault;

/// A TUN device; it exists as long as this value.
pub(crate) struct Device {
    /// The interface that it stands for.
    pub(crate) interface: Interface,
    tun: Tun,
}

/// Larger than any MTU.
pub(crate) const LARGEST_PACKET: usize = 1 << 16;

/// The name of the device of an interface.
pub(crate) fn name(interface: Interface) -> String {
    format!("rw{}", interface.number)
}

impl Device {
    /// A new device in the network namespace of the calling thread, without addresses and down.
    pub(crate) fn new(interface: Interface) -> Result<Self, Fault> {
        let failed = |error: io::Error| Fault {
            message: format!("no TUN device can be made: {error}"),
            help: "the kernel needs CONFIG_TUN, and this process access to /dev/net/tun".into(),
        };
        let device = DeviceName::new(name(interface)).map_err(failed)?;
        let tun = Tun::create_named(device).map_err(failed)?;
        tun.set_nonblocking(true).map_err(failed)?;
        Ok(Self { interface, tun })
    }

    /// The next packet that the kernel has sent; `None` if there is none.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.tun.recv(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lets a packet arrive. False if the kernel does not take it.
    pub(crate) fn write(&self, packet: &[u8]) -> bool {
        self.tun.send(packet).is_ok_and(|length| length == packet.len())
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
