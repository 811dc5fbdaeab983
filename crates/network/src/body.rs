//! The bodies of packets where the network meets them: at a middlebox and at a tap.
//!
//! May: say of which types the network of a world is. May not: be known to `net`, which sees envelopes.

use transport::packet::Body;

use crate::net::middlebox::MiddleboxAccess;
use crate::net::network::Network;
use crate::observer::Observer;

/// The network of a world: packets of our transports, observed by the readable trace and the capture.
pub(crate) type WorldNetwork = Network<Body, Observer>;

impl MiddleboxAccess for Body {
    fn is_multipath(&self) -> bool {
        Self::is_multipath(self)
    }

    fn is_syn(&self) -> bool {
        Self::is_syn(self)
    }

    fn strip_multipath(&mut self) {
        Self::strip_multipath(self);
    }
}
