//! From LoadGen's logs and our own counts to a result and its verdict.

use loadgen_sys::{Mode, StartTestError};
use netdiv_proto::{
    encoding,
    layout::{self, InputLayout},
};
use netdiv_rules::Finding;
use tracing::error;

use crate::{
    RunError, accuracy,
    args::{mode_name, scenario_name, scenario_of},
    error::EXIT_FAILED,
    official_log::{self, DetailLog},
    output,
    prepared::Prepared,
    record,
    result::{Accuracy, Digests, Evidence, InterfaceTraffic, Node, RunResult, Samples, Verdict},
    table, watchdog,
};

/// What was counted on the way to the SUT.
pub(crate) struct Counted {
    /// How messages travelled.
    pub(crate) transport: &'static str,
    pub(crate) tls: bool,
    /// Samples that LoadGen has issued.
    pub(crate) issued: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) connections_per_node: u64,
    pub(crate) streams_per_connection: u64,
    /// What the nodes take.
    pub(crate) input: Option<InputLayout>,
    pub(crate) test_seconds: f64,
    pub(crate) interfaces: Vec<InterfaceTraffic>,
    /// Rules that the settings break, where the run is for a division.
    pub(crate) findings: Vec<Finding>,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) digests: Option<Digests>,
    /// Why the run failed, where that is known better than LoadGen knows it.
    pub(crate) failure: Option<String>,
    /// What everybody who reads the result has to know.
    pub(crate) remark: Option<String>,
}

/// Writes the result and prints the closing table.
pub(crate) fn finish(
    run: &Prepared,
    counted: Counted,
    outcome: Result<(), StartTestError>,
) -> Result<Verdict, RunError> {
    let result = conclude(run, counted, outcome)?;
    let json = serde_json::to_vec_pretty(&result)
        .map_err(|error| RunError::Failed(format!("result.json: {error}")))?;
    output::write(&run.config.output.join(output::RESULT), &json)?;
    let folder = run.config.output.display();
    output::report(format_args!("{}\n  logs in {folder}", table::render(&result)));
    Ok(result.verdict)
}

/// Ends a process whose LoadGen does not come to its end.
pub(crate) fn give_up(run: &Prepared, counted: Counted, reason: String) -> ! {
    watchdog::end_loadgen(reason.clone());
    let finished = finish(run, counted, Err(StartTestError::Aborted(reason)));
    finished.inspect_err(|error| error!("{error}")).ok();
    loadgen_sys::exit_now(EXIT_FAILED);
}

/// Puts together what LoadGen wrote and what was counted.
fn conclude(
    run: &Prepared,
    counted: Counted,
    outcome: Result<(), StartTestError>,
) -> Result<RunResult, RunError> {
    let Prepared { config, library, settings, .. } = run;
    let log = DetailLog::read(&config.output.join(output::DETAIL));
    let failed = |error: String| Judgement::failed(counted.failure.clone().unwrap_or(error));
    let mut judgement = match (outcome, &log) {
        (Err(error), _) => failed(error.to_string()),
        (Ok(()), Err(error)) => failed(error.to_string()),
        (Ok(()), Ok(log)) => judge(run, log),
    };
    let log = log.unwrap_or_default();

    let issued = counted.issued;
    let completed = counted.nodes.iter().map(|node| node.answered).sum();
    if completed != issued && judgement.verdict != Verdict::Failed {
        judgement.fault(format!("{} samples have no answer", issued - completed));
    }
    for (what, compared) in counted.digests.iter().flat_map(Digests::by_name) {
        if compared.differences > 0 {
            let examples = compared.examples.join("; ");
            judgement.fault(format!("{what} did not all arrive as they were sent: {examples}"));
        }
    }
    let unmatched: u64 = counted.nodes.iter().map(|node| node.unmatched_replies).sum();
    if unmatched > 0 {
        judgement
            .reasons
            .push(format!("{unmatched} replies belonged to no sample and were dropped"));
    }
    let lost = |node: &Node| {
        let (why, samples) = (node.lost.as_ref()?, node.redispatched);
        Some(format!(
            "{why}; the run went on without it, and {samples} of its samples went to other nodes"
        ))
    };
    if judgement.verdict != Verdict::Failed {
        judgement.reasons.extend(counted.nodes.iter().filter_map(lost));
    }
    judgement.reasons.extend(counted.remark);
    let measured = config.mode != Mode::AccuracyOnly && judgement.verdict != Verdict::Failed;
    Ok(RunResult {
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        division: config.division,
        rehearsal: config.rehearsal,
        findings: counted.findings,
        scenario: scenario_name(config.scenario).into(),
        mode: mode_name(config.mode).into(),
        benchmark: config.benchmark.clone(),
        dataset: config.dataset.clone(),
        dataset_samples: library.total_samples() as u64,
        input: input(library.layout(), counted.input),
        encoding: encoding::name(config.encoding).into(),
        sample_bytes: library.lengths(),
        transport: counted.transport.into(),
        tls: counted.tls,
        checksums: config.checksums,
        metric: if measured {
            official_log::metric(scenario_of(config.scenario), &log)
        } else {
            None
        },
        accuracy: judgement.accuracy,
        official_accuracy: judgement.official_accuracy,
        loadgen_latency_ns: official_log::latencies(&log),
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
        nodes: counted.nodes,
        connections_per_node: counted.connections_per_node,
        streams_per_connection: counted.streams_per_connection,
        test_seconds: counted.test_seconds,
        interfaces: counted.interfaces,
        evidence: counted.evidence,
        digests: counted.digests,
        settings: config.given.clone(),
        logs: official_log::digests(&config.output).map_err(|e| RunError::Failed(e.to_string()))?,
        test_settings: settings.fields().into_iter().collect(),
        process: record::process(),
        versions: record::versions(),
    })
}

