//! Start of workers: the exchange until a worker has declared its engine and loaded it.

use std::{
    collections::BTreeMap,
    fmt,
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::AsFd as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::{
    declaration::Declaration,
    memory::SharedMemory,
    message::{FromWorker, Message, ToWorker, VERSION, encode},
    process::{Worker, message_buffer, receive},
    sources,
};

/// Maximum time for a worker to import the engine's file and to declare it.
const DECLARING_TIME: Duration = Duration::from_secs(120);

/// Interval at which the node logs that it waits for a worker.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct WorkerSettings<'a> {
    pub(crate) python: &'a Path,
    pub(crate) file: &'a Path,
    pub(crate) threads: usize,
    pub(crate) instance: usize,
    pub(crate) instances: usize,
    /// Maximum batch with which the engine is tried.
    pub(crate) max_batch: usize,
    /// Maximum time to load the engine.
    pub(crate) start_timeout: Duration,
    /// Maximum time of a step of the trial: a batch, or the ids of a prompt's output that come next.
    pub(crate) trial_timeout: Duration,
}

/// First message to a worker.
#[derive(Serialize)]
struct Start {
    version: u32,
    file: PathBuf,
    threads: usize,
    instance: usize,
    instances: usize,
    max_batch: usize,
    parent: u32,
    declare: bool,
    modules: BTreeMap<&'static str, &'static str>,
}

#[derive(Deserialize)]
struct Fault {
    why: String,
}

/// Facts that a worker reports once it has loaded its engine.
#[derive(Debug, Deserialize)]
pub(crate) struct Loaded {
    /// Name and version of the interpreter.
    python: String,
    /// Versions of the imported packages, by name.
    packages: BTreeMap<String, String>,
    /// SHA-256 of the engine's file and its weights; only of the first instance.
    pub(crate) sha256: String,
    /// Batches or a prompt that the worker has tried, with their times.
    pub(crate) tried: Vec<String>,
}

impl fmt::Display for Loaded {
    /// Lists interpreter and packages with their versions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.python)?;
        self.packages.iter().try_for_each(|(name, version)| write!(f, ", {name} {version}"))
    }
}

/// A worker that declares its engine, loads it, and tries it.
pub(crate) struct LoadingWorker<'a> {
    worker: Worker,
    settings: WorkerSettings<'a>,
}

/// Asks the file of an engine for its declaration, without loading the engine.
///
/// # Errors
///
/// Fails with the file, the line and the fix, or with the reason why the interpreter does not run.
pub(crate) fn declare(python: &Path, file: &Path) -> Result<Declaration, String> {
    let settings = WorkerSettings {
        python,
        file,
        threads: 1,
        instance: 0,
        instances: 1,
        max_batch: 1,
        start_timeout: Duration::ZERO,
        trial_timeout: Duration::ZERO,
    };
    LoadingWorker::start(settings, true)?.declaration()
}

