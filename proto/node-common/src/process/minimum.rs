//! The minimum that a program needs to start at all. Below it, the allocator or tokio would end the process, with a message that
//! says nothing of the cause.

use std::{
    env, os::unix::process::CommandExt as _, process::Command, thread::available_parallelism,
};

use crate::resources::{
    descriptors,
    memory::{self, TooLittleMemory},
    remedy,
};

/// Files that are open before anything can be refused: those of a runtime and of its signals.
const FILES: usize = 12;

/// Memory for settings and a runtime, in bytes, beside what [`memory`] leaves for everything else.
const MEMORY_BYTES: u64 = 32 << 20;

/// Memory for each core, in bytes: the stacks of two threads.
const CORE_BYTES: u64 = 4 << 20;

/// The variable that limits the number of heaps of glibc's allocator.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Checks that this process has the minimum. The error names what to raise.
pub(crate) fn check() -> Result<(), String> {
    let cores = available_parallelism().map_or(1, |cores| cores.get() as u64);
    let needed = MEMORY_BYTES.saturating_add(CORE_BYTES.saturating_mul(cores));
    memory::check_limits(needed).map_err(|TooLittleMemory { needed, available }| {
        format!(
            "{needed} bytes of memory are needed to start, and this process can have {}; raise {}",
            available.bytes, available.limit
        )
    })?;
    descriptors::check(FILES)
        .map_err(|error| format!("cannot open {FILES} files to start: {error}{}", remedy(&error)))
}

/// Starts this program anew with one heap for all threads, where its address space is limited.
///
/// glibc's allocator reserves 64 MiB of address space for each thread's heap while it can, and leaves too little for stacks and
/// for anything that comes later.
pub(crate) fn share_a_heap() {
    if !memory::is_address_space_limited() || env::var_os(ARENAS).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) {
        // `exec` returns only if it fails; the program then goes on as it is.
        let _ = Command::new(program).arg0(name).args(arguments).env(ARENAS, "1").exec();
    }
}
