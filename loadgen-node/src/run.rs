//! A run, from its settings to its result.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use loadgen_sys::{LogSettings, Scenario, StartTestError, SystemUnderTest, TestSettings};
use netdiv_dataset as dataset;
use netdiv_qdl::{Failure, Qdl, SampleSource, Settings};
use netdiv_rules::{Finding, user_conf};
use tracing::{error, info, warn};

use crate::{
    RunArgs, RunError,
    args::{RunConfig, Target},
    conclude::{Counted, conclude},
    error::EXIT_FAILED,
    fitness::{self, Fitness},
    library::Library,
    machines::{self, Traffic},
    network::transport_name,
    output, progress, purpose, record,
    result::{Division, Verdict},
    sut::{self, NetworkSut, OfficialLoadGen},
    table, watchdog,
    witness::Witness,
};

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub fn run(args: RunArgs) -> Result<Verdict, RunError> {
    let run = Prepared::new(args.resolve()?)?;
    match &run.config.target {
        Target::Nodes(settings) => over_network(&run, settings),
        #[cfg(feature = "in-process")]
        Target::InProcess(node) => crate::in_process::run(&run, node),
    }
}

/// All that a run needs besides a system under test.
pub(crate) struct Prepared {
    pub(crate) config: RunConfig,
    pub(crate) library: Arc<Library>,
    pub(crate) settings: TestSettings,
    pub(crate) labels: Option<Vec<i64>>,
    /// The rules that the settings break, before a node was asked.
    pub(crate) findings: Vec<Finding>,
    /// Told what LoadGen sees, where the run has digests.
    pub(crate) witness: Option<Arc<Witness>>,
}

impl Prepared {
    fn new(config: RunConfig) -> Result<Self, RunError> {
        let data = dataset::open(&config.dataset)?;
        let labels = labels(&config, data.sample_count())?;
        let witness = config.digests.then(|| Arc::new(Witness::new(data.sample_count())));
        let (encoding, samples) = (config.encoding, config.performance_samples);
        let sums = config.checksums;
        let library = Arc::new(Library::new(data, encoding, sums, samples, witness.clone()));
        let (settings, warnings) = test_settings(&config)?;
        let mut run = Self { config, library, settings, labels, witness, findings: Vec::new() };
        // What is wrong without asking a node is said before one is asked.
        run.findings = purpose::findings(&run, None)?;
        check_user_conf(&run.config, &warnings)?;
        output::prepare(&run.config.output)?;
        fitness::has_room(&run.config.output, run.config.min_free_bytes)
            .map_err(|why| RunError::Usage(format!("--output: {why}")))?;
        Ok(run)
    }

    /// Lets LoadGen run its test.
    pub(crate) fn start_test(&self, sut: &impl SystemUnderTest) -> Result<(), StartTestError> {
        let log = LogSettings {
            outdir: self.config.output.display().to_string(),
            enable_trace: self.config.trace,
            ..LogSettings::default()
        };
        let audit_config = &self.config.audit_config;
        loadgen_sys::start_test(sut, self.library.as_ref(), &self.settings, &log, audit_config)
    }

    /// Writes the result and prints the closing table.
    pub(crate) fn finish(
        &self,
        counted: Counted,
        outcome: Result<(), StartTestError>,
    ) -> Result<Verdict, RunError> {
        let result = conclude(self, counted, outcome)?;
        let json = serde_json::to_vec_pretty(&result)
            .map_err(|error| RunError::Failed(format!("result.json: {error}")))?;
        output::write(&self.config.output.join(output::RESULT), &json)?;
        println!("{}\n  logs in {}", table::render(&result), self.config.output.display());
        Ok(result.verdict)
    }

    /// Ends a process whose LoadGen does not come to its end.
    pub(crate) fn give_up(&self, counted: Counted, reason: String) -> ! {
        watchdog::end_loadgen(reason.clone());
        let finished = self.finish(counted, Err(StartTestError::Aborted(reason)));
        finished.inspect_err(|error| error!("{error}")).ok();
        loadgen_sys::exit_now(EXIT_FAILED);
    }
}

