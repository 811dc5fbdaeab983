//! The addresses of a subflow.

/// Addresses of a subflow, as indices of the two hosts' interfaces. `None`: the host's own address; routing
/// decides the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// Interface at this end.
    pub local: Option<u8>,
    /// Interface at the other end.
    pub remote: Option<u8>,
}

impl AddressPair {
    /// The same pair seen from the other end.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { local: self.remote, remote: self.local }
    }
}
