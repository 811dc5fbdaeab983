//! Ephemeral ports of a host.
//!
//! May: choose the next one. May not: know what uses them; the caller says which are taken.

use crate::net::address::Port;

/// The first of the dynamic ports (RFC 6335 section 6).
const FIRST_DYNAMIC: u16 = 49_152;

/// The first that is no system port: used once the dynamic ones are taken.
const FIRST_USER: u16 = 1024;

/// Where a host listens for its first service; each further one takes the next port.
const FIRST_SERVICE: u16 = 5001;

/// Gives out ephemeral ports in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EphemeralPorts {
    next: u16,
}

impl Default for EphemeralPorts {
    fn default() -> Self {
        Self { next: FIRST_DYNAMIC }
    }
}

impl EphemeralPorts {
    /// The next port that is not `taken`.
    ///
    /// # Panics
    /// If all 64,512 are: a host has no more connections to one port of another.
    pub(crate) fn allocate(&mut self, taken: impl Fn(Port) -> bool) -> Port {
        for _ in FIRST_USER..=u16::MAX {
            let port = Port(self.next);
            self.next = self.next.checked_add(1).unwrap_or(FIRST_USER);
            if !taken(port) {
                debug_assert!(port.0 >= FIRST_USER, "system port {port:?} as an ephemeral one");
                return port;
            }
        }
        panic!("no ephemeral port is free; spread the connections over more flows or nodes")
    }
}

/// The port of a host's service by its index.
///
/// # Panics
/// If a host has more than 60,000 services.
pub(crate) fn service_port(index: usize) -> Port {
    let offset = u16::try_from(index).ok().and_then(|index| FIRST_SERVICE.checked_add(index));
    Port(offset.expect("a host serves at most 60,000 flows"))
}

/// The service that listens at `port`, if it is one.
pub(crate) fn service_at(port: Port) -> Option<usize> {
    port.0.checked_sub(FIRST_SERVICE).map(usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_in_order_and_leave_out_what_is_taken() {
        let mut ports = EphemeralPorts::default();
        assert_eq!(ports.allocate(|_| false), Port(49_152));
        assert_eq!(ports.allocate(|port| port == Port(49_153)), Port(49_154));
        ports.next = u16::MAX;
        assert_eq!([ports.allocate(|_| false), ports.allocate(|_| false)], [Port(u16::MAX), Port(1024)]);
    }

    #[test]
    fn services_have_ports_in_a_row() {
        assert_eq!((service_port(0), service_port(2)), (Port(5001), Port(5003)));
        assert_eq!((service_at(Port(5003)), service_at(Port(80))), (Some(2), None));
    }
}
