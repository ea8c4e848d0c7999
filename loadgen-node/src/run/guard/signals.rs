//! Signals to a run, before and while it runs, and to other commands that ask nodes.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use netdiv_node_common::process::{Signal, Signals};
use parking_lot::Mutex;
use tracing::{error, warn};

use crate::{
    RunError,
    error::EXIT_FAILED,
    folder_lock::{self, FolderLock},
    output,
    run::progress,
};

/// Period in which all signals count as one: a shell may send one to a process and to its group.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Time limit for preparing a folder, and again for giving it up, when a signal arrives.
const TIDYING: Duration = Duration::from_secs(1);

/// Termination signals. The first ends the run, or the process if no run has started; a later one
/// ends the process.
#[derive(Clone, Default)]
pub(crate) struct Interruptions {
    reaction: Arc<Mutex<Reaction>>,
    /// Set once a file cannot grow, which leaves a hole in the logs of a run.
    pub(crate) cut: Arc<AtomicBool>,
}

/// Function that ends a run, for the signal of that name.
type Stop = Box<dyn Fn(&str) + Send>;

#[derive(Default)]
struct Reaction {
    /// Folder that this process has claimed.
    claimed: Option<PathBuf>,
    stop: Option<Stop>,
}

impl Interruptions {
    /// Starts a thread that waits for signals.
    pub(crate) fn listen() -> Result<Self, RunError> {
        let failed = |error: io::Error| RunError::Failed(format!("signals: {error}"));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        // From here on no signal ends the process by itself.
        let guard = runtime.enter();
        let mut signals = Signals::listen(Signal::ALL).map_err(failed)?;
        drop(guard);
        let interruptions = Self::default();
        let Self { reaction, cut } = interruptions.clone();
        let watch = move || {
            let mut first = None;
            loop {
                let signal = runtime.block_on(signals.next());
                if signal == Signal::FileTooLarge {
                    cut.store(true, Ordering::SeqCst);
                    continue;
                }
                let since = first.get_or_insert_with(Instant::now).elapsed();
                // The lock is held while a folder is prepared. An unresponsive file system must not
                // delay a signal.
                match reaction.try_lock_for(TIDYING) {
                    Some(reaction) => reaction.react(signal.name(), since > ONE_REQUEST),
                    None => Reaction::default().react(signal.name(), true),
                }
            }
        };
        thread::Builder::new().name("signals".into()).spawn(watch).map_err(failed)?;
        Ok(interruptions)
    }

    /// Prepares the folder of a run, like [`output::prepare`]. A signal that ends the process gives
    /// up the claim.
    pub(crate) fn prepare(&self, folder: &Path) -> Result<ClaimedFolder, RunError> {
        // A signal waits until the claim is recorded.
        let mut reaction = self.reaction.lock();
        let claim = output::prepare(folder)?;
        reaction.claimed = Some(folder.into());
        Ok(ClaimedFolder { reaction: self.reaction.clone(), _claim: claim })
    }

    /// Calls `stop` for the first signal from now on.
    pub(crate) fn end_run(&self, stop: impl Fn(&str) + Send + 'static) {
        self.reaction.lock().stop = Some(Box::new(stop));
    }
}

/// Prepared folder. Dropping it gives up the claim, after which another process may claim the
/// folder.
pub(crate) struct ClaimedFolder {
    reaction: Arc<Mutex<Reaction>>,
    _claim: FolderLock,
}

impl Drop for ClaimedFolder {
    fn drop(&mut self) {
        self.reaction.lock().claimed = None;
    }
}

impl Reaction {
    fn react(&self, signal: &str, is_later: bool) {
        if let (Some(stop), false) = (&self.stop, is_later) {
            warn!(
                signal,
                "ending the run, which takes up to 3 s; a second signal ends it at once, without a result"
            );
            return stop(signal);
        }
        progress::restore();
        error!("interrupted by {signal}");
        if let Some(folder) = self.claimed.clone() {
            let (done, tidied) = mpsc::channel::<()>();
            let tidy = move || {
                folder_lock::tidy(&folder);
                drop(done);
            };
            // An unresponsive file system must not delay the end of the process either.
            if thread::Builder::new().name("tidying".into()).spawn(tidy).is_ok() {
                let _ = tidied.recv_timeout(TIDYING);
            }
        }
        loadgen_sys::exit_now(EXIT_FAILED);
    }
}