fn over_network(run: &Prepared, settings: &Settings) -> Result<Verdict, RunError> {
    let library = &run.library;
    let source: Arc<dyn SampleSource> = library.clone();
    let expected = library.expectation();
    let loadgen = OfficialLoadGen { witness: run.witness.clone() };
    let qdl = Qdl::connect(settings.clone(), &expected, loadgen, source)?;
    let input = qdl.nodes().first().and_then(|node| node.description.input.clone());
    let limits = qdl.nodes().iter().map(|node| node.description.max_payload_bytes);
    library
        .prepare(input.unwrap_or_default(), limits.min().unwrap_or(u64::MAX))
        .map_err(RunError::Usage)?;
    for node in qdl.nodes() {
        let d = &node.description;
        info!(node = d.node_name, address = node.address, model = d.model_name, "connected");
    }

    let (settings_text, settings_sha256) = run.config.in_words();
    let stated = run.config.evidence.as_deref();
    let evidence = machines::evidence(qdl.nodes(), settings_text, settings_sha256, stated)?;
    let findings = purpose::findings(run, Some(&evidence))?;

    let (stop, unfit) = (qdl.stopper(), qdl.stopper());
    end_on_signal(move |signal| stop(Failure::Interrupted(signal.into())))?;
    let fitness = Fitness::new(&run.config.output, run.config.min_free_bytes);
    let started = Instant::now();
    let traffic = Traffic::now(&evidence);
    let counted = |digests| Counted {
        transport: transport_name(settings.network.options.transport),
        tls: settings.network.options.tls.is_some(),
        connections_per_node: settings.connections_per_node as u64,
        streams_per_connection: settings.streams_per_connection as u64,
        issued: qdl.progress().issued,
        nodes: qdl.nodes().iter().zip(&qdl.report()).map(|(i, r)| record::node(i, r)).collect(),
        input: qdl.nodes().first().and_then(|node| node.description.input.clone()),
        test_seconds: started.elapsed().as_secs_f64(),
        interfaces: Traffic::now(&evidence).since(&traffic),
        findings: findings.clone(),
        evidence: Some(evidence.clone()),
        digests,
        failure: qdl.failure().map(ToString::to_string),
        remark: None,
    };
    let failure = || {
        if qdl.failure().is_none() {
            fitness.check().unwrap_or_else(|why| unfit(Failure::Unfit(why)));
        }
        qdl.failure().map(sut::reason)
    };
    let give_up = |reason| run.give_up(counted(None), reason);
    let witness = run.witness.as_deref();
    let outcome = watchdog::guard(failure, library.owes_calls(), give_up, || {
        progress::while_running(
            run.config.quiet,
            || qdl.progress(),
            || run.start_test(&NetworkSut { qdl: &qdl, witness, owes_calls: library.owes_calls() }),
        )
    });
    let ended = outcome.is_ok();
    // What happened after the last look spoils the run as well.
    let outcome = outcome.and_then(|()| fitness.check().map_err(StartTestError::Aborted));
    // A failure here is the run's: the proof was asked for.
    let tallies = witness.filter(|_| outcome.is_ok()).map(|witness| (witness, qdl.digests()));
    let (digests, outcome) = match tallies {
        Some((witness, Ok((received, sent)))) => (Some(witness.compare(&received, &sent)), outcome),
        Some((_, Err(failure))) => (None, Err(StartTestError::Aborted(failure.to_string()))),
        None => (None, outcome),
    };
    if let (true, Err(error)) = (ended, &outcome) {
        // LoadGen has closed its logs, which may say VALID. A result that says why is wanted all the same.
        let marked = output::mark_failed(&run.config.output, &error.to_string());
        marked.unwrap_or_else(|error| {
            error!("{error}: LoadGen's own log does not say that the run failed")
        });
    }
    run.finish(counted(digests), outcome)
}

/// The labels of the data set, if there are any; as many as samples.
fn labels(config: &RunConfig, samples: usize) -> Result<Option<Vec<i64>>, RunError> {
    let labels = match &config.labels {
        Some(path) => dataset::labels_of_file(path)?,
        None if config.dataset == dataset::DIGITS => dataset::digits_labels()?,
        None => return Ok(None),
    };
    if labels.len() != samples {
        let labels = labels.len();
        return Err(RunError::Usage(format!("{labels} labels for {samples} samples")));
    }
    Ok(Some(labels))
}

