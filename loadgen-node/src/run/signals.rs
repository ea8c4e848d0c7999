//! What signals do to a run.

use std::time::{Duration, Instant};

use netdiv_process::{Signal, Signals};
use tracing::warn;

use super::progress;
use crate::{RunError, error::EXIT_FAILED};

/// Signals so close together count as one: a shell may send one to a process and to its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The first signal that asks for an end ends the run, a later one ends the process. Where a file cannot grow, `cut` is
/// called: the run's logs have a hole.
pub(crate) fn end_on_signal(
    stop: impl Fn(&str) + Send + 'static,
    cut: impl Fn() + Send + 'static,
) -> Result<(), RunError> {
    let failed = |error: std::io::Error| RunError::Failed(format!("signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    // From here on no signal ends the process without a result.
    let guard = runtime.enter();
    let mut signals = Signals::listen(&Signal::ALL).map_err(failed)?;
    drop(guard);
    let watch = move || {
        let mut first = None;
        loop {
            let signal = runtime.block_on(signals.next());
            if signal == Signal::FileTooLarge {
                cut();
                continue;
            }
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if since > ONE_REQUEST {
                progress::restore();
                loadgen_sys::exit_now(EXIT_FAILED);
            }
            warn!(
                signal = signal.name(),
                "ending the run, which takes up to 3 s; a second signal ends it at once, without a result"
            );
            stop(signal.name());
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(failed)
}
