//! A run, from its settings to its result.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use loadgen_sys::{LogSettings, Mode, Scenario, StartTestError, TestSettings};
use netdiv_proto::encoding;
use netdiv_qdl::{Failure, Qdl, SampleSource};
use tracing::{error, info, warn};

use crate::{
    RunArgs, RunError, accuracy,
    args::RunConfig,
    dataset,
    error::EXIT_FAILED,
    library::Library,
    network::transport_name,
    official_log::{self, DetailLog},
    output, progress,
    result::{self, Accuracy, Node, Process, RunResult, Samples, Verdict, Versions},
    sut::{self, NetworkSut, OfficialLoadGen},
    table, user_conf, watchdog,
};

/// Runs LoadGen against the nodes, writes `result.json`, prints the closing table, and returns the verdict.
///
/// LoadGen is one per process, and a failed run leaves it unusable: one call per process.
pub fn run(args: RunArgs) -> Result<Verdict, RunError> {
    let config = args.resolve()?;
    let data = dataset::open(&config.dataset)?;
    let labels = labels(&config, data.sample_count())?;
    let library = Library::new(data, config.encoding, config.performance_samples);
    let settings = test_settings(&config)?;
    output::prepare(&config.output)?;

    let library = Arc::new(library);
    let source: Arc<dyn SampleSource> = library.clone();
    let expected = library.expectation();
    let qdl = Qdl::connect(config.qdl.clone(), &expected, OfficialLoadGen, source)?;
    library.prepare(qdl.nodes()).map_err(RunError::Usage)?;
    for node in qdl.nodes() {
        let d = &node.description;
        info!(node = d.node_name, address = node.address, model = d.model_name, "connected");
    }

    end_on_signal(&qdl)?;
    let log = LogSettings {
        outdir: config.output.display().to_string(),
        enable_trace: config.trace,
        ..LogSettings::default()
    };
    let finish = |outcome| {
        let result = conclude(&config, &settings, &library, &qdl, labels.as_deref(), outcome)?;
        publish(&config, &result)
    };
    let give_up = |failure: &Failure| {
        let reason = sut::reason(failure);
        watchdog::end_loadgen(reason.clone());
        let finished = finish(Err(StartTestError::Aborted(reason)));
        finished.inspect_err(|error| error!("{error}")).ok();
        loadgen_sys::exit_now(EXIT_FAILED);
    };
    let outcome = watchdog::guard(&qdl, library.owes_calls(), give_up, || {
        progress::while_running(
            config.quiet,
            || qdl.progress(),
            || {
                let sut = NetworkSut { qdl: &qdl, owes_calls: library.owes_calls() };
                let audit_config = &config.audit_config;
                loadgen_sys::start_test(&sut, library.as_ref(), &settings, &log, audit_config)
            },
        )
    });
    finish(outcome)
}

