//! Judges accuracy, latency and calibration (rules, sections 4.1.1 and 2.3).

use crate::{
    Rule, Scenario,
    book::Benchmark,
    compliance::{accuracy_of, printed_accuracy},
    input::files,
    official_log::{DetailLog, token_metric},
    placeholder::is_placeholder,
    record::{Accuracy, Metric, RunResult},
    rules::settings,
    subject::{Findings, PlaceJudgement, ResultEntry, Subject},
    tree::{ACCURACY_TXT, documents},
};

/// Tolerance of printed percentages: the official scripts print three decimals.
const PERCENT_TOLERANCE: f64 = 0.001;

/// Tolerance of printed tokens per sample: the official scripts print one decimal.
const TOKENS_TOLERANCE: f64 = 0.0501;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        let Some(benchmark) = found.benchmark(entry) else { continue };
        if !subject.is_upcoming {
            accuracy(subject, entry, benchmark, found);
        }
        latency(subject, entry, benchmark, found);
    }
    calibration(subject, found);
}

fn accuracy(subject: &Subject, entry: &ResultEntry, benchmark: &Benchmark, found: &mut Findings) {
    let Some(run) = entry.runs.iter().find(|run| run.is_accuracy()) else {
        let text =
            "this run measured no accuracy: check the submission that contains its accuracy run";
        return found.unknown(&entry.place, text);
    };
    if run.is_set_aside() {
        return;
    }
    let record = run.result();
    if let Some(text) = record.and_then(miscounted) {
        found.fail(&run.record_place, text);
    }
    // The accuracy that the run computed itself, as metric and value; `None` for benchmarks whose
    // accuracy an official script computes.
    let counted = record.and_then(|record| record.accuracy.as_ref());
    let counted = counted.zip(benchmark.quality.first());
    let counted = counted.map(|(counted, quality)| (quality.metric.clone(), counted.metric.value));
    let path = run.folder.join(ACCURACY_TXT);
    if path.exists() || subject.tree.is_some() {
        let values = match subject.tree {
            Some(_) => accuracy_of(&path, benchmark, &subject.formats()),
            // `submission` converts the output to the form that the checker reads.
            None => {
                printed_accuracy(&path, benchmark, &subject.formats()).map(|(values, _)| values)
            }
        };
        match values {
            Ok(values) => {
                let mut at = found.at(format!("{}/{ACCURACY_TXT}", run.place));
                at.fail_each(benchmark.missed_targets(&values));
                at.fail_each(
                    counted.iter().flat_map(|counted| printed_differences(&values, counted)),
                );
                at.fail_each(record.and_then(|record| token_count_difference(&values, record)));
                let text = files::read_to_string(&path).unwrap_or_default();
                let record = record.and_then(|record| record.accuracy.as_ref());
                if at.is_kept() {
                    at.fail_each(record.and_then(|accuracy| other_counts(&text, accuracy)));
                }
                at.or_pass(REACHED);
            }
            Err(_) if !path.exists() => {
                found.unknown(format!("{}/{ACCURACY_TXT}", run.place), "is missing (N35)");
            }
            Err(error) => {
                let mut at = found.at(&run.place);
                let folder = format!("{}/", run.folder.display());
                at.fail_each(error.problems().iter().map(|one| one.replace(&folder, "")));
            }
        }
    } else if let Some(counted) = counted {
        let mut at = found.at(&run.record_place);
        at.fail_each(benchmark.missed_targets(&[counted]));
        at.or_pass(REACHED);
    } else {
        let script = record.and_then(|record| record.official_accuracy.as_deref());
        let text = format!(
            "the accuracy is unknown: save the output of {} as {ACCURACY_TXT} beside the log",
            script.unwrap_or("the official accuracy script")
        );
        found.unknown(&run.place, text);
    }
}

/// Names of the accuracy metrics that a run computes itself, without an official script.
const COUNTED: [&str; 2] = ["top-1", "exact match"];

/// Returns a finding if the run's own accuracy is not the share of right answers among all samples,
/// within the reported digits.
fn miscounted(record: &RunResult) -> Option<String> {
    let Accuracy { metric, reported, correct, total } = record.accuracy.as_ref()?;
    let (value, all) = (metric.value, record.dataset_samples);
    let percent = 100.0 * *correct as f64 / *total as f64;
    let is_reported = reported.parse().is_ok_and(|said: f64| (said - value).abs() <= value * 1e-4);
    let is_right = total == &all && (percent - value).abs() <= 1e-6 && is_reported;
    if metric.unit != "%" || !COUNTED.contains(&metric.name.as_str()) {
        let Metric { name, unit, .. } = metric;
        return Some(format!(
            "the accuracy is `{name}` in `{unit}`, and a run counts {} in %: take the record as the run wrote it",
            COUNTED.join(" or ")
        ));
    }
    (!is_right).then(|| {
        format!(
            "the accuracy is {value} %, reported as {reported}, with {correct} right answers to {total} of {all} samples, which \
             do not agree: take the record as the run wrote it"
        )
    })
}

const REACHED: &str = "the accuracy reaches its target";

/// Returns printed values of the run's own metric that differ from the run's value by more than the
/// printed digits allow.
fn printed_differences(
    values: &[(String, f64)],
    (metric, counted): &(String, f64),
) -> impl Iterator<Item = String> {
    let printed = values.iter().filter(move |(name, _)| name == metric).map(|(_, value)| value);
    let differ = printed.filter(move |value| (*value - counted).abs() > PERCENT_TOLERANCE);
    differ.map(move |value| format!("{metric} is {value}, and the run itself counted {counted}"))
}

