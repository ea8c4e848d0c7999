//! Triton as a process, with the models of `tests/engines/triton`.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
};

use crate::{
    ports::free_address,
    process::{built_file, wait_until},
};

/// Log line of a Triton that accepts calls; its models are loaded by then.
const READY: &str = "Started GRPCInferenceService";

/// A running Triton. Dropping the value stops it.
#[derive(Debug)]
pub struct Triton {
    child: Child,
    /// URL of Triton's gRPC service.
    pub address: String,
    log: Arc<Mutex<String>>,
}

impl Triton {
    /// Starts Triton on a free port of the loopback interface, and waits until it is ready.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Like [`start`](Self::start), with more options.
    pub fn start_with(args: &[&str]) -> Self {
        let address = free_address();
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
        let started = Self::start_at(port.expect("a port"), args);
        started.expect("Triton starts; run it by hand, as tests/engines/README.md says")
    }

    /// Starts Triton on a port. Returns its log if it exits before it is ready.
    pub fn start_at(port: u16, args: &[&str]) -> Result<Self, String> {
        let mut child = Command::new(built_file("triton/pytriton/tritonserver/bin/tritonserver"))
            .arg("--model-repository")
            .arg(folder().join("models"))
            .arg("--backend-directory")
            .arg(built_file("triton/backends"))
            .arg("--cache-directory")
            .arg(built_file("triton/pytriton/tritonserver/caches"))
            .args(["--cache-config", "local,size=1048576", "--exit-timeout-secs", "1"])
            .args(["--allow-http=false", "--allow-metrics=false"])
            .args(["--grpc-address", "127.0.0.1", "--grpc-port", &port.to_string()])
            .args(args)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("Triton starts");
        let (stderr, log) = (child.stderr.take(), Arc::<Mutex<String>>::default());
        let (ready, is_ready) = mpsc::channel();
        let lines = log.clone();
        thread::spawn(move || stderr.map(|stderr| keep(BufReader::new(stderr), &lines, &ready)));
        let triton = Self { child, address: format!("http://127.0.0.1:{port}"), log };
        // The sender is dropped when the process has exited.
        match is_ready.recv() {
            Ok(()) => Ok(triton),
            Err(_) => Err(triton.log()),
        }
    }

    /// Returns the lines that Triton has logged since its start.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the log contains this text.
    pub fn wait_for_log(&self, words: &str) {
        wait_until("Triton logs it", || self.log().contains(words));
    }

    /// Returns the port of Triton's gRPC service.
    pub fn port(&self) -> u16 {
        let port = self.address.rsplit(':').next().and_then(|port| port.parse().ok());
        port.expect("an address ends with a port")
    }
}

impl Drop for Triton {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the folder with the models and with a node's manifest for each.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engines/triton")
}

fn keep(stderr: impl BufRead, log: &Mutex<String>, ready: &Sender<()>) {
    for line in stderr.lines().map_while(Result::ok) {
        if line.contains(READY) {
            let _ = ready.send(());
        }
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_str(&line);
        log.push('\n');
    }
}
