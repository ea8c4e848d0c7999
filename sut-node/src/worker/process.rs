//! The process of a worker: its start, its output, and its end.

use std::{
    collections::VecDeque,
    io::{self, BufRead as _, BufReader, Read},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use netdiv_node_common::sanitise::sanitise;
use parking_lot::Mutex;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send,
        shutdown, socketpair,
    },
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid},
};
use tracing::info;

use super::{message::MAX_BYTES, sources::BOOT};
use crate::ground::engine_activity::Loss;

/// Number of the last lines of a worker's output that the report of its end has.
const LAST_LINES: usize = 8;

/// Maximum length of a line of a worker's output; a longer one is cut into several.
const MAX_LINE_BYTES: u64 = 8 << 10;

/// Maximum time for a worker to end by itself once its socket is closed.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// Variable that marks the processes of a worker: those that it has started inherit it.
const MARK: &str = "SUT_NODE_WORKER";

/// Number of the next mark of this process.
static NEXT_MARK: AtomicU64 = AtomicU64::new(0);

/// A worker's process, and the socket to it. Ends the process when it is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) socket: Arc<OwnedFd>,
    pub(crate) state: Arc<WorkerState>,
    pid: Pid,
    pub(super) name: String,
    /// True once the engine is loaded. Until then the worker does not notice that its socket is
    /// closed.
    pub(super) is_loaded: bool,
}

/// State of a worker's process, which outlives the handle of it.
#[derive(Debug, Default)]
pub(crate) struct WorkerState {
    /// Description of its end, once it has ended.
    end: OnceLock<String>,
    loss: Loss,
    /// True once the node ends the worker.
    is_ending: AtomicBool,
    /// Last lines of its output.
    lines: Mutex<VecDeque<String>>,
}

impl WorkerState {
    /// Returns the reason why the worker's socket is closed. Waits for its exit status.
    pub(crate) fn end_reason(&self) -> String {
        self.wait(ENDING_TIME);
        self.end.get().cloned().unwrap_or_else(|| "it closed its socket".into())
    }

    /// Waits until the process has ended, at most for `time`. Returns true if it has.
    fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.end.get().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.end.get().is_some()
    }
}

impl Worker {
    /// Starts a worker with an interpreter. `threads` is the number of processor threads for
    /// numerical libraries; `name` names the worker in the log.
    pub(super) fn start(python: &Path, threads: usize, name: &str) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot start {}: {error}", python.display());
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| failed(error.into()))?;
        let mut command = Command::new(python);
        command.args(["-c", BOOT]).env("PYTHONUNBUFFERED", "1").process_group(0);
        let number = NEXT_MARK.fetch_add(1, Ordering::Relaxed);
        command.env(MARK, format!("{}-{number}", std::process::id()));
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::piped());
        for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
            command.env(variable, threads.to_string());
        }
        let state = Arc::new(WorkerState::default());
        let (started, is_started) = sync_channel(1);
        let (of_thread, named) = (state.clone(), name.to_owned());
        // The kernel ends the worker with the thread that has started it.
        thread::Builder::new()
            .name("python-exit".into())
            .spawn(move || attend(command, &of_thread, &named, &started))
            .map_err(failed)?;
        let pid = is_started.recv().map_err(|_| failed(io::ErrorKind::Other.into()))?;
        let pid = pid.map_err(|error| {
            let hint = "; name an interpreter with --python";
            format!("{}{hint}", failed(error))
        })?;
        let name = name.to_owned();
        Ok(Self { socket: Arc::new(socket), state, pid, name, is_loaded: false })
    }

    /// Returns the reason of the worker's loss, which is set if the worker ends by itself.
    pub(crate) fn loss(&self) -> Loss {
        self.state.loss.clone()
    }

    /// Sends a message, and waits while the worker does not read.
    pub(crate) fn send(&self, message: &[u8]) -> Result<(), String> {
        loop {
            match send(&*self.socket, message, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(self.state.end_reason()),
                Err(error) => return Err(io::Error::from(error).to_string()),
            }
        }
    }
}

/// Receives a message into `buffer`. Returns its length, 0 if the worker has closed its socket.
/// Fails if the message is longer than the buffer.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
    let mut was_reset = false;
    loop {
        match recv(socket, &mut *buffer, flags | RecvFlags::TRUNC) {
            Ok((_, count)) if count > buffer.len() => {
                return Err(io::Error::other(format!(
                    "its worker sent a message of {count} bytes"
                )));
            }
            Ok((_, count)) => return Ok(count),
            Err(Errno::INTR) => {}
            // The worker has ended without reading; its last message is still there.
            Err(Errno::CONNRESET) if !was_reset => was_reset = true,
            Err(Errno::CONNRESET) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn message_buffer() -> Vec<u8> {
    vec![0; MAX_BYTES]
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.state.is_ending.store(true, Ordering::Relaxed);
        // The worker ends when its socket is closed.
        let _ = shutdown(&*self.socket, Shutdown::Both);
        if !self.is_loaded || !self.state.wait(ENDING_TIME) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            self.state.wait(ENDING_TIME);
        }
    }
}

/// Starts the process, and waits for its end.
fn attend(
    mut command: Command,
    state: &Arc<WorkerState>,
    name: &str,
    started: &SyncSender<io::Result<Pid>>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return drop(started.send(Err(error))),
    };
    // The node's copies of the worker's end of the socket would hide the worker's end.
    drop(command);
    if let Some(output) = child.stderr.take() {
        let (state, name) = (state.clone(), name.to_owned());
        let log = move || log_lines(output, &state, &name);
        // Without this thread the output is lost, and the worker may wait for it.
        drop(thread::Builder::new().name("python-log".into()).spawn(log));
    }
    let pid = Pid::from_child(&child);
    let _ = started.send(Ok(pid));
    let end = match exit_status(&mut child, pid) {
        Ok(status) => describe(status),
        Err(error) => format!("its end cannot be observed: {error}"),
    };
    // The last lines arrive with the end.
    thread::sleep(Duration::from_millis(5));
    let lines: Vec<_> = state.lines.lock().iter().cloned().collect();
    let wrote = if lines.is_empty() {
        String::new()
    } else {
        format!("; its last output: {}", lines.join(" | "))
    };
    let end = format!("its process ended, {end}{wrote}");
    if !state.is_ending.load(Ordering::Relaxed) {
        let _ = state.loss.set(end.clone());
    }
    let _ = state.end.set(end);
}

/// Waits for the end of a process, and ends the processes that it has started.
fn exit_status(child: &mut Child, pid: Pid) -> io::Result<ExitStatus> {
    // Until the status is taken, no other process can have the number of the group.
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
    let _ = kill_process_group(pid, Signal::KILL);
    child.wait()
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}{}", name_of(signal)),
        (None, None) => status.to_string(),
    }
}

fn name_of(signal: i32) -> &'static str {
    match signal {
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        9 => " (SIGKILL: by hand, or the system's memory was full)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// Writes the lines of a worker's output to the log, and keeps the last ones.
fn log_lines(output: impl Read, state: &WorkerState, name: &str) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = sanitise(String::from_utf8_lossy(&line).trim_end());
        if text.is_empty() {
            continue;
        }
        info!(engine = name, "{text}");
        let mut lines = state.lines.lock();
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}
