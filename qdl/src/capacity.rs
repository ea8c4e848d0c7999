//! Checks that a node accepts as many connections and streams as a run uses.

use netdiv_contract::v1::DescribeResponse;

use crate::{connect_error::ConnectError, settings::Settings};

/// Compares the settings with the limits in a node's description. A node of an older contract
/// reports no limits.
pub(crate) fn check(settings: &Settings, takes: &DescribeResponse) -> Result<(), ConnectError> {
    let node = || takes.node_name.clone();
    let is_beyond = |asked: usize, limit: u32| limit > 0 && asked as u64 > u64::from(limit);
    let (asked, limit) = (settings.connections_per_node.max(1), takes.max_connections);
    if is_beyond(asked, limit) {
        return Err(ConnectError::TooManyConnections { node: node(), asked, limit });
    }
    let (asked, limit) = (settings.streams_per_connection.max(1), takes.max_streams_per_connection);
    if is_beyond(asked, limit) {
        return Err(ConnectError::TooManyStreams { node: node(), asked, limit });
    }
    let (asked, limit) = (settings.lanes_per_node(), takes.max_streams);
    if is_beyond(asked, limit) {
        return Err(ConnectError::TooManyStreamsInAll { node: node(), asked, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_with_both_numbers() {
        let node = DescribeResponse {
            node_name: "a".into(),
            max_connections: 8,
            max_streams: 100,
            max_streams_per_connection: 64,
            ..DescribeResponse::default()
        };
        let older = DescribeResponse { node_name: "a".into(), ..DescribeResponse::default() };
        for (connections_per_node, streams_per_connection, words) in [
            (1, 64, None),
            (8, 12, None),
            (9, 1, Some("asks for 9 connections to each node, but node a accepts 8")),
            (1, 65, Some("asks for 65 streams on each connection, but node a accepts 64")),
            (2, 51, Some("ask for 102 streams to each node, but node a accepts 100")),
        ] {
            let settings = Settings {
                connections_per_node,
                streams_per_connection,
                ..Settings::new(vec!["a:1".into()])
            };
            let refused = check(&settings, &node).err().map(|error| error.to_string());
            let has_words = |words| refused.as_ref().is_some_and(|error| error.contains(words));
            assert!(words.map_or(refused.is_none(), has_words), "{refused:?}");
            assert!(check(&settings, &older).is_ok(), "its limits are unknown");
        }
    }
}
