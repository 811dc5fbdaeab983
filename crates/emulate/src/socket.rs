//! Sockets of the flows, with the options that must be there before the handshake.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4};

use nix::sys::socket::{
    setsockopt,
    sockopt::{RcvBufForce, SndBufForce},
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::fault::Fault;
use crate::namespace::Namespace;
use crate::plan::FlowPlan;

/// Buffer of a UDP socket.
const DATAGRAM_BUFFER: usize = 8 << 20;
/// Connections that wait to be accepted: a page opens dozens.
const BACKLOG: i32 = 512;

/// A socket that listens on any address: joins come to others than the first one.
pub(crate) fn listen(plan: &FlowPlan, mptcp: bool, port: u16) -> Result<Socket, Fault> {
    let socket = configured(plan, mptcp)?;
    let failed = Fault::io("a listener");
    let any: SocketAddr = ([0, 0, 0, 0], port).into();
    socket.bind(&any.into()).map_err(&failed)?;
    socket.listen(BACKLOG).map_err(&failed)?;
    socket.set_nonblocking(true).map_err(&failed)?;
    Ok(socket)
}

/// A socket that opens a connection to the server of the flow, and its own port.
pub(crate) fn connect(plan: &FlowPlan, mptcp: bool, port: u16) -> Result<(Socket, u16), Fault> {
    let failed = Fault::io("a connection");
    let socket = configured(plan, mptcp)?;
    let local = SocketAddrV4::new(plan.client, 0);
    socket.bind(&SocketAddr::from(local).into()).map_err(&failed)?;
    socket.set_nonblocking(true).map_err(&failed)?;
    let server = SocketAddrV4::new(plan.server, port);
    match socket.connect(&SocketAddr::from(server).into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
        Err(error) => return Err(failed(error)),
    }
    let own = socket.local_addr().map_err(&failed)?.as_socket().map_or(0, |address| address.port());
    Ok((socket, own))
}

/// The sockets of client and server of one conversation in datagrams, each made in the network namespace of its end.
pub(crate) fn datagrams(plan: &FlowPlan, [client, server]: [&Namespace; 2]) -> Result<[Socket; 2], Fault> {
    let failed = Fault::io("a socket of UDP");
    let open = |space: &Namespace, address| {
        space.enter()?;
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).map_err(&failed)?;
        socket.bind(&SocketAddr::from(SocketAddrV4::new(address, 0)).into()).map_err(&failed)?;
        socket.set_nonblocking(true).map_err(&failed)?;
        // Datagrams are lost on links and nowhere else; without the right to, as many as the machine permits.
        let _ = setsockopt(&socket, RcvBufForce, &DATAGRAM_BUFFER);
        let _ = setsockopt(&socket, SndBufForce, &DATAGRAM_BUFFER);
        Ok(socket)
    };
    let sockets = [open(server, plan.server)?, open(client, plan.client)?];
    let [server, client] = &sockets;
    client.connect(&server.local_addr().map_err(&failed)?).map_err(&failed)?;
    server.connect(&client.local_addr().map_err(&failed)?).map_err(&failed)?;
    let [server, client] = sockets;
    Ok([client, server])
}

fn configured(plan: &FlowPlan, mptcp: bool) -> Result<Socket, Fault> {
    let protocol = if mptcp { Protocol::MPTCP } else { Protocol::TCP };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol)).map_err(|error| Fault {
        message: format!("no socket: {error}"),
        help: "MPTCP needs a kernel with CONFIG_MPTCP and net.mptcp.enabled = 1".into(),
    })?;
    socket.set_tcp_congestion(plan.sockets.congestion.as_bytes()).map_err(|error| Fault {
        message: format!("the kernel does not set congestion control {}: {error}", plan.sockets.congestion),
        help: "take one of `sysctl net.ipv4.tcp_available_congestion_control`".into(),
    })?;
    let failed = Fault::io("socket options");
    if let Some(size) = plan.sockets.receive_buffer {
        fix_receive_buffer(&socket, size as usize)?;
    }
    if let Some(size) = plan.sockets.send_buffer {
        fix_send_buffer(&socket, size as usize)?;
    }
    socket.set_tcp_nodelay(plan.sockets.no_delay).map_err(&failed)?;
    Ok(socket)
}

/// Sets `SO_RCVBUF`, which the kernel doubles: beyond `net.core.rmem_max` only with the right to.
fn fix_receive_buffer(socket: &Socket, size: usize) -> Result<(), Fault> {
    let failed = Fault::io("SO_RCVBUF");
    if setsockopt(socket, RcvBufForce, &size).is_err() {
        socket.set_recv_buffer_size(size).map_err(&failed)?;
    }
    let found = socket.recv_buffer_size().map_err(&failed)?;
    granted("SO_RCVBUF", (size, found), "net.core.rmem_max", format!("a receive_buffer of {}B", found / 2))
}

/// Sets `SO_SNDBUF`, which the kernel doubles: beyond `net.core.wmem_max` only with the right to.
fn fix_send_buffer(socket: &Socket, size: usize) -> Result<(), Fault> {
    let failed = Fault::io("SO_SNDBUF");
    if setsockopt(socket, SndBufForce, &size).is_err() {
        socket.set_send_buffer_size(size).map_err(&failed)?;
    }
    let found = socket.send_buffer_size().map_err(&failed)?;
    // The size of the scenario is the doubled one.
    granted("SO_SNDBUF", (size, found), "net.core.wmem_max", format!("a send_buffer of {found}B"))
}

/// The kernel says that a buffer has `found` bytes.
fn granted(
    option: &str,
    (wanted, found): (usize, usize),
    limit: &str,
    permitted: String,
) -> Result<(), Fault> {
    if found == 2 * wanted {
        return Ok(());
    }
    Err(Fault {
        message: format!("{option}: {wanted} bytes were wanted, and {} are permitted", found / 2),
        help: format!("run as root, raise {limit}, or set {permitted}"),
    })
}

/// The call is to be made again later.
pub(crate) fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