/// Returns a finding if the script's tokens per answer differ from the run's by more than the
/// printed decimal allows.
fn token_count_difference(values: &[(String, f64)], record: &RunResult) -> Option<String> {
    let tokens = record.nodes.iter().filter_map(|node| Some(node.tokens.as_ref()?.total));
    let total = tokens.reduce(u64::saturating_add)?;
    let counted = total as f64 / record.samples.completed as f64;
    let printed = values.iter().filter(|(name, _)| name == "TOKENS_PER_SAMPLE");
    let (_, other) =
        printed.into_iter().find(|(_, said)| (said - counted).abs() > TOKENS_TOLERANCE)?;
    Some(format!(
        "TOKENS_PER_SAMPLE is {other}, and the answers of the run had {counted:.2}: run the script on that run's log, with \
         --dtype int32"
    ))
}

/// Returns a finding if `text`, the output of the official script, has other numbers of right
/// answers (`good=`) or samples (`total=`) than the run counted.
fn other_counts(text: &str, Accuracy { correct, total, .. }: &Accuracy) -> Option<String> {
    let printed = |line: &str, name: &str| {
        let (_, rest) = line.split_once(name)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    let is_other = |line: &&str| {
        [(" good=", correct), (" total=", total)]
            .into_iter()
            .any(|(name, counted)| printed(line, name).is_some_and(|said| said != *counted))
    };
    let line = text.lines().filter(|line| line.starts_with("accuracy=")).find(is_other)?;
    Some(format!(
        "has the line `{line}`, and the run itself counted {correct} right answers to {total} samples"
    ))
}

fn latency(subject: &Subject, entry: &ResultEntry, benchmark: &Benchmark, found: &mut Findings) {
    for run in &entry.runs {
        let Some(detail) = run.detail() else { continue };
        let mut at = found.at(&run.place);
        let is_bound = run.is_performance() && !run.has_own_length();
        let metric = entry.scenario.and_then(|scenario| token_metric(scenario, detail));
        if !subject.is_upcoming {
            at.fail_each(settings::wrong_switches(Rule::N2, subject, entry, run));
        }
        if is_bound
            && !subject.is_upcoming
            && benchmark.token_latencies.is_some()
            && metric.is_none()
        {
            at.fail("the detail log has no tokens per second, which are this benchmark's metric");
        }
        if is_bound && entry.scenario == Some(Scenario::Server) {
            bounds(subject, detail, benchmark, &mut at);
            at.fail_each(measured(detail, benchmark));
            at.or_pass("Server's latency bounds are those of the table, and were met");
        }
    }
}

fn bounds(subject: &Subject, detail: &DetailLog, benchmark: &Benchmark, at: &mut PlaceJudgement) {
    let Benchmark { server_latency_ms, ttft_ms, tpot_ms, .. } = benchmark;
    // The official checker may have a bound that the rules lack.
    let latency_ms = server_latency_ms.or(benchmark.checker("server_latency_ms"));
    let asked = [
        ("effective_target_latency_ns", latency_ms),
        ("requested_server_ttft_latency", *ttft_ms),
        ("requested_server_tpot_latency", *tpot_ms),
    ];
    // The official checker requires these to be below the bound; equal is too much.
    let measured = [
        ("result_first_token_99.00_percentile_latency_ns", *ttft_ms, "ttft_ms"),
        ("result_time_per_output_token_99.00_percentile_ns", *tpot_ms, "tpot_ms"),
    ];
    let in_ns = |most_ms: Option<f64>| most_ms.map(|ms| ms * 1e6);
    for (key, most) in asked.map(|(key, most)| (key, in_ns(most))) {
        let Some(most) = most else { continue };
        let wanted = format!(
            "more than the maximum {most}: leave it to LoadGen's mlperf.conf, and run again"
        );
        at.require_logged(key, detail.number(key), |value| *value <= most, wanted);
    }
    for (key, bound, figure) in measured {
        let Some(bound) = in_ns(bound).filter(|_| !subject.is_upcoming) else { continue };
        let value = detail.number(key);
        let of_rules = in_ns(benchmark.rules(figure));
        let of_rules = of_rules.filter(|most| value.is_some_and(|value| value < *most));
        let remark = of_rules.map_or(String::new(), |most| format!("; the rules state {most}"));
        let wanted = format!("and must be below {bound}{remark}");
        at.require_logged(key, value, |value| *value < bound, wanted);
    }
}

/// Returns a finding if the measured latency exceeds the benchmark's bound. LoadGen's verdict
/// compares it with the target setting only.
fn measured(detail: &DetailLog, benchmark: &Benchmark) -> Option<String> {
    let percentile = detail.number("result_99.00_percentile_latency_ns")?;
    let most_ms = benchmark.server_latency_ms?;
    (percentile > most_ms * 1e6).then(|| {
        format!("99 % of the queries took up to {percentile} ns, the bound is {most_ms} ms")
    })
}

fn calibration(subject: &Subject, found: &mut Findings) {
    let text = "how quantization was calibrated";
    let Some(tree) = found.tree(subject, text) else { return };
    let places = [
        tree.home.document(documents::CALIBRATION),
        format!("{}/{}", tree.home.root(), documents::CALIBRATION),
    ];
    let says = |place: &&String| tree.text(place).is_some_and(|text| !is_placeholder(&text));
    match places.iter().find(says) {
        Some(place) => found.pass(place, "calibration is documented"),
        None => {
            let text = "is missing or empty: describe how quantization was calibrated, or state that the model is not quantized";
            found.fail(&places[0], text);
        }
    }
}
