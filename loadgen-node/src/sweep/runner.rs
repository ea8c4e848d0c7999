//! Runs the steps of a sweep, each in a process of its own, and continues a sweep that was ended.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use netdiv_node_common::{process::LogFormat, resources::files};
use netdiv_rules::Scenario;
use serde_json::Value;
use tracing::info;

use super::{
    ending::Ending,
    estimate::Estimate,
    measure::{self, Place},
    resume::{self, SET},
    schedule::Bracket,
    settings::{SweepSettings, decisive},
};
use crate::{
    RunError, child_run,
    folder_lock::FolderLock,
    live_line::LiveLine,
    output,
    record::{RunResult, Verdict},
    recording::{
        self, RecordedRun, SET_ASIDE,
        sweep::{Best, Load, Step, SweepRecord, VERSION},
    },
    run::Interruptions,
    sweep::Loads,
    units::count,
};

/// Interval at which the process of a step is looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// Maximum number of samples of a step in Offline, which LoadGen keeps in memory.
const MAX_SAMPLES: u64 = 4_000_000;

/// Maximum number of runs of a step in Offline, until one is long enough.
const MAX_ATTEMPTS: usize = 5;

/// Time in Offline that shows the rate of the nodes.
const RATE_TIME: Duration = Duration::from_secs(5);

/// Name of the file in a step's folder that has the log lines of its run.
const LOG: &str = "run.log";

/// Function that writes the record, and the page of the run that was added to it.
pub(crate) type Save<'a> = &'a dyn Fn(&SweepRecord, Option<&RecordedRun>) -> Result<(), RunError>;

/// Runs a sweep, or the rest of one, and returns its record.
pub(crate) fn run(
    settings: &SweepSettings,
    is_resumed: bool,
    interruptions: &Interruptions,
    save: Save<'_>,
) -> Result<SweepRecord, RunError> {
    let _claim = resume::claim(settings, is_resumed)?;
    let mut runner = Runner {
        settings,
        save,
        ending: Ending::listen(interruptions),
        line: LiveLine::new(settings.is_quiet),
        estimate: Estimate::new(settings),
        serving: BTreeMap::new(),
        record: SweepRecord {
            version: VERSION,
            benchmark: settings.benchmark.clone(),
            load: settings.load,
            latency_source: settings.load.latency_source(),
            finished: false,
            nodes: settings.nodes.clone(),
            node_sets: settings.node_sets.clone(),
            bounds: settings.bounds,
            settings: settings.recorded.clone(),
            files: settings.files.clone(),
            steps: Vec::new(),
            best: Vec::new(),
        },
    };
    if !is_resumed {
        save(&runner.record, None)?;
    }
    for nodes in &settings.node_sets {
        runner.sweep(*nodes)?;
    }
    runner.record.finished = true;
    save(&runner.record, None)?;
    Ok(runner.record)
}

struct Runner<'a> {
    settings: &'a SweepSettings,
    save: Save<'a>,
    ending: Arc<Ending>,
    line: LiveLine,
    estimate: Estimate,
    record: SweepRecord,
    /// Model, settings and release of each node, by its name.
    serving: BTreeMap<String, [String; 3]>,
}

