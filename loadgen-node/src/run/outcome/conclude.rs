//! End of a run: from LoadGen's logs and our own counters to `result.json`.

use std::{collections::BTreeMap, path::Path};

use loadgen_sys::{AnswerTokens, Mode, StartTestError};
use netdiv_contract::layout::{self, InputLayout};
use netdiv_node_common::sanitise::shell_word;
use netdiv_rules::{
    Finding,
    eligibility::{after_run, is_required},
};
use tracing::{error, warn};

use crate::{
    RunError,
    error::EXIT_FAILED,
    folder_lock,
    official_log::{self, DetailLog},
    output,
    record::{RunResult, Samples, Steady, Verdict},
    recording::{histograms, series, steady::steady},
    report,
    run::{
        guard::watchdog,
        outcome::{
            accuracy::script,
            judgement::RunJudgement,
            record::{self, RunCounters},
        },
        progress,
        setup::loadgen_test::LoadGenTest,
    },
};

/// Writes the result and prints the closing table.
pub(crate) fn finish(
    test: &LoadGenTest,
    counted: RunCounters,
    outcome: Result<(), StartTestError>,
) -> Result<Verdict, RunError> {
    let folder = &test.config.output;
    histograms::write(folder, &counted.reports, counted.began, counted.took).unwrap_or_else(
        |error| warn!("the run is recorded without {}: {error}", histograms::HISTOGRAMS),
    );
    let log = DetailLog::read(&folder.join(output::DETAIL));
    let judgement = RunJudgement::new(test, &counted, outcome, log.as_ref());
    let mut result = result(test, counted, judgement, &log.unwrap_or_default());
    result.logs = official_log::digests(folder).map_err(RunError::failed)?;
    let json = serde_json::to_vec_pretty(&result)
        .map_err(|error| RunError::Failed(format!("result.json: {error}")))?;
    output::write(&folder.join(output::RESULT), &json).map_err(|error| match result.verdict {
        // The reasons for the failure appear nowhere else.
        Verdict::Failed => RunError::Failed(format!("{}; and {error}", result.reasons.join("; "))),
        _ => error,
    })?;
    let table = report::run::render(&result);
    let logs = folder.display().to_string();
    // A name that begins with a hyphen would look like an option.
    let run = shell_word(&if logs.starts_with('-') { format!("./{logs}") } else { logs.clone() });
    let script = result.official_accuracy.as_ref().and_then(|_| script(&result.benchmark));
    let accuracy = script.map_or_else(String::new, |script| {
        let arguments = script.arguments();
        format!("\n  for the accuracy, with INFERENCE a checkout of mlcommons/inference: loadgen-node accuracy {run} {arguments}")
    });
    output::report(format_args!(
        "{table}\n  logs in {logs}{accuracy}\n  for a report: loadgen-node report {run}"
    ));
    Ok(result.verdict)
}

/// Marks a run as spoiled although LoadGen's test has succeeded, and returns its error. LoadGen has
/// closed its logs, which may contain VALID, so the reason is added to its detail log.
pub(crate) fn mark_spoiled(test: &LoadGenTest, reason: String) -> StartTestError {
    let error = StartTestError(reason);
    // The result is still written, with the reason.
    let marked = output::mark_failed(&test.config.output, &error.to_string());
    marked.unwrap_or_else(|error| {
        error!("{error}: LoadGen's own log does not say that the run failed")
    });
    error
}

/// Ends the process of a failed run whose test LoadGen does not end. Makes LoadGen close its logs
/// and writes the result first.
pub(crate) fn give_up(test: &LoadGenTest, counted: RunCounters, reason: String) -> ! {
    progress::restore();
    watchdog::exit_later();
    watchdog::end_loadgen(reason.clone());
    let finished = finish(test, counted, Err(StartTestError(reason)));
    finished.inspect_err(|error| error!("{error}")).ok();
    folder_lock::tidy(&test.config.output);
    loadgen_sys::exit_now(EXIT_FAILED);
}

/// Returns the record of a run that has not begun.
pub(crate) fn record_without_outcome(test: &LoadGenTest, counted: RunCounters) -> RunResult {
    let judgement = RunJudgement::without_reasons(Verdict::Failed);
    result(test, counted, judgement, &DetailLog::default())
}

/// Combines LoadGen's detail log and our counters. The digests of the logs are missing.
fn result(
    test: &LoadGenTest,
    counted: RunCounters,
    judgement: RunJudgement,
    log: &DetailLog,
) -> RunResult {
    let LoadGenTest { config, library, settings, .. } = test;
    let (issued, completed) = (counted.issued, counted.completed());
    let benchmark = config.benchmarks.find(&config.benchmark);
    let after = after_run(config.division, benchmark, library.part(), &counted.nodes);
    let is_asked = |finding: &Finding| is_required(config.division, finding.rule);
    let (findings, waived) = counted.findings.iter().cloned().chain(after).partition(is_asked);
    let measured = config.mode != Mode::Accuracy && judgement.verdict != Verdict::Failed;
    let mut result = RunResult {
        samples: Samples { issued, completed, lost: issued - completed, late: None },
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        division: config.division,
        rehearsal: config.rehearsal,
        findings,
        waived,
        scenario: config.scenario,
        mode: config.mode,
        benchmark: config.benchmark.clone(),
        dataset: config.dataset.clone(),
        dataset_samples: library.total_samples() as u64,
        dataset_part: library.part(),
        prepared: library.prepared(),
        input: input(library.layout(), counted.input),
        encoding: config.encoding,
        sample_bytes: library.lengths(),
        prompt_tokens: library.elements().filter(|_| test.tokens != AnswerTokens::Uncounted),
        transport: counted.transport,
        tls: counted.tls,
        checksums: config.checksums,
        metric: None,
        token_metric: None,
        steady: (config.mode == Mode::Performance && measured)
            .then(|| steady_rate(&config.output))
            .flatten(),
        accuracy: judgement.accuracy,
        official_accuracy: judgement.official_accuracy,
        loadgen_latency_ns: BTreeMap::new(),
        sut_name: None,
        get_sut_name_duration_ns: None,
        nodes: counted.nodes,
        connections_per_node: counted.connections_per_node,
        streams_per_connection: counted.streams_per_connection,
        started: Some(humantime::format_rfc3339_millis(counted.began).to_string()),
        test_seconds: counted.took.as_secs_f64(),
        shortages: counted.shortages,
        interfaces: counted.interfaces,
        evidence: counted.evidence,
        digests: counted.digests,
        settings: config.recorded_settings.clone(),
        logs: BTreeMap::new(),
        test_settings: settings.fields().into_iter().collect(),
        process: record::process(),
        versions: record::versions(),
    };
    official_log::set_figures(&mut result, log);
    result
}

/// Returns the rate without ramp-up and drain, from the series of the run.
fn steady_rate(folder: &Path) -> Option<Steady> {
    let rows = series::read(folder);
    steady(&rows.inspect_err(|why| warn!("no rate of the steady state: {why}")).ok()?)
}

/// Returns the tensors of a sample: their shapes are those of the data set (`holds`), their names
/// those of the nodes' input (`takes`).
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
