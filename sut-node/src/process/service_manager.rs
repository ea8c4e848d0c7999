//! What systemd is told of the node, where it has started it (`sd_notify(3)`, `Type=notify`). Elsewhere nothing happens.

use sd_notify::NotifyState;
use tracing::warn;

/// It takes calls.
pub(crate) fn ready(name: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("node {name} is ready"))]);
}

/// It answers what is in flight, and ends.
pub(crate) fn ending() {
    tell(&[NotifyState::Stopping, NotifyState::Status("answering what is in flight")]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(%error, "the service manager cannot be told of the node");
    }
}
