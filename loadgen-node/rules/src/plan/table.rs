//! A plan as a table, for the terminal.

use std::fmt::Write as _;

use netdiv_contract::tokens::ID_BYTES;

use super::{Needs, Plan, PlannedRun};
use crate::{
    Scenario,
    book::{TokenLimits, rounded_target},
};

impl Plan {
    /// Formats the plan as text, for the terminal.
    pub fn text(&self) -> String {
        let rate = rounded_target(self.samples_per_second);
        let mut text = format!("{} {} at {rate} samples/s", self.benchmark, self.scenario.word());
        let mut row = |label: &str, value: String| {
            // Writing into a String cannot fail.
            let _ = write!(text, "\n  {label:<17}{value}");
        };
        row("queries", format!("{} with {} samples", self.queries, self.samples));
        match self.scenario {
            Scenario::Offline => row(
                "user.conf",
                format!(
                    "*.Offline.target_qps = {rate}, for which LoadGen issues these samples: 10 % more than 600 s need, so \
                     that a SUT that is up to 10 % faster still runs 600 s"
                ),
            ),
            Scenario::Server => row(
                "user.conf",
                "*.Server.target_qps: --mode find-peak searches for the highest that keeps the bound".into(),
            ),
            Scenario::SingleStream | Scenario::MultiStream => {}
        }
        row("duration", duration(self.seconds) + "; at least 600 s (section 3)");
        row("LoadGen's memory", amount(self.loadgen_bytes as f64, "B"));
        let accuracy =
            format!("{} samples, {}", self.accuracy_samples, duration(self.accuracy_seconds));
        row("accuracy run", accuracy);
        if let Some(tokens) = &self.tokens {
            row("prompts", format!("at most {} tokens", tokens.prompt));
            row("outputs", outputs(tokens, self.mean_output_tokens, rate, self.samples));
        }
        for needs in &self.needs {
            row("LoadGen node", needs.loaded());
            row("SUT node", needs.node());
        }
        for needs in &self.needs {
            let way = |bytes: u64| match bytes as f64 * self.samples_per_second {
                0.0 => "negligible".to_owned(),
                bytes => format!("{} ({})", amount(bytes, "B/s"), amount(bytes * 8.0, "b/s")),
            };
            let (to, back) = (way(needs.sample_bytes), way(needs.answer_bytes));
            row("network", format!("{to} to the SUT, {back} back: {} (Appendix B)", needs.formula));
        }
        if let Some(early) = &self.early_stopping {
            let percent = early.percentile * 100.0;
            let above = match self.scenario {
                Scenario::Server => "over the bound",
                _ => "above the estimate",
            };
            let allowed = early.allowed.map_or("too few queries".into(), |allowed| {
                format!("at most {allowed} of {} queries {above}", self.queries)
            });
            row("early stopping", format!("{allowed}, {percent:.0}th percentile (Appendix A)"));
            for (overlatency, queries) in &early.least_queries {
                row("", format!("{overlatency} {above}: {queries} queries or more"));
            }
            row(
                "",
                format!("section 3 suggests {} queries to start with", early.suggested_queries),
            );
        }
        for note in &self.notes {
            row("note", note.clone());
        }
        text + &self.all_runs()
    }

    fn all_runs(&self) -> String {
        if self.runs.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "\n\nAll runs of a submission, with {} samples/s in each scenario; startup, sample loading and LoadGen's \
             preparation take additional time\n",
            rounded_target(self.samples_per_second)
        );
        let mut line = |scenario: &str, purpose: &str, samples: &str, seconds: f64| {
            // Writing into a String cannot fail.
            let _ =
                write!(text, "\n  {scenario:<10}{purpose:<13}{samples:>11}  {}", duration(seconds));
        };
        for PlannedRun { scenario, purpose, samples, seconds } in &self.runs {
            line(scenario.word(), purpose, &samples.to_string(), *seconds);
        }
        line("all runs", "", "", self.runs.iter().map(|run| run.seconds).sum());
        text + "\n"
    }
}

impl Needs {
    /// Describes the samples that LoadGen loads.
    pub(super) fn loaded(&self) -> String {
        let [performance, accuracy] = [self.loaded_bytes, self.all_bytes].map(bytes);
        format!(
            "{performance} of samples in a performance run, {accuracy} in the accuracy run ({})",
            self.name
        )
    }

    /// Describes the settings and the memory of a node.
    pub(super) fn node(&self) -> String {
        let up_to = |batch: u64| format!("batches of up to {batch}");
        let batch = self.batch.map_or("any batch".into(), up_to);
        let weights =
            self.weight_bytes.map(|all| format!("{} of weights at half precision; ", bytes(all)));
        format!(
            "{}{} suffice for {batch} ({})",
            weights.unwrap_or_default(),
            self.settings(),
            self.name
        )
    }
}

fn bytes(bytes: u64) -> String {
    if bytes == 0 { "a negligible amount".into() } else { amount(bytes as f64, "B") }
}

/// Describes the tokens that a language model writes at a rate, and in the whole run.
fn outputs(limits: &TokenLimits, mean: Option<f64>, rate: f64, samples: u64) -> String {
    let TokenLimits { output_min, output_max, .. } = limits;
    let (each, what) = match mean {
        Some(mean) => (mean, format!("{mean} on average")),
        None => (*output_max as f64, "the longest".into()),
    };
    format!(
        "{output_min} to {output_max} tokens; with {what}: {} in this run, and {} of int32 ids back",
        amount(each * rate, "tokens/s") + ", " + &amount(each * samples as f64, "tokens"),
        amount(each * rate * ID_BYTES as f64, "B/s")
    )
}

/// Formats a duration in seconds: in tenths below 10 s, in hours from two hours on.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{s:.0} s"),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Formats a number with a decimal prefix and about three digits.
pub(super) fn amount(number: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P"];
    let (mut number, mut place) = (number, 0);
    while number >= 999.5 && place + 1 < prefixes.len() {
        (number, place) = (number / 1000.0, place + 1);
    }
    let digits = if number >= 99.5 || place == 0 { 0 } else { 1 };
    format!("{number:.digits$} {}{unit}", prefixes[place])
}
