//! Table of a sweep, for the terminal and as CSV.

use super::{listing::value as cell, table};
use crate::{
    RunError,
    record::Distribution,
    recording::sweep::{Best, Step, SweepRecord},
    units::count,
};

/// Returns the steps, the highest VALID rates, and the remark on latencies.
pub(crate) fn render(record: &SweepRecord) -> String {
    let has_tokens = record.has_tokens();
    let times: Vec<_> = TIMES.iter().filter(|time| has_tokens || !time.is_of_tokens).collect();
    let mut titles: Vec<String> = vec!["\nnodes".into(), format!("\n{}", record.load.unit())];
    titles.extend(["\nverdict", "\nsamples/s"].map(Into::into));
    if has_tokens {
        titles.push("\ntokens/s".into());
    }
    titles.extend(times.iter().map(|time| format!("{}, ms\np99", time.title)));
    titles.extend(["network,\n%", "QDL,\n%", "window,\ns", ""].map(Into::into));
    let rows = record.steps.iter().map(|step| {
        let mut row = vec![step.nodes.to_string(), step.load.to_string()];
        row.extend([step.verdict.to_string(), format!("{:.1}", step.samples_per_second)]);
        if has_tokens {
            row.push(step.tokens_per_second.map_or("–".into(), |tokens| format!("{tokens:.1}")));
        }
        let ms = |of: Option<&Distribution>| {
            of.map_or("–".into(), |of| format!("{:.2}", of.p99 as f64 / 1e6))
        };
        row.extend(times.iter().map(|time| ms((time.of)(step))));
        let percent = |share: f64| format!("{:.1}", share * 100.0);
        row.extend([percent(step.network_share), percent(step.qdl_share)]);
        row.push(step.window_seconds.map_or("–".into(), |seconds| format!("{seconds:.0}")));
        row.push(step.client_limit.as_ref().map(|_| "client's limit").unwrap_or_default().into());
        row
    });
    let table = table::table_of_rows(titles, 3, rows);
    let mut facts: Vec<_> =
        record.best.iter().map(|best| ("highest VALID rate", highest(record, best))).collect();
    facts.push(("latencies", record.load.remark().into()));
    let mut limited =
        record.steps.iter().rev().filter_map(|step| Some((step, step.client_limit.as_ref()?)));
    facts.extend(limited.next().map(|(step, why)| {
        let text = "the LoadGen node, not the cluster, may limit such steps";
        ("client's limit", format!("{text}; {}: {why}", step.folder))
    }));
    format!("{table}\n\n{}", table::facts(facts))
}

/// Describes the highest VALID rate of a set of nodes.
pub(crate) fn highest(record: &SweepRecord, best: &Best) -> String {
    let Best { nodes, load, lowest_invalid, .. } = best;
    let above =
        lowest_invalid.map_or("no higher rate was tried".into(), |rate| format!("{rate} is not"));
    let below = record.invalid_below(best);
    let below = match &below[..] {
        [] => String::new(),
        rates => format!("; lower rates that are not VALID: {}", join(rates)),
    };
    format!("{}: {load} queries/s, {above}{below}", count(*nodes, "node"))
}

fn join(rates: &[f64]) -> String {
    rates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Time of a step that the tables show.
struct Time {
    title: &'static str,
    of: fn(&Step) -> Option<&Distribution>,
    is_of_tokens: bool,
}

const TIMES: [Time; 3] = [
    Time { title: "latency", of: |step| Some(&step.latency_ns), is_of_tokens: false },
    Time { title: "TTFT", of: |step| step.first_token_ns.as_ref(), is_of_tokens: true },
    Time { title: "TPOT", of: |step| step.further_token_ns.as_ref(), is_of_tokens: true },
];

/// Returns a row for each step, as CSV. The columns are the fields of the record.
pub(crate) fn csv(record: &SweepRecord) -> Result<String, RunError> {
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("CSV table: {error}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    let figures = ["mean", "p50", "p90", "p99", "p99_9", "max"];
    let mut titles: Vec<String> = COLUMNS.map(str::to_owned).into();
    titles.extend(["load_unit", "latency_source"].map(str::to_owned));
    for time in ["latency", "first_token", "further_token"] {
        titles.extend(figures.map(|figure| format!("{time}_{figure}_ns")));
    }
    table.write_record(&titles).map_err(|error| failed(&error))?;
    for step in &record.steps {
        let value = serde_json::to_value(step).map_err(|error| failed(&error))?;
        let mut row: Vec<_> = COLUMNS.iter().map(|key| cell(value.get(key))).collect();
        row.extend([record.load.unit().to_owned(), record.latency_source.to_string()]);
        for time in ["latency_ns", "first_token_ns", "further_token_ns"] {
            row.extend(figures.map(|figure| cell(value.get(time).and_then(|of| of.get(figure)))));
        }
        table.write_record(&row).map_err(|error| failed(&error))?;
    }
    let bytes = table.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// Fields of a step that are columns.
const COLUMNS: [&str; 16] = [
    "nodes",
    "load",
    "searched",
    "folder",
    "verdict",
    "samples",
    "passes",
    "seconds",
    "window_seconds",
    "samples_per_second",
    "tokens_per_second",
    "tokens_per_second_per_user",
    "network_share",
    "qdl_share",
    "lost",
    "client_limit",
];
