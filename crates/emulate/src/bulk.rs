//! The bulk program: one end writes as fast as its socket takes, the other reads and keeps the times.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use trace::Histogram;
use units::SimTime;

use crate::clock::HostClock;
use crate::fault::Fault;
use crate::plan::{FlowPlan, port};
use crate::stop::{Stage, Stop};

/// Bytes of one write.
const WRITE: usize = 1 << 16;
/// Bytes of one read.
const READ: usize = 1 << 18;
/// Longest wait for a socket without a look at the stage of the run.
const LOOK_MS: u8 = 20;

/// Times and bytes of a transfer, from both of its ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transfer {
    /// When the handshake was complete at the client.
    pub established: Option<SimTime>,
    /// Bytes that the application has read until its end.
    pub delivered: u64,
    /// When the last of them so far.
    pub last_delivery: Option<SimTime>,
    /// When it was complete, if it has a size.
    pub completed: Option<SimTime>,
    /// From the write of a byte to its delivery, one count per byte.
    pub delay: Histogram,
    /// Error that ended it.
    pub failure: Option<String>,
    /// Bytes after each write that has not been delivered whole, and when that was.
    writes: VecDeque<(u64, SimTime)>,
}

impl Transfer {
    fn written(&mut self, total: u64, now: SimTime) {
        debug_assert!(self.writes.back().is_none_or(|(before, _)| *before < total), "bytes are added");
        self.writes.push_back((total, now));
    }

    /// The application has read up to byte `total`.
    fn read(&mut self, total: u64, now: SimTime, size: Option<u64>) {
        debug_assert!(total >= self.delivered, "bytes are not taken back");
        let mut from = self.delivered;
        while from < total
            && let Some(&(end, written)) = self.writes.front()
        {
            let to = end.min(total);
            self.delay.add(now.since(written.min(now)), to - from);
            from = to;
            if to == end {
                self.writes.pop_front();
            }
        }
        self.delivered = total;
        self.last_delivery = Some(now);
        if size == Some(total) {
            self.completed = Some(now);
        }
    }
}

/// One end of a transfer, on a thread of its own in the namespace of its host.
pub(crate) struct End<'a> {
    pub(crate) plan: &'a FlowPlan,
    pub(crate) transfer: &'a Mutex<Transfer>,
    pub(crate) clock: HostClock,
    pub(crate) stop: &'a Stop,
}

/// The socket of a server, which listens.
pub(crate) fn listen(plan: &FlowPlan, flow: usize) -> Result<Socket, Fault> {
    let socket = configured(plan)?;
    let failed = Fault::io("a listener");
    // Bound to any address: joins come to others than the first one.
    let any: SocketAddr = ([0, 0, 0, 0], port(flow)).into();
    socket.bind(&any.into()).map_err(&failed)?;
    socket.listen(1).map_err(&failed)?;
    socket.set_nonblocking(true).map_err(&failed)?;
    Ok(socket)
}

/// A socket with the options that must be there before the handshake.
fn configured(plan: &FlowPlan) -> Result<Socket, Fault> {
    let protocol = if plan.mptcp { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol)).map_err(|error| Fault {
        message: format!("no socket: {error}"),
        help: "MPTCP needs a kernel with CONFIG_MPTCP and net.mptcp.enabled = 1".into(),
    })?;
    socket.set_tcp_congestion(plan.congestion.as_bytes()).map_err(|error| Fault {
        message: format!("the kernel does not set congestion control {}: {error}", plan.congestion),
        help: "take one of `sysctl net.ipv4.tcp_available_congestion_control`".into(),
    })?;
    let failed = Fault::io("socket options");
    if let Some(size) = plan.receive_buffer {
        fix_receive_buffer(&socket, size as usize)?;
    }
    socket.set_tcp_nodelay(plan.no_delay).map_err(&failed)?;
    Ok(socket)
}

/// Sets `SO_RCVBUF`, which the kernel doubles: beyond `net.core.rmem_max` only with the right to.
fn fix_receive_buffer(socket: &Socket, size: usize) -> Result<(), Fault> {
    let failed = Fault::io("SO_RCVBUF");
    if setsockopt(socket, RcvBufForce, &size).is_err() {
        socket.set_recv_buffer_size(size).map_err(&failed)?;
    }
    let found = socket.recv_buffer_size().map_err(&failed)?;
    if found == 2 * size {
        return Ok(());
    }
    Err(Fault {
        message: format!("SO_RCVBUF: {size} bytes were wanted, and {} are permitted", found / 2),
        help: "run as root, raise net.core.rmem_max, or set a smaller receive_buffer".into(),
    })
}

