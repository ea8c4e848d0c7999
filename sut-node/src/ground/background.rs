//! A runtime on its own thread.

use std::{io, thread};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// Runtime whose tasks run on one thread. It ends once this value is dropped. The drop does not
/// wait for the tasks: a pending name lookup or an engine that hangs must not keep the process from
/// ending.
pub(crate) struct Background {
    pub(crate) handle: Handle,
    _stop: oneshot::Sender<()>,
}

impl Background {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let driven = Builder::new_current_thread().thread_name(name).enable_all().build()?;
        let handle = driven.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ = driven.block_on(stopped);
            driven.shutdown_background();
        })?;
        Ok(Self { handle, _stop: stop })
    }
}
