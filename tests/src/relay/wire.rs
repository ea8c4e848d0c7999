//! What all connections of a relay share.

use std::net::SocketAddr;

use tokio::sync::watch;

use super::way::Way;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the node: requests.
    ToNode,
    /// From the node to the client: answers.
    ToClient,
}

/// How connections end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// TCP: with a FIN to both ends.
    Closed,
    /// TCP: with an RST to both ends.
    Reset,
}

/// What all connections of a relay share.
pub(super) struct Wire {
    pub(super) node: SocketAddr,
    pub(super) to_node: Way,
    pub(super) to_client: Way,
    /// Tells the connections that there are to end. Those that come later do not see it.
    pub(super) end: watch::Sender<End>,
}

impl Wire {
    pub(super) fn way(&self, direction: Direction) -> &Way {
        match direction {
            Direction::ToNode => &self.to_node,
            Direction::ToClient => &self.to_client,
        }
    }
}