impl End<'_> {
    /// The end that listens: takes one connection.
    pub(crate) fn serve(&self, listener: &Socket) {
        let served = self.accept(listener).and_then(|socket| match socket {
            Some(socket) => self.talk(socket, self.plan.opened_by_receiver),
            None => Ok(()),
        });
        self.failed(served);
    }

    /// The end that opens the connection.
    pub(crate) fn connect(&self, flow: usize) {
        if !self.stop.wait_until(self.clock, self.plan.start, Stage::Running) {
            return;
        }
        let opened = self.open(flow).and_then(|socket| match socket {
            Some(socket) => self.talk(socket, !self.plan.opened_by_receiver),
            None => Ok(()),
        });
        self.failed(opened);
    }

    fn failed(&self, ended: Result<(), Fault>) {
        if let Err(fault) = ended
            && self.stop.stage() == Stage::Running
        {
            self.transfer().failure.get_or_insert(fault.message);
        }
    }

    fn transfer(&self) -> std::sync::MutexGuard<'_, Transfer> {
        self.transfer.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn accept(&self, listener: &Socket) -> Result<Option<Socket>, Fault> {
        while self.stop.stage() == Stage::Running {
            if wait(listener, PollFlags::POLLIN)? {
                match listener.accept() {
                    Ok((socket, _)) => return Ok(Some(socket)),
                    Err(error) if again(&error) => {}
                    Err(error) => return Err(Fault::of("accept", error)),
                }
            }
        }
        Ok(None)
    }

    fn open(&self, flow: usize) -> Result<Option<Socket>, Fault> {
        let failed = Fault::io("a connection");
        let socket = configured(self.plan)?;
        let local = SocketAddrV4::new(self.plan.client, 0);
        socket.bind(&SocketAddr::from(local).into()).map_err(&failed)?;
        socket.set_nonblocking(true).map_err(&failed)?;
        let server = SocketAddrV4::new(self.plan.server, port(flow));
        match socket.connect(&SocketAddr::from(server).into()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
            Err(error) => return Err(failed(error)),
        }
        while self.stop.stage() == Stage::Running {
            if wait(&socket, PollFlags::POLLOUT)? {
                if let Some(error) = socket.take_error().map_err(&failed)? {
                    return Err(failed(error));
                }
                self.transfer().established = Some(self.clock.now());
                return Ok(Some(socket));
            }
        }
        Ok(None)
    }

    /// Writes or reads until the run closes, and then resets the connection: nothing lingers.
    fn talk(&self, socket: Socket, sends: bool) -> Result<(), Fault> {
        let failed = Fault::io("a connection");
        socket.set_nonblocking(true).map_err(&failed)?;
        let ended = if sends { self.send(&socket) } else { self.receive(&socket) };
        while self.stop.stage() < Stage::Closing {
            std::thread::sleep(Duration::from_millis(u64::from(LOOK_MS)));
        }
        SockRef::from(&socket).set_linger(Some(Duration::ZERO)).map_err(&failed)?;
        ended
    }

    fn send(&self, mut socket: &Socket) -> Result<(), Fault> {
        let bytes = vec![0; WRITE];
        let mut total = 0;
        while self.stop.stage() == Stage::Running && self.clock.now() < self.plan.stop {
            let left = self.plan.size.map_or(u64::MAX, |size| size - total);
            if left == 0 {
                break;
            }
            let length = WRITE.min(usize::try_from(left).unwrap_or(WRITE));
            match socket.write(&bytes[..length]) {
                Ok(written) => {
                    total += written as u64;
                    self.transfer().written(total, self.clock.now());
                }
                Err(error) if again(&error) => {
                    wait(socket, PollFlags::POLLOUT)?;
                }
                Err(error) => return Err(Fault::of("the sender", error)),
            }
        }
        Ok(())
    }

    fn receive(&self, mut socket: &Socket) -> Result<(), Fault> {
        let mut buffer = vec![0; READ];
        let mut total = 0;
        while self.stop.stage() == Stage::Running {
            if !wait(socket, PollFlags::POLLIN)? {
                continue;
            }
            match socket.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    total += length as u64;
                    let now = self.clock.now();
                    if now <= self.plan.stop {
                        self.transfer().read(total, now, self.plan.size);
                    }
                }
                Err(error) if again(&error) => {}
                Err(error) => return Err(Fault::of("the receiver", error)),
            }
        }
        Ok(())
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Waits a moment. False if the socket is not ready.
fn wait(socket: &Socket, what: PollFlags) -> Result<bool, Fault> {
    let mut waiting = [PollFd::new(socket.as_fd(), what)];
    match poll(&mut waiting, PollTimeout::from(LOOK_MS)) {
        Ok(ready) => Ok(ready > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(Fault::of("poll", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bytes written at 1 ms and 50 at 2 ms; 120 are read at 11 ms, the rest at 22 ms.
    #[test]
    fn the_delay_of_a_byte_is_from_its_write_to_its_delivery() {
        let mut transfer = Transfer::default();
        let ms = SimTime::from_millis;
        transfer.written(100, ms(1));
        transfer.written(150, ms(2));
        transfer.read(120, ms(11), Some(150));
        assert_eq!((transfer.delivered, transfer.completed), (120, None));
        transfer.read(150, ms(22), Some(150));
        assert_eq!((transfer.delay.total(), transfer.completed), (150, Some(ms(22))));
        let mean = (100.0 * 10e-3 + 20.0 * 9e-3 + 30.0 * 20e-3) / 150.0;
        assert!((transfer.delay.mean().unwrap() - mean).abs() < 1e-12);
    }
}