impl<'a> LoadingWorker<'a> {
    /// Starts a worker, and does not wait for it. With `declare` the worker does not load its engine.
    pub(crate) fn start(settings: WorkerSettings<'a>, declare: bool) -> Result<Self, String> {
        let WorkerSettings { python, file, threads, instance, instances, max_batch, .. } =
            settings.clone();
        let worker = Worker::start(python, threads, &format!("python-{instance}"))?;
        let start = Start {
            version: VERSION,
            file: std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()),
            threads,
            instance,
            instances,
            max_batch,
            parent: std::process::id(),
            declare,
            modules: sources::modules(),
        };
        let json = serde_json::to_vec(&start).map_err(|error| error.to_string())?;
        // A worker that reports a fault and ends does not read this.
        let _ = worker.send(&encode(ToWorker::Start, 0, 0, &json));
        Ok(Self { worker, settings })
    }

    /// Waits until the worker has declared its engine.
    pub(crate) fn declaration(&self) -> Result<Declaration, String> {
        let file = self.settings.file;
        let limit = format!("its import took longer than {} s", DECLARING_TIME.as_secs());
        let (_, json) = self.wait_for(&[FromWorker::Declared], DECLARING_TIME, &limit)?;
        Declaration::read(&json).map_err(|why| format!("{}: {why}", file.display()))
    }

    /// Shares `memory` with the worker, which tries the engine in it.
    pub(crate) fn share(&self, memory: &SharedMemory) {
        let message = encode(ToWorker::Memory, 0, 0, b"{}");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let (message, files) = ([IoSlice::new(&message)], [memory.file().as_fd()]);
        control.push(SendAncillaryMessage::ScmRights(&files));
        // A worker that reports a fault and ends does not read this.
        let _ = sendmsg(&*self.worker.socket, &message, &mut control, SendFlags::NOSIGNAL);
    }

    /// Waits until the engine is loaded, at most until `start_timeout` after `begun`, and then until it
    /// was tried.
    pub(crate) fn finish(self, begun: Instant) -> Result<(Worker, Loaded), String> {
        let WorkerSettings { file, start_timeout, trial_timeout, .. } = self.settings;
        let mut limit = format!(
            "it was not loaded within --engine-start-timeout, {} s",
            start_timeout.as_secs_f64()
        );
        let mut left = start_timeout.saturating_sub(begun.elapsed());
        let json = loop {
            match self.wait_for(&[FromWorker::Trying, FromWorker::Ready], left, &limit)? {
                (FromWorker::Ready, json) => break json,
                _ => left = trial_timeout,
            }
            limit = format!(
                "its trial made no progress within --engine-timeout, {} s; warm up in `load`, or raise it",
                left.as_secs_f64()
            );
        };
        let mut worker = self.worker;
        let loaded: Loaded = serde_json::from_slice(&json)
            .map_err(|error| format!("{}: its worker's report: {error}", file.display()))?;
        loaded.tried.iter().for_each(|tried| info!(engine = worker.name, "{tried}"));
        worker.is_loaded = true;
        Ok((worker, loaded))
    }

    /// Waits for a message of one of these kinds, at most for `time`. Returns its kind and body.
    /// `limit` is the error after that time.
    fn wait_for(
        &self,
        kinds: &[FromWorker],
        time: Duration,
        limit: &str,
    ) -> Result<(FromWorker, Vec<u8>), String> {
        let Self { worker, settings } = self;
        let failed = |why: &str| format!("{}: {why}", settings.file.display());
        let begun = Instant::now();
        let mut reported = begun;
        let mut buffer = message_buffer();
        while !is_readable(worker, time.saturating_sub(begun.elapsed()).min(REPORT_INTERVAL))
            .map_err(|why| failed(&why))?
        {
            if begun.elapsed() >= time {
                return Err(failed(limit));
            }
            if reported.elapsed() >= REPORT_INTERVAL {
                reported = Instant::now();
                let (waited, most) = (begun.elapsed().as_secs(), time.as_secs());
                info!(engine = worker.name, "still loading: {waited} s of at most {most} s");
            }
        }
        let length = receive(&worker.socket, &mut buffer, RecvFlags::empty());
        let length = length.map_err(|error| failed(&error.to_string()))?;
        if length == 0 {
            return Err(failed(&worker.state.end_reason()));
        }
        match Message::decode(&buffer[..length]) {
            Some(Message { kind, body, .. }) if kinds.contains(&kind) => Ok((kind, body.to_vec())),
            // Its text names the place in the file.
            Some(Message { kind: FromWorker::Fault, body, .. }) => {
                let fault: Result<Fault, _> = serde_json::from_slice(body);
                Err(fault.map_or_else(|error| error.to_string(), |fault| fault.why))
            }
            _ => Err(failed("its worker sent an unexpected message")),
        }
    }
}

/// Waits until the socket is readable, at most for `time`.
fn is_readable(worker: &Worker, time: Duration) -> Result<bool, String> {
    let mut sockets = [PollFd::new(&*worker.socket, PollFlags::IN)];
    let time = Timespec::try_from(time).unwrap_or_default();
    match poll(&mut sockets, Some(&time)) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}
