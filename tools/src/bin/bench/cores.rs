//! CPU affinity of the measured process and its peer.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Role of a process, which decides its cores.
#[derive(Clone, Copy)]
pub enum CoreShare {
    /// The measured process, on one core.
    Own,
    /// Peer of the measured process, on all other cores, or on the same core if there is no other.
    Others,
}

/// Calls `start` with the affinity of this role. Threads and processes that it starts keep the
/// affinity.
pub fn started_on<T>(share: CoreShare, start: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    let allowed = |core: &usize| all.is_set(*core);
    let mut cores = (0..CpuSet::MAX_CPU).filter(allowed);
    let own = cores.next().unwrap_or_default();
    let mut chosen = CpuSet::new();
    match share {
        CoreShare::Own => chosen.set(own),
        CoreShare::Others => {
            cores.chain((all.count() == 1).then_some(own)).for_each(|core| chosen.set(core))
        }
    }
    sched_setaffinity(None, &chosen)?;
    // Threads and processes inherit the affinity.
    let started = start();
    sched_setaffinity(None, &all)?;
    Ok(started)
}
