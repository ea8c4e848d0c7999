//! Keeping a process to one core.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Which of two processes is started.
#[derive(Clone, Copy)]
pub enum Share {
    /// The one that is measured: a core of its own.
    Own,
    /// What it talks to: all other cores, where there are any.
    Others,
}

/// Starts something that keeps to its share of the cores that this program may use.
pub fn started_on<T>(share: Share, start: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    let allowed = |core: &usize| all.is_set(*core);
    let mut cores = (0..CpuSet::MAX_CPU).filter(allowed);
    let own = cores.next().unwrap_or_default();
    let mut chosen = CpuSet::new();
    match share {
        Share::Own => chosen.set(own),
        Share::Others => {
            cores.chain((all.count() == 1).then_some(own)).for_each(|core| chosen.set(core))
        }
    }
    sched_setaffinity(None, &chosen)?;
    // What a thread starts has its cores.
    let started = start();
    sched_setaffinity(None, &all)?;
    Ok(started)
}
