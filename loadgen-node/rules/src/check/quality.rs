//! N2: the Closed division's targets of accuracy and latency, and its calibration document (rules, sections 4.1.1 and 2.3).

use super::{
    checked_folder::{Entry, Kind, Run, Subject},
    findings::Findings,
};
use crate::{
    Rule,
    book::{Benchmark, Quality, TokenLatencies},
    compliance::accuracy_of,
    judge::limits::{Limits, Server},
    official_log::DetailLog,
    placeholder::is_placeholder,
    result::Accuracy,
    tree::{ACCURACY_TXT, documents},
};

const N2: Rule = Rule::new(2);

/// The official scripts print percentages with three decimals.
const PRINTED: f64 = 0.001;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for entry in &subject.results {
        match entry.benchmark {
            Some(benchmark) => {
                accuracy(subject, entry, benchmark, found);
                latency(subject, entry, benchmark, found);
            }
            None => found.unknown(N2, &entry.place, "the table has no targets for it (N1)"),
        }
    }
    calibration(subject, found);
}

fn accuracy(subject: &Subject, entry: &Entry, benchmark: &Benchmark, found: &mut Findings) {
    let runs = entry.runs.iter().filter(|run| run.is_accuracy());
    let Some(run) = runs.into_iter().next() else {
        let text =
            "this run measured no accuracy: check the submission that its accuracy run is in";
        return found.unknown(N2, &entry.place, text);
    };
    let path = run.folder.join(ACCURACY_TXT);
    if path.exists() || subject.tree.is_some() {
        match accuracy_of(&path, benchmark) {
            Ok(values) => {
                let place = format!("{}/{ACCURACY_TXT}", run.place);
                targets(&place, benchmark, &values, found);
                as_counted(&place, run, benchmark, &values, found);
            }
            Err(error) => found.fail(N2, &run.place, error.to_string()),
        }
        return;
    }
    let measured = run.result().and_then(|record| record.accuracy.as_ref());
    match (measured, benchmark.quality.first()) {
        (Some(accuracy), Some(quality)) => {
            let values = [(quality.metric.clone(), accuracy.metric.value)];
            targets(&run.record_place, benchmark, &values, found);
        }
        _ => {
            let script = run.result().and_then(|record| record.official_accuracy.as_deref());
            let text = format!(
                "the accuracy is not known: keep what {} prints as {ACCURACY_TXT} beside the log",
                script.unwrap_or("the official accuracy script")
            );
            found.unknown(N2, &run.place, text);
        }
    }
}

/// The run's own count, where it made one, is what the script printed.
fn as_counted(
    place: &str,
    run: &Run,
    benchmark: &Benchmark,
    values: &[(String, f64)],
    found: &mut Findings,
) {
    let counted = run.result().and_then(|record| record.accuracy.as_ref());
    let (Some(counted), Some(quality)) = (counted, benchmark.quality.first()) else { return };
    for (metric, value) in values.iter().filter(|(metric, _)| *metric == quality.metric) {
        if !is_as_counted(*value, counted) {
            let text =
                format!("{metric} is {value}, and the run itself counted {}", counted.metric.value);
            found.fail(N2, place, text);
        }
    }
}

/// Whether an accuracy is the one that a run counted, but for the digits that are printed.
fn is_as_counted(value: f64, counted: &Accuracy) -> bool {
    (value - counted.metric.value).abs() <= PRINTED
}

fn targets(place: &str, benchmark: &Benchmark, values: &[(String, f64)], found: &mut Findings) {
    let before = found.problems(N2);
    for quality in &benchmark.quality {
        let Quality { metric, least, most, .. } = quality;
        // The official checker takes any line that reaches the target; ours must not be better with an edited file.
        let of_metric: Vec<_> =
            values.iter().filter(|(name, _)| name == metric).map(|(_, value)| *value).collect();
        if of_metric.is_empty() {
            found.fail(
                N2,
                place,
                format!("{metric} is missing; at least {} is asked for", shown(*least)),
            );
        }
        for value in of_metric {
            if value < *least {
                let least = shown(*least);
                found.fail(N2, place, format!("{metric} is {value}, less than {least}"));
            }
            if let Some(most) = most.filter(|most| value > *most) {
                let most = shown(most);
                found.fail(N2, place, format!("{metric} is {value}, more than {most}"));
            }
        }
    }
    found.pass_unless_more(N2, before, place, "the accuracy reaches its target");
}