impl Runner<'_> {
    /// Runs all steps over the first `nodes` nodes.
    fn sweep(&mut self, nodes: usize) -> Result<(), RunError> {
        let loads = match &self.settings.loads {
            Some(loads) => loads.clone(),
            None => Loads::up_to(self.rate_in_offline(nodes)?),
        };
        self.estimate.begin_set(&loads);
        info!(
            "{}, {} from {} to {} {}: {}",
            count(nodes, "node"),
            count(loads.0.len(), "step"),
            loads.0.first().unwrap_or(&0.0),
            loads.0.last().unwrap_or(&0.0),
            self.settings.load.unit(),
            self.estimate.text(Duration::ZERO)
        );
        let mut tried = Vec::new();
        for load in loads.0 {
            tried.push((load, self.step(nodes, load, false)?));
        }
        let mut trials = 0;
        while let Some(load) =
            Bracket::of(&tried).next(trials).filter(|_| self.settings.is_searched)
        {
            trials += 1;
            self.estimate.begin_search(load);
            tried.push((load, self.step(nodes, load, true)?));
        }
        self.estimate.end_set();
        let Bracket { valid: Some(valid), invalid } = Bracket::of(&tried) else { return Ok(()) };
        let steps = self.record.steps.iter();
        let best = steps.filter(|step| step.nodes == nodes && step.load == valid);
        if self.settings.load == Load::Rate {
            self.record.best.extend(best.map(|step| Best {
                nodes,
                load: valid,
                samples_per_second: step.samples_per_second,
                folder: step.folder.clone(),
                lowest_invalid: invalid,
            }));
        }
        Ok(())
    }

    /// Runs a step. Returns true if the nodes kept up with the load.
    fn step(&mut self, nodes: usize, load: f64, searched: bool) -> Result<bool, RunError> {
        let (folder, run) = match self.settings.load {
            Load::Rate => self.at_rate(nodes, load)?,
            Load::Concurrency => {
                // The rate rises at most with the load.
                let known = self.record.steps.iter().rfind(|step| step.nodes == nodes);
                let rate = known.map_or(0.0, |step| step.samples_per_second * load / step.load);
                let time = self.settings.step_time;
                self.in_offline(nodes, &format!("concurrency-{load}"), Some(load), rate, time)?
            }
        };
        let step = measure::step(&run, Place { nodes, load, searched, folder }, self.settings);
        info!("{}", describe(&step, self.settings.load));
        let has_passed = step.has_passed();
        let place = self.record.steps.partition_point(|one| (one.nodes, one.load) < (nodes, load));
        self.record.steps.insert(place, step);
        self.estimate.end_step();
        (self.save)(&self.record, Some(&run))?;
        Ok(has_passed)
    }

    fn at_rate(&mut self, nodes: usize, rate: f64) -> Result<(String, RecordedRun), RunError> {
        let samples = self.settings.samples_at(rate);
        let folder = format!("{SET}{nodes}/rate-{rate}");
        let fields = vec![format!("server_target_qps={rate}")];
        let run = self.run(&folder, nodes, Scenario::Server, samples, fields, None)?;
        Ok((folder, run))
    }

    /// Returns the rate that the nodes reach if nothing limits the samples in flight.
    fn rate_in_offline(&mut self, nodes: usize) -> Result<f64, RunError> {
        let time = RATE_TIME.min(self.settings.step_time);
        let (_, run) = self.in_offline(nodes, "offline", None, 0.0, time)?;
        Ok(run.result.samples.completed as f64 / run.result.test_seconds.max(f64::EPSILON))
    }

    /// Runs an Offline query of as many samples as take `time`. If the expected rate, or 0, was too
    /// low, another run follows.
    fn in_offline(
        &mut self,
        nodes: usize,
        name: &str,
        max_in_flight: Option<f64>,
        rate: f64,
        time: Duration,
    ) -> Result<(String, RecordedRun), RunError> {
        let seconds = time.as_secs_f64();
        let mut samples = self.settings.whole_passes(rate * seconds).min(MAX_SAMPLES);
        let mut attempt = 1;
        loop {
            let mut folder = format!("{SET}{nodes}/{name}");
            if attempt > 1 {
                folder = format!("{folder}-attempt-{attempt}");
            }
            let run =
                self.run(&folder, nodes, Scenario::Offline, samples, Vec::new(), max_in_flight)?;
            let took = run.result.test_seconds;
            if took >= 0.9 * seconds || samples >= MAX_SAMPLES || attempt == MAX_ATTEMPTS {
                return Ok((folder, run));
            }
            let longer = (seconds / took.max(1e-3) * 1.1).clamp(1.1, 1000.0);
            samples = self.settings.whole_passes(samples as f64 * longer).min(MAX_SAMPLES);
            attempt += 1;
        }
    }

    /// Returns the run in a step's folder. Runs it, unless it has a result.
    fn run(
        &mut self,
        folder: &str,
        nodes: usize,
        scenario: Scenario,
        samples: u64,
        mut fields: Vec<String>,
        max_in_flight: Option<f64>,
    ) -> Result<RecordedRun, RunError> {
        fields.extend([
            format!("min_query_count={samples}"),
            "max_query_count=0".into(),
            "min_duration_ms=1".into(),
            "sample_concatenate_permutation=true".into(),
        ]);
        let mut settings = self.settings.of_runs.clone();
        let given = settings.get("setting").and_then(Value::as_array).cloned();
        let fields = fields.into_iter().map(Value::from);
        let fields = given.unwrap_or_default().into_iter().chain(fields).collect();
        settings.insert("setting".into(), fields);
        settings.insert("scenario".into(), scenario.word().into());
        settings.insert("nodes".into(), self.settings.nodes[..nodes].into());
        settings.insert("quiet".into(), true.into());
        settings.extend(max_in_flight.map(|n| ("max_in_flight".to_owned(), (n as u64).into())));
        let path = self.settings.output.join(folder);
        let run = match self.finished(&path)? {
            Some(run) => run,
            None => {
                self.start(&path, folder, settings.clone())?;
                RecordedRun::read(&path)?
            }
        };
        let (had, has) = (decisive(&run.result.settings), decisive(&settings));
        let changes = resume::differences("--", &had, &has);
        if !changes.is_empty() {
            return Err(RunError::Usage(format!(
                "{} holds a run with other settings:\n  {}\nMove it away, or start a new sweep with another --output",
                path.display(),
                changes.join("\n  ")
            )));
        }
        self.check_nodes(&run.result, &path)?;
        Ok(run)
    }

    /// Runs this program with the settings of a step, and waits for its end.
    fn start(
        &self,
        path: &Path,
        folder: &str,
        settings: BTreeMap<String, Value>,
    ) -> Result<(), RunError> {
        let claim = output::prepare(path)?;
        let log = path.join(LOG);
        let unwritten = |error: io::Error| output::unwritten(&log, error);
        let mut command = child_run::command(settings, path, [])?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&log).map_err(unwritten)?);
        let (variable, text) = LogFormat::Text.variable();
        command.env(variable, text);
        // The run claims the folder for itself.
        drop(claim);
        self.ending.check()?;
        let mut child = command.spawn().map_err(RunError::failed)?;
        self.ending.set_run(child.id());
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(RunError::failed)? {
                break status;
            }
            self.line.show(&format!("{folder}: {}", self.estimate.text(began.elapsed())));
            thread::sleep(PERIOD);
        };
        self.ending.set_run(0);
        self.ending.check()?;
        ended(status, folder, path)
    }

    /// Returns the run in a folder if it has a result. Waits for a run that is still in progress,
    /// because the process of the sweep that started it was killed. Sets aside a run that ended
    /// without a result, or failed.
    fn finished(&self, path: &Path) -> Result<Option<RecordedRun>, RunError> {
        let failed = |error: io::Error| output::unwritten(path, error);
        let mut is_announced = false;
        while path.exists() {
            let claim = FolderLock::of(path).map_err(failed)?;
            if claim.is_none() {
                if !is_announced {
                    info!(
                        "waiting for the run in {}, which an ended sweep has started",
                        path.display()
                    );
                    is_announced = true;
                }
                self.ending.check()?;
                thread::sleep(PERIOD);
                continue;
            }
            drop(claim);
            if path.join(output::RESULT).exists() {
                let run = RecordedRun::read(path).map_err(|error| {
                    RunError::Usage(format!("{error}; to repeat this step, move its folder away"))
                })?;
                if run.result.verdict != Verdict::Failed {
                    return Ok(Some(run));
                }
            }
            set_aside(path)?;
        }
        Ok(None)
    }

    /// Fails if a node is not as it was in the steps before. The step is set aside.
    fn check_nodes(&mut self, result: &RunResult, path: &Path) -> Result<(), RunError> {
        for node in &result.nodes {
            let now = [&node.model_sha256, &node.config_sha256, &node.software_version];
            let now = now.map(ToOwned::to_owned);
            let before = self.serving.entry(node.name.clone()).or_insert_with(|| now.clone());
            let names = ["model", "configuration", "release"];
            let mut changed = names.iter().zip(before.iter().zip(&now));
            if let Some((what, _)) = changed.find(|(_, (before, now))| before != now) {
                set_aside(path)?;
                return Err(RunError::Usage(format!(
                    "node {}: its {what} is not that of the steps before; start it as before and continue with --resume, or \
                     make a new sweep",
                    node.name
                )));
            }
        }
        Ok(())
    }
}

