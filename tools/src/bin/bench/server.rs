//! This program in another process, as the peer of a contender (see `transports.rs`); LoadGen
//! without a network, in a separate process.

use std::{
    env,
    error::Error,
    io::{self, BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use e2e::process::program;
use serde_json::Value;

/// A running server. Dropping the value stops it.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    /// Starts this program with these arguments.
    pub fn start(args: &[&str]) -> Result<Self, Box<dyn Error>> {
        let own = env::current_exe()?;
        let mut child = Command::new(own).args(args).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().into() })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a listener and prints its address for the parent process.
pub fn announced() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

/// Runs `loadgen-alone` with a scenario, `rate` samples per second and `ms` milliseconds, and
/// returns the JSON that it prints. `further` contains its further arguments, from TTFT_US or BYTES
/// on. If it is empty, the system under test responds at once.
pub fn loadgen_alone(
    scenario: &str,
    rate: u64,
    ms: u64,
    further: &[u64],
) -> Result<Value, Box<dyn Error>> {
    let mut alone = Command::new(program("loadgen-alone"));
    printed_json(alone.arg(scenario).args([rate, ms].iter().chain(further).map(u64::to_string)))
}

/// Runs a command, and returns the JSON that it prints.
pub fn printed_json(command: &mut Command) -> Result<Value, Box<dyn Error>> {
    let output = command.output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {}: {why}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