/// LoadGen's settings: mlperf.conf, then user.conf, then the fields that were set by hand; and what has no effect.
fn test_settings(config: &RunConfig) -> Result<(TestSettings, Vec<String>), RunError> {
    let usage = |error: loadgen_sys::SettingsError| RunError::Usage(error.to_string());
    if config.audit_config.is_file() {
        warn!("LoadGen will take settings from {}", config.audit_config.display());
    }
    let mut warnings = Vec::new();
    if let Some(path) = &config.user_conf {
        warnings = user_conf::check(path, &config.loadgen_model, config.scenario.name())
            .map_err(RunError::Usage)?;
    }
    let mut settings = TestSettings::new(config.scenario, config.mode);
    settings.from_config(config.user_conf.as_deref(), &config.loadgen_model).map_err(usage)?;
    if let Some(samples) = config.performance_samples {
        // Else the number in mlperf.conf would win.
        settings.set("performance_sample_count_override", &samples.to_string()).map_err(usage)?;
    }
    for (name, value) in &config.settings {
        settings.set(name, value).map_err(usage)?;
    }
    check_settings(&settings, config.scenario)?;
    Ok((settings, warnings))
}

/// What in user.conf has no effect is a warning; a run of the Network division must have one that applies to it.
fn check_user_conf(config: &RunConfig, warnings: &[String]) -> Result<(), RunError> {
    if config.division == Division::Network && !config.rehearsal {
        if config.user_conf.is_none() {
            let text = "a run of the Network division needs --user-conf, with target_qps for benchmark and scenario";
            return Err(RunError::Usage(text.into()));
        }
        if !warnings.is_empty() {
            return Err(RunError::Usage(warnings.join("\n")));
        }
    }
    warnings.iter().for_each(|warning| warn!("{warning}"));
    Ok(())
}

/// Most samples that LoadGen is asked to prepare: it needs some 60 bytes for each, before it issues one.
const MOST_SAMPLES: f64 = 4e9;

/// More threads than any machine has cores for.
const MOST_ISSUE_THREADS: u64 = 256;

/// Refuses what this version does not do, and what LoadGen cannot.
fn check_settings(settings: &TestSettings, scenario: Scenario) -> Result<(), RunError> {
    let refuse = |text: String| Err(RunError::Usage(text));
    let issue_threads = settings.field("server_num_issue_query_threads");
    if issue_threads.and_then(|n| n.parse().ok()).is_some_and(|n: u64| n > MOST_ISSUE_THREADS) {
        return refuse(format!(
            "server_num_issue_query_threads: at most {MOST_ISSUE_THREADS}, as many as cores at best"
        ));
    }
    if settings.field("use_token_latencies").is_some_and(|on| on == "true") {
        return refuse(
            "this benchmark measures token latencies (use_token_latencies), which this version does not; \
             --setting use_token_latencies=false runs it without them, as an experiment"
                .into(),
        );
    }
    let rate = match scenario {
        Scenario::Offline => "offline_expected_qps",
        Scenario::Server => "server_target_qps",
        Scenario::SingleStream | Scenario::MultiStream => return Ok(()),
    };
    let number = |field| settings.field(field).and_then(|text| text.parse::<f64>().ok());
    let per_second = number(rate).unwrap_or(f64::NAN);
    let seconds = number("min_duration_ms").unwrap_or(0.0) / 1000.0;
    if !(per_second.is_finite() && per_second > 0.0) {
        return refuse(format!("target_qps ({rate}) is {per_second}; it must be above 0"));
    }
    if per_second * seconds > MOST_SAMPLES {
        return refuse(format!(
            "{per_second} samples per second for {seconds} s are more than LoadGen can prepare; lower \
             target_qps"
        ));
    }
    Ok(())
}

/// Signals so close together are one: a shell may send one to a process and to its group.
const ONE_WISH: Duration = Duration::from_secs(1);

/// The first signal ends the run; a later one ends the process.
pub(crate) fn end_on_signal(stop: impl Fn(&str) + Send + 'static) -> Result<(), RunError> {
    let failed = |error: std::io::Error| RunError::Failed(format!("signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let watch = move || {
        let mut first = None;
        while let Ok(signal) = runtime.block_on(node_process::asked_to_end()) {
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if since > ONE_WISH {
                loadgen_sys::exit_now(EXIT_FAILED);
            }
            warn!(
                signal,
                "ending the run, which takes up to 3 s; ask again to end at once, without a result"
            );
            stop(signal);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(failed)
}