/// Renames the folder of a run without a usable result, so that the step can be repeated.
fn set_aside(path: &Path) -> Result<(), RunError> {
    let named = |n: usize| PathBuf::from(format!("{}{SET_ASIDE}{n}", path.display()));
    let free = (1..).map(named).find(|free| !free.exists()).unwrap_or_default();
    fs::rename(path, free).map_err(|error| output::unwritten(path, error))
}

/// Fails unless the run has a verdict. The error has the reasons of its record, or else the last
/// error of its log.
fn ended(status: ExitStatus, folder: &str, path: &Path) -> Result<(), RunError> {
    if matches!(status.code(), Some(0 | 1)) {
        return Ok(());
    }
    let reasons = recording::read_result(path).map(|result| result.reasons.join("; "));
    let log = files::read_text(&path.join(LOG)).unwrap_or_default();
    let why = reasons.ok().filter(|why| !why.is_empty()).unwrap_or_else(|| last_error(&log));
    let text = format!(
        "{folder}: {why}\nIts log is {LOG} there. Fix the cause, and continue with --resume"
    );
    Err(if status.code() == Some(2) { RunError::Usage(text) } else { RunError::Failed(text) })
}

/// Returns the last error of a log in text, with all its lines.
fn last_error(log: &str) -> String {
    const ERROR: &str = " ERROR ";
    match log.rsplit_once(ERROR) {
        Some((_, error)) => error.split_once(": ").map_or(error, |(_, error)| error).trim().into(),
        None => format!("it ended without a reason: {}", log.lines().last().unwrap_or_default()),
    }
}

fn describe(step: &Step, load: Load) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    format!(
        "{}, {} {}: {}, {:.1} samples/s, p99 {:.2} ms",
        count(step.nodes, "node"),
        step.load,
        load.unit(),
        step.verdict,
        step.samples_per_second,
        ms(step.latency_ns.p99)
    )
}