/// What a sample holds: the data set's shapes with the nodes' names for them.
fn input(holds: Option<InputLayout>, takes: Option<InputLayout>) -> Vec<String> {
    let Some(holds) = holds else { return vec!["bytes".into()] };
    let names = takes.map(|takes| takes.tensors).unwrap_or_default();
    let name = |place: usize| names.get(place).map_or("", |tensor| tensor.name.as_str());
    let tensors = holds.tensors.iter().enumerate();
    tensors
        .map(|(place, tensor)| {
            format!("{} {}", name(place), layout::in_words(tensor)).trim().into()
        })
        .collect()
}

/// A verdict and what led to it.
struct Judgement {
    verdict: Verdict,
    reasons: Vec<String>,
    accuracy: Option<Accuracy>,
    official_accuracy: Option<String>,
}

impl Judgement {
    fn failed(reason: String) -> Self {
        Self { reasons: vec![reason], ..Self::new(Verdict::Failed) }
    }

    fn new(verdict: Verdict) -> Self {
        Self { verdict, reasons: Vec::new(), accuracy: None, official_accuracy: None }
    }

    /// A run that failed stays failed.
    fn fault(&mut self, reason: String) {
        if self.verdict != Verdict::Failed {
            self.verdict = Verdict::Invalid;
        }
        self.reasons.push(reason);
    }
}

/// Most errors of LoadGen's log that are repeated in the result.
const SHOWN_ERRORS: usize = 5;

/// What LoadGen's logs say of a run that came to its end.
fn judge(run: &Prepared, log: &DetailLog) -> Judgement {
    let config = &run.config;
    let mut judgement = Judgement::new(Verdict::Complete);
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
        match score(run) {
            Ok(Score::Computed(accuracy)) => judgement.accuracy = Some(accuracy),
            Ok(Score::By(command)) => judgement.official_accuracy = Some(command),
            Ok(Score::None) => {}
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

/// What is known of the accuracy.
enum Score {
    Computed(Accuracy),
    /// An official script computes it.
    By(String),
    /// There are no labels.
    None,
}

/// Checks that the accuracy log has an answer to each sample, and compares them with the labels.
fn score(run: &Prepared) -> Result<Score, String> {
    let Prepared { config, library, labels, .. } = run;
    let path = config.output.join(output::ACCURACY);
    let responses = official_log::responses(&path).map_err(|error| error.to_string())?;
    if let Some(labels) = labels {
        accuracy::write_label_map(&config.output, labels).map_err(|error| error.to_string())?;
        return accuracy::top1(responses, labels).map(Score::Computed);
    }
    match accuracy::script(&config.benchmark) {
        Some(script) => {
            script.check(responses, library.total_samples())?;
            Ok(Score::By(script.command(&path)))
        }
        None => {
            accuracy::check_complete(responses, library.total_samples())?;
            Ok(Score::None)
        }
    }
}
