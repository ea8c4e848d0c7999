//! Minimum of memory and files that a program needs to start. Below it, the allocator or tokio
//! would end the process with a message that does not name the cause.

use std::{
    env, os::unix::process::CommandExt as _, process::Command, thread::available_parallelism,
};

use crate::resources::{
    descriptors,
    memory::{self, TooLittleMemory},
    remedy,
};

/// Number of files that tokio's runtime and the signal handlers open, before the program can check
/// a limit itself.
const FILES: usize = 12;

/// Memory for settings and a runtime, in bytes, in addition to the reserve of [`memory`].
const MEMORY_BYTES: u64 = 32 << 20;

/// Memory for each core, in bytes: the stacks of two threads.
const CORE_BYTES: u64 = 4 << 20;

/// Environment variable that limits the number of heaps of glibc's allocator.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Checks that this process has the minimum. The error names the limit to raise.
pub(crate) fn check() -> Result<(), String> {
    let cores = available_parallelism().map_or(1, |cores| cores.get() as u64);
    let needed = MEMORY_BYTES.saturating_add(CORE_BYTES.saturating_mul(cores));
    memory::check_limits(needed).map_err(|TooLittleMemory { needed, available }| {
        format!(
            "{needed} bytes of memory are needed to start, but this process can use {}; raise {}",
            available.bytes, available.limit
        )
    })?;
    descriptors::check(FILES).map_err(|error| {
        format!("cannot open the {FILES} files needed to start: {error}{}", remedy(&error))
    })
}

/// Restarts this program with one heap for all threads, if its address space is limited.
///
/// glibc's allocator reserves 64 MiB of address space for each thread's heap while it can. Too
/// little would remain for stacks and later allocations.
pub(crate) fn share_a_heap() {
    if !memory::is_address_space_limited() || env::var_os(ARENAS).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) {
        // `exec` returns only if it fails. Then the program continues without the variable.
        let _ = Command::new(program).arg0(name).args(arguments).env(ARENAS, "1").exec();
    }
}
