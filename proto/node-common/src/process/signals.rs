//! Signals that ask a process to end, or report that its files cannot grow.

use std::{future::poll_fn, io, task::Poll};

use strum::VariantArray as _;
use tokio::signal::unix::{self, SignalKind};

/// Signal that the programs handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[repr(i32)]
pub enum Signal {
    /// Ctrl-C.
    #[strum(serialize = "SIGINT")]
    Interrupt = libc::SIGINT,
    /// Ctrl-\.
    #[strum(serialize = "SIGQUIT")]
    Quit = libc::SIGQUIT,
    /// Request of `kill`, a service manager or a batch system.
    #[strum(serialize = "SIGTERM")]
    Terminate = libc::SIGTERM,
    /// Closed terminal, or closed connection to it.
    #[strum(serialize = "SIGHUP")]
    HangUp = libc::SIGHUP,
    /// File that has reached its size limit (`ulimit -f`).
    #[strum(serialize = "SIGXFSZ")]
    FileTooLarge = libc::SIGXFSZ,
}

impl Signal {
    /// All signals.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the name, such as `SIGINT`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Receiver of signals. It loses none between two calls of [`Self::next`].
#[derive(Debug)]
pub struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Starts to receive the `wanted` signals. A process that ignores SIGHUP (`nohup`) continues to
    /// ignore it.
    pub fn listen(wanted: &[Signal]) -> io::Result<Self> {
        let status = crate::resources::kernel::read("/proc/self/status");
        let kept = |signal: &&Signal| **signal != Signal::HangUp || !ignores(&status, **signal);
        let listen =
            |signal: &Signal| Ok((*signal, unix::signal(SignalKind::from_raw(*signal as i32))?));
        Ok(Self(wanted.iter().filter(kept).map(listen).collect::<io::Result<_>>()?))
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            for (signal, stream) in &mut self.0 {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Waits until a signal asks the process to end. Returns the name of the signal.
pub async fn wait_for_stop_signal() -> io::Result<&'static str> {
    Ok(Signals::listen(&[Signal::Interrupt, Signal::Terminate])?.next().await.name())
}

/// Calls `reload` on each SIGHUP, which asks the process to reload its files.
pub async fn on_hangup(mut reload: impl FnMut()) -> io::Result<()> {
    let mut hangup = unix::signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        reload();
    }
    Ok(())
}

/// Returns true if a process with the text `status` of `/proc/PID/status` ignores a signal.
fn ignores(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal as i32 - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn each_signal_is_told_by_its_name() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Under `nohup` the tests do not receive the end of a terminal either.
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let heard = |signal: &Signal| *signal != Signal::HangUp || !ignores(&status, *signal);
            let mut signals = Signals::listen(Signal::ALL).unwrap();
            for signal in Signal::ALL.iter().copied().filter(heard) {
                let kill = format!("kill -{} {}", &signal.name()[3..], std::process::id());
                assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
                assert_eq!(signals.next().await, signal);
            }
        });
    }

    #[test]
    fn what_a_process_ignores_is_in_its_status() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(ignores(status, Signal::HangUp));
        assert!(!ignores(status, Signal::Interrupt));
        assert!(!ignores(status, Signal::FileTooLarge));
        assert!(!ignores("", Signal::HangUp));
    }
}