/// A target as people write it: products of decimal fractions have long tails.
fn shown(target: f64) -> f64 {
    (target * 1e6).round() / 1e6
}

fn latency(subject: &Subject, entry: &Entry, benchmark: &Benchmark, found: &mut Findings) {
    let measures_tokens = benchmark.token_latencies == Some(TokenLatencies::Measured);
    for run in entry.runs.iter().filter(|run| run.measures()) {
        let Some(detail) = run.detail() else { continue };
        // TEST06 has settings of its own.
        if run.kind == Kind::Test("TEST06".into()) {
            continue;
        }
        let before = found.problems(N2);
        if measures_tokens && !is_on(detail, "requested_use_token_latencies") {
            let text = "use_token_latencies is not on, which the benchmark asks for";
            found.fail(N2, &run.place, text);
        }
        let limits = Limits::of(subject.table, subject.round, benchmark, entry.scenario);
        if let Some(limits) = limits.server {
            bounds(run, detail, &limits, found);
            measured(run, detail, benchmark, found);
            let text = "Server's latency bounds are those of the table, and were met";
            found.pass_unless_more(N2, before, &run.place, text);
        }
    }
}

fn bounds(run: &Run, detail: &DetailLog, limits: &Server, found: &mut Findings) {
    const TTFT: &str = "result_first_token_99.00_percentile_latency_ns";
    const TPOT: &str = "result_time_per_output_token_99.00_percentile_ns";
    const TARGET: &str = "effective_target_latency_ns";
    let measured = [
        (TARGET, limits.latency_ms),
        (TTFT, limits.first_token_ms),
        (TPOT, limits.further_token_ms),
    ];
    for (key, most_ms) in measured {
        let Some(most_ms) = most_ms else { continue };
        match detail.number(key) {
            Some(value) if value <= most_ms * 1e6 => {}
            Some(value) => {
                let text = format!("{key} is {value}, and at most {} is allowed", most_ms * 1e6);
                found.fail(N2, &run.place, text);
            }
            None => found.fail(N2, &run.place, format!("the detail log has no {key}")),
        }
    }
}

/// LoadGen's verdict is about the target; this is what was measured, in one place with it.
fn measured(run: &Run, detail: &DetailLog, benchmark: &Benchmark, found: &mut Findings) {
    let percentile = detail.number("result_99.00_percentile_latency_ns");
    if let (Some(most_ms), Some(value)) = (benchmark.server_latency_ms, percentile)
        && value > most_ms * 1e6
    {
        let text = format!("99 % of the queries took up to {value} ns, the bound is {most_ms} ms");
        found.fail(N2, &run.place, text);
    }
}

fn is_on(detail: &DetailLog, key: &str) -> bool {
    detail.value(key).and_then(|value| value.as_bool()) == Some(true)
}

fn calibration(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else {
        let text = "how quantization was calibrated is in a submission's documentation";
        return found.unknown(N2, "", text);
    };
    let places = [
        tree.home.document(documents::CALIBRATION),
        format!("{}/{}", tree.home.root(), documents::CALIBRATION),
    ];
    let says = |place: &&String| tree.text(place).is_some_and(|text| !is_placeholder(&text));
    match places.iter().find(says) {
        Some(place) => found.pass(N2, place, "calibration is documented"),
        None => {
            let text = "is missing or empty: say how quantization was calibrated, or that there is \
                        none";
            found.fail(N2, &places[0], text);
        }
    }
}
