//! Hosts: the endpoints of connections and how their packets leave.

pub(crate) mod endpoint;
