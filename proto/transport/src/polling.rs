//! Busy polling: keeps the threads of a runtime from sleeping.

/// Keeps the runtime's thread from sleeping: when idle, it polls the sockets continuously. A
/// sleeping thread needs about ten microseconds to wake; a polling thread uses a whole core.
pub async fn busy_poll() -> std::convert::Infallible {
    loop {
        tokio::task::yield_now().await;
    }
}