/// Writes the result and prints the closing table.
fn publish(config: &RunConfig, result: &RunResult) -> Result<Verdict, RunError> {
    let json = serde_json::to_vec_pretty(result)
        .map_err(|error| RunError::Failed(format!("result.json: {error}")))?;
    output::write(&config.output.join(output::RESULT), &json)?;
    println!("{}\n  logs in {}", table::render(result), config.output.display());
    Ok(result.verdict)
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

/// LoadGen's settings: mlperf.conf, then user.conf, then the fields that were set by hand.
fn test_settings(config: &RunConfig) -> Result<TestSettings, RunError> {
    let usage = |error: loadgen_sys::SettingsError| RunError::Usage(error.to_string());
    if config.audit_config.is_file() {
        warn!("LoadGen will take settings from {}", config.audit_config.display());
    }
    if let Some(path) = &config.user_conf {
        for warning in user_conf::check(path, &config.benchmark, config.scenario.name())? {
            warn!("{warning}");
        }
    }
    let mut settings = TestSettings::new(config.scenario, config.mode);
    settings.from_config(config.user_conf.as_deref(), &config.benchmark).map_err(usage)?;
    for (name, value) in &config.settings {
        settings.set(name, value).map_err(usage)?;
    }
    check_settings(&settings, config.scenario)?;
    Ok(settings)
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
fn end_on_signal(qdl: &Qdl<OfficialLoadGen>) -> Result<(), RunError> {
    let failed = |error: std::io::Error| RunError::Failed(format!("signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let stop = qdl.stopper();
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
            stop(Failure::Interrupted(signal.into()));
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(failed)
}

/// Puts together what LoadGen wrote and what the QDL counted.
fn conclude(
    config: &RunConfig,
    settings: &TestSettings,
    library: &Library,
    qdl: &Qdl<OfficialLoadGen>,
    labels: Option<&[i64]>,
    outcome: Result<(), StartTestError>,
) -> Result<RunResult, RunError> {
    let log = DetailLog::read(&config.output.join(output::DETAIL));
    let mut judgement = match (outcome, &log) {
        (Err(error), _) => Judgement::failed(qdl, error.to_string()),
        (Ok(()), Err(error)) => Judgement::failed(qdl, error.to_string()),
        (Ok(()), Ok(log)) => judge(config, library, labels, log),
    };
    let log = log.unwrap_or_default();

    let reports = qdl.report();
    let issued = qdl.progress().issued;
    let completed = reports.iter().map(|report| report.answered).sum();
    if completed != issued && judgement.verdict != Verdict::Failed {
        judgement.fault(format!("{} samples have no answer", issued - completed));
    }
    let unmatched: u64 = reports.iter().map(|report| report.unmatched).sum();
    if unmatched > 0 {
        judgement
            .reasons
            .push(format!("{unmatched} replies belonged to no sample and were dropped"));
    }
    let (scenario, mode) = RunResult::words(config.scenario, config.mode);
    let measured = config.mode != Mode::AccuracyOnly && judgement.verdict != Verdict::Failed;
    Ok(RunResult {
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        scenario,
        mode,
        benchmark: config.benchmark.clone(),
        dataset: config.dataset.clone(),
        dataset_samples: library.total_samples() as u64,
        encoding: encoding::name(config.encoding).into(),
        transport: transport_name(config.qdl.network.options.transport).into(),
        tls: config.qdl.network.options.tls.is_some(),
        metric: if measured { result::metric(config.scenario, &log) } else { None },
        accuracy: judgement.accuracy,
        loadgen_latency_ns: result::latencies(&log),
        samples: Samples {
            issued,
            completed,
            lost: issued - completed,
            late: log
                .number("result_overlatency_query_count")
                .filter(|_| config.mode == Mode::PerformanceOnly)
                .map(|late| late as u64),
        },
        sut_name: log.text("sut_name").map(Into::into),
        get_sut_name_duration_ns: log.number("get_sut_name_duration_ns").map(|ns| ns as u64),
        nodes: qdl.nodes().iter().zip(&reports).map(|(i, r)| Node::new(i, r)).collect(),
        test_settings: settings.fields().into_iter().collect(),
        process: Process::current(),
        versions: Versions::current(),
    })
}

/// A verdict and what led to it.
struct Judgement {
    verdict: Verdict,
    reasons: Vec<String>,
    accuracy: Option<Accuracy>,
}

impl Judgement {
    fn failed(qdl: &Qdl<OfficialLoadGen>, error: String) -> Self {
        let reason = qdl.failure().map_or(error, ToString::to_string);
        Self { verdict: Verdict::Failed, reasons: vec![reason], accuracy: None }
    }

    fn fault(&mut self, reason: String) {
        self.verdict = Verdict::Invalid;
        self.reasons.push(reason);
    }
}

/// Most errors of LoadGen's log that are repeated in the result.
const SHOWN_ERRORS: usize = 5;

/// What LoadGen's logs say of a run that came to its end.
fn judge(
    config: &RunConfig,
    library: &Library,
    labels: Option<&[i64]>,
    log: &DetailLog,
) -> Judgement {
    let mut judgement =
        Judgement { verdict: Verdict::Complete, reasons: Vec::new(), accuracy: None };
    if config.mode != Mode::AccuracyOnly {
        judgement.verdict = Verdict::Valid;
        match log.text("result_validity") {
            Some("VALID") => {}
            Some(_) => judgement.fault(invalid_reason(log)),
            None => judgement.fault("LoadGen's log has no result".into()),
        }
    }
    let errors = log.errors();
    for error in errors.iter().take(SHOWN_ERRORS) {
        judgement.fault(format!("LoadGen's log has an error: {error}"));
    }
    if errors.len() > SHOWN_ERRORS {
        judgement.fault(format!("and {} more errors", errors.len() - SHOWN_ERRORS));
    }
    if matches!(config.mode, Mode::AccuracyOnly | Mode::SubmissionRun) {
        match score(config, library, labels) {
            Ok(accuracy) => judgement.accuracy = accuracy,
            Err(reason) => judgement.fault(reason),
        }
    }
    judgement
}

fn invalid_reason(log: &DetailLog) -> String {
    let texts = ["result_invalid_reason", "early_stopping_result"].map(|key| log.text(key));
    let reasons: Vec<_> = texts.into_iter().flatten().map(str::trim).collect();
    let reasons = reasons.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    format!("LoadGen calls the result INVALID: {reasons}")
}

/// Checks that the accuracy log has each sample, and compares it with the labels.
fn score(
    config: &RunConfig,
    library: &Library,
    labels: Option<&[i64]>,
) -> Result<Option<Accuracy>, String> {
    let path = config.output.join(output::ACCURACY);
    let responses = official_log::responses(&path).map_err(|error| error.to_string())?;
    let Some(labels) = labels else {
        accuracy::check_complete(responses, library.total_samples())?;
        return Ok(None);
    };
    accuracy::write_label_map(&config.output, labels).map_err(|error| error.to_string())?;
    accuracy::top1(responses, labels).map(Some)
}
