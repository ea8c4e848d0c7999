//! Evidence about this machine and its programs, read on request. While the node runs, an interface
//! may come up, and a route or a speed may change.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use netdiv_machine::evidence::{Machine, SupplyError, System};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{task::spawn_blocking, time::timeout};
use tracing::error;

use crate::{
    engine::{list::EngineConfig, plugin::settings::PluginModelConfig},
    model::identity::Model,
    settings::{config::Config, published::published_text},
};

/// Lifetime of a reading: the machine is read at most once per second, however many clients ask.
const READING_LIFETIME: Duration = Duration::from_secs(1);

/// Maximum time that a caller waits for a reading before it receives the last one: `nvidia-smi` may
/// be slow.
const READING_TIMEOUT: Duration = Duration::from_secs(3);

type Read = dyn Fn() -> Result<Machine, SupplyError> + Send + Sync;

/// Description of the machine: facts that are measured from the system, and facts that cannot be
/// measured and that the operator states in a file.
pub(crate) struct Evidence {
    read: Box<Read>,
    /// Last reading. The error is the reason if the machine now contradicts the operator's
    /// statement.
    last: Mutex<Result<Machine, String>>,
    /// Time of the last reading. Locked while the machine is read.
    read_at: Arc<tokio::sync::Mutex<Instant>>,
}

impl Evidence {
    /// Reads this machine for the first time.
    pub(crate) fn of(config: &Config, model: &Model) -> anyhow::Result<Arc<Self>> {
        let mut config = config.clone();
        if let (EngineConfig::Torch(plugin), Some(sizes)) = (&mut config.engine, &model.batch_sizes)
            && let PluginModelConfig::Tensors(tensors) = &mut Arc::make_mut(plugin).model
        {
            tensors.batch_sizes.clone_from(sizes);
        }
        let text = published_text(&config, model.found.as_ref())
            .context("the settings cannot be written as TOML")?;
        let sha256 = hex::encode(Sha256::digest(&text));
        let framework = Some(model.framework.clone()).filter(|text| !text.is_empty());
        let statement = config.evidence.clone();
        let engines = config.engine.settings().serving_engines();
        let read = move || {
            let engine = |address: &String| netdiv_machine::evidence::serving_engine(address);
            let mut machine = Machine {
                serving_engines: engines.iter().map(engine).collect(),
                program: Some(format!("sut-node {}", env!("CARGO_PKG_VERSION"))),
                framework: framework.clone(),
                settings_sha256: Some(sha256.clone()),
                settings: Some(text.clone()),
                ..System::default().machine()
            };
            statement.iter().try_for_each(|statement| statement.supply(&mut machine))?;
            Ok(machine)
        };
        Ok(Self::new(read)?)
    }

    /// Reads the machine for the first time, with the function `read`. Later readings use it too.
    pub(crate) fn new(
        read: impl Fn() -> Result<Machine, SupplyError> + Send + Sync + 'static,
    ) -> Result<Arc<Self>, SupplyError> {
        let last = Mutex::new(Ok(read()?));
        let read_at = Arc::new(tokio::sync::Mutex::new(Instant::now()));
        Ok(Arc::new(Self { read: Box::new(read), last, read_at }))
    }

    pub(crate) fn last(&self) -> Result<Machine, String> {
        self.last.lock().clone()
    }

    /// Reads the machine, and returns the last reading if that takes too long.
    pub(crate) async fn now(self: &Arc<Self>) -> Result<Machine, String> {
        // A caller that no longer waits receives the last reading.
        let _ = timeout(READING_TIMEOUT, self.clone().refresh()).await;
        self.last()
    }

    /// Reads again, unless another caller has just done so. A caller that disconnects leaves the
    /// reading and the lock to their thread.
    async fn refresh(self: Arc<Self>) {
        let mut read_at = self.read_at.clone().lock_owned().await;
        if read_at.elapsed() < READING_LIFETIME {
            return;
        }
        let reading = spawn_blocking(move || {
            let machine = (self.read)().map_err(|why| why.to_string());
            if let Err(why) = &machine {
                error!("{why}; correct the evidence file and restart the node");
            }
            *self.last.lock() = machine;
            *read_at = Instant::now();
        });
        // A reading that panicked leaves the last one in place.
        let _ = reading.await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::PathBuf,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    fn under(root: PathBuf) -> Arc<Evidence> {
        Evidence::new(move || Ok(System::under(&root).machine())).unwrap()
    }

    #[tokio::test]
    async fn an_interface_that_comes_up_later_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let evidence = under(root.path().into());
        let names = async || {
            let machine = evidence.now().await.unwrap();
            machine.interfaces.into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        let folder = root.path().join("sys/class/net/eth7");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("type"), "1\n").unwrap();
        assert!(names().await.is_empty(), "it was read less than a second ago");
        tokio::time::sleep(READING_LIFETIME).await;
        assert_eq!(names().await, ["eth7"]);
    }

    #[tokio::test]
    async fn a_crowd_makes_one_reading_and_a_slow_one_is_not_waited_for() {
        let readings = Arc::new(AtomicUsize::new(0));
        let counted = readings.clone();
        let evidence = Evidence::new(move || {
            if counted.fetch_add(1, Ordering::Relaxed) > 0 {
                std::thread::sleep(READING_TIMEOUT + READING_LIFETIME);
            }
            Ok(Machine { host_name: Some("slow".into()), ..Machine::default() })
        });
        let evidence = evidence.unwrap();
        tokio::time::sleep(READING_LIFETIME).await;
        let ask = |_| {
            let evidence = evidence.clone();
            // Half of the callers disconnect at once.
            tokio::spawn(async move { timeout(2 * READING_TIMEOUT, evidence.now()).await })
        };
        let callers: Vec<_> = (0..40).map(ask).collect();
        tokio::task::yield_now().await;
        callers.iter().step_by(2).for_each(|caller| caller.abort());
        for caller in callers.into_iter().skip(1).step_by(2) {
            let machine = caller.await.unwrap().unwrap().unwrap();
            assert_eq!(machine.host_name.as_deref(), Some("slow"));
        }
        assert_eq!(readings.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_machine_that_contradicts_its_operator_says_so() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("evidence.toml");
        fs::write(&file, "kernel = 'Linux 6'\n").unwrap();
        let statement = netdiv_machine::evidence::Statement::read(&file).unwrap();
        let system = System::under(root.path());
        let evidence = Evidence::new(move || {
            let mut machine = system.machine();
            statement.supply(&mut machine).map(|()| machine)
        });
        let evidence = evidence.unwrap();
        let kernel = root.path().join("proc/sys/kernel");
        fs::create_dir_all(&kernel).unwrap();
        fs::write(kernel.join("ostype"), "Linux\n").unwrap();
        fs::write(kernel.join("osrelease"), "7\n").unwrap();
        tokio::time::sleep(READING_LIFETIME).await;
        let why = evidence.now().await.unwrap_err();
        assert!(why.contains("measured as \"Linux 7\""), "{why}");
    }
}
