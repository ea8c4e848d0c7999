//! Shared state of a relay's connections.

use std::net::SocketAddr;

use tokio::sync::watch;

use super::direction::WireDirection;

/// Direction in which bytes pass a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the node: requests.
    ToNode,
    /// From the node to the client: responses.
    ToClient,
}

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// TCP: a FIN to both peers.
    Closed,
    /// TCP: an RST to both peers.
    Reset,
}

/// Shared state of a relay's connections.
pub(super) struct Wire {
    pub(super) node: SocketAddr,
    pub(super) to_node: WireDirection,
    pub(super) to_client: WireDirection,
    /// Signals an end to the current connections. Later connections do not see it.
    pub(super) end: watch::Sender<End>,
}

impl Wire {
    pub(super) fn way(&self, direction: Direction) -> &WireDirection {
        match direction {
            Direction::ToNode => &self.to_node,
            Direction::ToClient => &self.to_client,
        }
    }
}
