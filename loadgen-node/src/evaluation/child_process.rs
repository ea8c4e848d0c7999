//! Child process that ends when a signal ends this process. The processes that the child has
//! started end with it.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use netdiv_node_common::process::{Signal, Signals};
use rustix::{
    io::retry_on_intr,
    process::{Pid, WaitId, WaitIdOptions, kill_process_group, waitid},
};

pub(super) struct ChildOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) complaints: StderrLines,
}

/// Runs the command to its end. Returns its exit status, its standard output, and two lines of its
/// standard error: the last one, and the first one with one of the `marks`. A signal that ends this
/// process also ends the command, and is returned as an error.
pub(super) fn run(
    command: &mut Command,
    marks: &'static [&'static str],
) -> io::Result<ChildOutput> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let guard = runtime.enter();
    let mut signals = Signals::listen(&ENDING)?;
    drop(guard);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Scripts start processes that hold the pipes and would continue after the script. A process
    // group lets them be ended with it.
    let mut child = command.process_group(0).spawn()?;
    let (asked, ended, pid) = (Flag::default(), Flag::default(), pid(&child));
    let (was_asked, has_ended) = (asked.clone(), ended.clone());
    // The thread is never joined: it waits for a signal until this process ends, which is soon.
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(signals.next());
        was_asked.store(true, Ordering::Release);
        if let Some(pid) = pid.filter(|_| !has_ended.load(Ordering::Acquire)) {
            // The command may just have ended by itself.
            let _ = kill_process_group(pid, rustix::process::Signal::KILL);
        }
    })?;
    let (printed, said) = (child.stdout.take(), child.stderr.take());
    let complaints =
        thread::Builder::new().name("complaints".into()).spawn(move || match said {
            Some(said) => copy_stderr(said, io::stderr(), marks),
            None => Ok(StderrLines::default()),
        })?;
    let stdout = thread::Builder::new().name("printed".into()).spawn(move || {
        let mut stdout = Vec::new();
        if let Some(mut printed) = printed {
            printed.read_to_end(&mut stdout)?;
        }
        Ok::<_, io::Error>(stdout)
    })?;
    if let Some(pid) = pid {
        // Until the child is reaped, its process id belongs only to its group.
        let has_exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        retry_on_intr(|| waitid(WaitId::Pid(pid), has_exited))?;
        // Processes that the child has left behind may hold the pipes. Most children leave no process.
        let _ = kill_process_group(pid, rustix::process::Signal::KILL);
    }
    let panicked = |_| io::Error::other("its reader panicked");
    let stdout = stdout.join().map_err(panicked)??;
    let complaints = complaints.join().map_err(panicked)??;
    ended.store(true, Ordering::Release);
    let status = child.wait()?;
    match asked.load(Ordering::Acquire) {
        true => Err(io::Error::other("it was ended by a signal")),
        false => Ok(ChildOutput { status, stdout, complaints }),
    }
}

type Flag = Arc<AtomicBool>;

const ENDING: [Signal; 4] = [Signal::Interrupt, Signal::Quit, Signal::Terminate, Signal::HangUp];

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// Lines of a script's standard error that are kept.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StderrLines {
    /// Last line that is not empty: the error that ends a Python program.
    pub(super) last: String,
    /// First line that contains one of the marks, which are texts that the caller looks for. The
    /// line begins with the mark.
    pub(super) marked: Option<String>,
}

/// Maximum number of bytes of a line that are examined.
const LINE: usize = 4096;

/// Copies all bytes from `from` to `to` as they arrive. Returns the last line, and the first line
/// with one of the `marks`.
fn copy_stderr(from: impl Read, mut to: impl Write, marks: &[&str]) -> io::Result<StderrLines> {
    let mut from = BufReader::new(from);
    let (mut kept, mut line) = (StderrLines::default(), Vec::new());
    loop {
        let piece = from.fill_buf()?;
        if piece.is_empty() {
            kept.add(&mut line, marks);
            return Ok(kept);
        }
        // The reader of `to` may be gone.
        let _ = to.write_all(piece);
        for byte in piece {
            match byte {
                // Progress bars end their lines with \r.
                b'\n' | b'\r' => kept.add(&mut line, marks),
                _ if line.len() < LINE => line.push(*byte),
                _ => {}
            }
        }
        let read = piece.len();
        from.consume(read);
    }
}

impl StderrLines {
    /// Adds a complete line and empties the buffer.
    fn add(&mut self, line: &mut Vec<u8>, marks: &[&str]) {
        let text = String::from_utf8_lossy(line).trim().to_owned();
        line.clear();
        if self.marked.is_none() {
            let marked = marks.iter().find_map(|mark| text.find(mark));
            self.marked = marked.map(|at| text[at..].to_owned());
        }
        if !text.is_empty() {
            self.last = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_goes_on_and_what_matters_is_kept() {
        let long = "x".repeat(3 * LINE);
        let text = format!("1/2\r2/2 [E] row 1\n[E] row 2\n{long} [E]\nlast\n\n");
        let mut went_on = Vec::new();
        let kept = copy_stderr(text.as_bytes(), &mut went_on, &["[E]", "other"]).unwrap();
        assert_eq!(went_on, text.as_bytes());
        let marked = Some("[E] row 1".into());
        assert_eq!(kept, StderrLines { last: "last".into(), marked });
        let kept = copy_stderr(&b"no end"[..], io::sink(), &[]).unwrap();
        assert_eq!(kept, StderrLines { last: "no end".into(), marked: None });
    }
}
