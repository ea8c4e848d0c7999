//! Wait for a server that is still loading its model.

use std::{
    fmt::Display,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use tracing::info;

/// Advice for a server that does not answer at the start.
pub(crate) const LOADING_HINT: &str =
    "if it is still loading its model, give --engine-start-timeout 10m";

/// Interval at which the node asks again.
const INTERVAL: Duration = Duration::from_millis(500);

/// Interval at which the node logs that it waits.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Waits until `ask` succeeds, at most for `patience`, and logs the progress. `server` names the
/// server in the log.
///
/// # Errors
///
/// Fails with the last error of `ask`, and names the option that sets `patience`.
pub(crate) async fn wait_until_ready(
    server: impl Display,
    patience: Duration,
    ask: impl AsyncFn() -> Result<(), String>,
) -> Result<(), String> {
    let begun = Instant::now();
    let mut reported = None::<Instant>;
    loop {
        let Err(why) = ask().await else { return Ok(()) };
        let waited = begun.elapsed();
        let most = patience.as_secs_f64();
        if patience.is_zero() {
            return Err(format!("{why}; {LOADING_HINT}"));
        }
        if waited >= patience {
            return Err(format!("{why}; it was not ready within --engine-start-timeout, {most} s"));
        }
        if reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            reported = Some(Instant::now());
            let waited = waited.as_secs();
            info!(%server, why, "waiting for the serving engine: {waited} s of {most} s");
        }
        sleep(INTERVAL.min(patience - waited)).await;
    }
}
