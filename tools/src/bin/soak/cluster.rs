//! SUT nodes of a soak: real processes that live as long as the soak, unless a fault ends them.

use std::{
    error::Error,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use e2e::{
    process::{program, send_signal},
    sut_node::wait_until_ready,
};
use wait_timeout::ChildExt as _;

pub const NAMES: [&str; 3] = ["a", "b", "c"];

/// Index of the node that faults may end. The other nodes live, and their memory is watched, for
/// the whole soak.
pub const MORTAL: usize = 2;

/// Maximum time for a node to exit.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `sut-node` whose log is a file, because no reader drains a pipe for hours.
#[derive(Debug)]
pub struct Node {
    name: &'static str,
    child: Child,
    /// Address of the listener, as `IP:PORT`.
    pub address: String,
    log: PathBuf,
}

impl Node {
    /// Starts a node and waits until it is ready. A restarted node gets the address that it had.
    pub fn start(
        name: &'static str,
        listen: &str,
        args: &[&str],
        folder: &Path,
    ) -> Result<Self, Box<dyn Error>> {
        let before = fs::read_dir(folder)?.count();
        let log = folder.join(format!("node-{name}-{before}.log"));
        let ready = log.with_extension("json");
        let child = Command::new(program("sut-node"))
            .args(["--name", name, "--listen", listen])
            .args(args)
            .arg("--ready-file")
            .arg(&ready)
            .env_remove("RUST_LOG")
            // glibc would keep up to 64 MiB of freed memory, which hides growth in noise.
            .env("MALLOC_TRIM_THRESHOLD_", "131072")
            .stderr(File::create(&log)?)
            .stdout(Stdio::null())
            .spawn()?;
        let mut node = Self { name, child, address: String::new(), log };
        match wait_until_ready(&ready, &mut node.child) {
            Some(address) => node.address = address,
            None => return Err(format!("node {name} did not start: {}", node.log()).into()),
        }
        Ok(node)
    }

    /// Restarts a node that has ended, at the same address.
    pub fn start_again(&mut self, args: &[&str], folder: &Path) -> Result<(), Box<dyn Error>> {
        if self.child.wait_timeout(PATIENCE)?.is_none() {
            return Err(format!("node {} did not exit after a signal", self.name).into());
        }
        *self = Self::start(self.name, &self.address, args, folder)?;
        Ok(())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the node.
    pub fn signal(&self, signal: &str) {
        send_signal(self.id(), signal);
    }

    /// Returns true until the node exits.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the content of the node's log file.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
