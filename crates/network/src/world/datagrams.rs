//! Flows of datagrams in a world: a packet reaches its application, or leaves, without a connection.
//!
//! May: move datagrams between applications, sockets and the network. May not: hold any of them.

use apps::Side;
use units::SimTime;

use crate::host::socket::{AppSocket, SocketId};
use crate::net::network::Delivery;
use crate::observe::{trace_delivery, trace_sending};
use crate::world::World;
use crate::world::progress::MEMORY_WORK;

impl World {
    /// A datagram, or a packet for a proxy, has reached its host.
    #[cold]
    pub(super) fn deliver_datagram(&mut self, now: SimTime, socket: SocketId, delivery: Delivery) {
        if self.hosts.get(socket).leg().is_some() {
            return self.deliver_to_leg(now, socket, delivery);
        }
        let Self { hosts, network, .. } = self;
        let end = hosts.get_mut(socket);
        let owner = end.owner();
        if let Some(udp) = end.machine_mut().datagrams_mut() {
            udp.on_packet(network.open(delivery));
        }
        trace_delivery(now, network, delivery, None);
        self.take_datagrams(now, owner, socket);
        self.serve_datagrams(now, owner, socket);
    }

    /// Hands over the datagrams that have arrived at this end; the network may have made copies.
    fn take_datagrams(&mut self, now: SimTime, at: AppSocket, socket: SocketId) {
        while let Some(datagram) =
            self.hosts.get_mut(socket).machine_mut().datagrams_mut().and_then(|udp| udp.receive())
        {
            let (channel, recorder) = self.flows[at.flow()].channel_and_recorder(at.connection);
            let Some(conversation) = channel.conversation_mut() else { return };
            let Some(first) = conversation.receive(now, at.side.other(), datagram) else { continue };
            if at.side == Side::Receiver {
                recorder.datagram(now, first.sent, first.bytes);
            }
            if let Some(mark) = first.message {
                self.arrived(now, at, mark);
            }
        }
    }

    /// Sends the datagrams that wait, and tells the application if it wants to know.
    pub(super) fn serve_datagrams(&mut self, now: SimTime, owner: AppSocket, socket: SocketId) {
        let channel = self.flows[owner.flow()].channel_mut(owner.connection);
        if channel.conversation_mut().is_some_and(|conversation| conversation.take_notify(owner.side)) {
            self.tell_accepted(now, owner);
        }
        while self.send_datagram(now, socket) {
            self.datagrams += 1;
            // One message may be any number of datagrams, each a line of the trace; the loop over events gives the run up.
            if self.datagrams.is_multiple_of(MEMORY_WORK) && self.bound_memory(now).is_err() {
                return;
            }
        }
        self.note_progress(now, owner);
    }

    /// False if none waits.
    fn send_datagram(&mut self, now: SimTime, socket: SocketId) -> bool {
        let Self { hosts, network, queue, .. } = self;
        let end = hosts.get_mut(socket);
        let waits =
            end.machine_mut().datagrams_mut().is_some_and(|udp| udp.poll_transmit_into(network.draft()));
        if waits {
            let packet = network.draft();
            let (path, size) = (packet.path, packet.size);
            let (path, _) = end.path_and_machine(path).expect("both ends know their path");
            path.wire += size;
            trace_sending(now, network, &path.route, None);
            network.send(queue, now, &path.route, size);
        }
        waits
    }
}
