//! This program in another process, as the peer of a contender (see `transports.rs`).

use std::{
    env,
    error::Error,
    io::{self, BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
};

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
