//! What SIGINT and SIGTERM do to a run.

use std::time::{Duration, Instant};

use tracing::warn;

use crate::{RunError, error::EXIT_FAILED};

/// Signals so close together count as one: a shell may send one to a process and to its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The first signal ends the run; a later one ends the process.
pub(crate) fn end_on_signal(stop: impl Fn(&str) + Send + 'static) -> Result<(), RunError> {
    let failed = |error: std::io::Error| RunError::Failed(format!("signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let watch = move || {
        let mut first = None;
        while let Ok(signal) = runtime.block_on(netdiv_process::asked_to_end()) {
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if since > ONE_REQUEST {
                loadgen_sys::exit_now(EXIT_FAILED);
            }
            warn!(
                signal,
                "ending the run, which takes up to 3 s; a second signal ends it at once, without a result"
            );
            stop(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(failed)
}
