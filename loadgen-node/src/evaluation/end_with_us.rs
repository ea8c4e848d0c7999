//! A child that does not outlive this process where a signal ends it.

use std::{
    io,
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use netdiv_process::{Signal, Signals};
use rustix::process::{Pid, kill_process};

/// Runs the command to its end and keeps what it prints. A signal that asks this process for an end ends the command, and is the error.
pub(super) fn output(command: &mut Command) -> io::Result<Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut signals = Signals::listen(&ENDING)?;
    drop(guard);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (asked, pid) = (Arc::new(AtomicBool::new(false)), pid(&child));
    let was_asked = asked.clone();
    // It waits for as long as this process lives, which is not long.
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(signals.next());
        was_asked.store(true, Ordering::Release);
        if let Some(pid) = pid {
            // It may have ended by itself.
            let _ = kill_process(pid, rustix::process::Signal::KILL);
        }
    })?;
    let output = child.wait_with_output()?;
    match asked.load(Ordering::Acquire) {
        true => Err(io::Error::other("it was ended by a signal")),
        false => Ok(output),
    }
}

const ENDING: [Signal; 4] = [Signal::Interrupt, Signal::Quit, Signal::Terminate, Signal::HangUp];

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}
