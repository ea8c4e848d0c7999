//! LoadGen's settings.

use std::{collections::BTreeMap, str::FromStr};

use super::choice::Choice;
use crate::{
    Finding, Rule,
    book::{Benchmark, Table, TokenLatencies},
    judge::limits::{Limits, Server},
};

/// LoadGen asks for a tenth more samples in Offline than the duration takes.
const OFFLINE_SLACK: f64 = 1.1;

const NS_PER_MS: f64 = 1e6;

const QUERIES: Rule = Rule::new(32);

/// Reads settings, and keeps what was found.
struct Settings<'a> {
    values: &'a BTreeMap<String, String>,
    findings: Vec<Finding>,
}

impl Settings<'_> {
    /// A field. One that is not there, or is something else, is a finding.
    fn get<T: FromStr>(&mut self, rule: Rule, name: &str) -> Option<T> {
        let value = self.values.get(name).and_then(|text| text.parse().ok());
        if value.is_none() {
            let text = "LoadGen's settings do not have it; give all fields of TestSettings";
            self.findings.push(Finding::cannot_tell(rule, name, text));
        }
        value
    }

    fn fail(&mut self, rule: Rule, name: &str, text: String) {
        self.findings.push(Finding::fail(rule, name, text));
    }

    /// A flag that must have that value.
    fn flag(&mut self, rule: Rule, name: &str, want: bool, why: &str) {
        if self.get::<bool>(rule, name).is_some_and(|is| is != want) {
            self.fail(rule, name, format!("it must be {want}: {why}"));
        }
    }

    /// A time in nanoseconds that must not be above so many milliseconds.
    fn bound(&mut self, name: &str, what: &str, benchmark: &str, most_ms: f64) {
        if let Some(ns) = self.get::<f64>(QUERIES, name)
            && ns > most_ms * NS_PER_MS
        {
            let ms = ns / NS_PER_MS;
            self.fail(
                QUERIES,
                name,
                format!("{what} of {benchmark} is {most_ms} ms, not {ms} ms; leave it to LoadGen's mlperf.conf"),
            );
        }
    }
}

/// Scenario, duration, number of samples and latencies (rules, sections 3 and 4.1.1).
pub(super) fn check(table: &Table, benchmark: &Benchmark, choice: &Choice<'_>) -> Vec<Finding> {
    let mut settings = Settings { values: choice.test_settings, findings: Vec::new() };
    let name = &benchmark.name;
    if !benchmark.scenarios.contains(&choice.scenario) {
        let required = benchmark.scenarios.iter().map(|scenario| scenario.word());
        let required = required.collect::<Vec<_>>().join(" and ");
        let word = choice.scenario.word();
        settings.fail(
            QUERIES,
            "scenario",
            format!("{name} has {required}, not {word}; choose one of these"),
        );
    }
    match benchmark.token_latencies {
        Some(TokenLatencies::Measured) => settings.flag(
            QUERIES,
            "use_token_latencies",
            true,
            "first token and time for each token are what this benchmark is judged by",
        ),
        Some(TokenLatencies::Inferred) => settings.flag(
            QUERIES,
            "infer_token_latencies",
            true,
            "the result of this benchmark is in tokens per second",
        ),
        None => {}
    }
    if choice.performs() {
        let limits = Limits::of(table, None, benchmark, Some(choice.scenario));
        duration(&mut settings, limits.min_duration_ms);
        samples(&mut settings, benchmark, &limits, choice);
        if let Some(limits) = &limits.server {
            latencies(&mut settings, name, limits);
        }
    }
    settings.findings
}

fn duration(settings: &mut Settings<'_>, least: u64) {
    if let Some(ms) = settings.get::<u64>(QUERIES, "min_duration_ms")
        && ms < least
    {
        let text = format!(
            "{ms} ms is too short; a run takes {least} ms or more, as LoadGen's mlperf.conf says: do not set it"
        );
        settings.fail(QUERIES, "min_duration_ms", text);
    }
    if let Some(ms @ 1..) = settings.get::<u64>(QUERIES, "max_duration_ms")
        && ms < least
    {
        let text = format!(
            "it would end the run after {ms} ms, before the {least} ms that it has to take; remove it"
        );
        settings.fail(QUERIES, "max_duration_ms", text);
    }
}

fn samples(
    settings: &mut Settings<'_>,
    benchmark: &Benchmark,
    limits: &Limits,
    choice: &Choice<'_>,
) {
    let name = &benchmark.name;
    let field = "performance_sample_count_override";
    if let Some(over) = settings.get::<u64>(QUERIES, field) {
        let (count, place) = match over {
            0 => (choice.performance_samples, "performance samples"),
            over => (over.min(choice.dataset_samples), field),
        };
        let least = limits.performance_samples;
        if count < least {
            let text = format!(
                "{count} samples, but the QSL of {name} has {least} at least; use as many, or more"
            );
            settings.fail(QUERIES, place, text);
        }
    }
    let why =
        "every sample of this benchmark is issued equally often; leave it to LoadGen's mlperf.conf";
    if benchmark.equal_issue {
        settings.flag(QUERIES, "sample_concatenate_permutation", true, why);
    }
    for field in ["performance_issue_unique", "performance_issue_same"] {
        settings.flag(
            QUERIES,
            field,
            false,
            "samples are chosen at random; only an audit.config sets it",
        );
    }
    if let Some(least) = limits.offline_samples {
        let seconds = settings.get::<f64>(QUERIES, "min_duration_ms").map(|ms| ms / 1000.0);
        let rate = settings.get::<f64>(QUERIES, "offline_expected_qps");
        let count = settings.get::<u64>(QUERIES, "min_query_count");
        let (Some(seconds), Some(rate), Some(count)) = (seconds, rate, count) else { return };
        let samples = count.max((OFFLINE_SLACK * seconds * rate) as u64);
        if samples < least {
            let text = format!(
                "Offline's query would have {samples} samples, and {name} wants {least} at least; leave min_query_count to \
                 LoadGen's mlperf.conf"
            );
            settings.fail(QUERIES, "min_query_count", text);
        }
    }
}

fn latencies(settings: &mut Settings<'_>, name: &str, limits: &Server) {
    let bounds = [
        ("server_target_latency_ns", "Server's latency bound", limits.latency_ms),
        ("server_ttft_latency", "the bound for the first token", limits.first_token_ms),
        ("server_tpot_latency", "the bound for each further token", limits.further_token_ms),
    ];
    for (field, bound, most) in bounds {
        if let Some(most) = most {
            settings.bound(field, bound, name, most);
        }
    }
    let field = "server_target_latency_percentile";
    if let Some(share) = settings.get::<f64>(QUERIES, field)
        && share < limits.percentile
    {
        let text =
            format!("99 % of queries have to meet the bound, not {} %; remove it", share * 100.0);
        settings.fail(QUERIES, field, text);
    }
    settings.flag(QUERIES, "server_coalesce_queries", false, "a query of Server has one sample");
}

/// Seeds, which are those of one round (rules, section 2.4).
pub(super) fn seeds(table: &Table, choice: &Choice<'_>) -> Vec<Finding> {
    let rule = Rule::new(31);
    let mut settings = Settings { values: choice.test_settings, findings: Vec::new() };
    let have = ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"]
        .map(|field| settings.get::<u64>(rule, field));
    if let [Some(qsl), Some(sample_index), Some(schedule)] = have {
        let known = table.rounds.iter().any(|round| {
            let seeds = round.seeds;
            [seeds.qsl, seeds.sample_index, seeds.schedule] == [qsl, sample_index, schedule]
        });
        if !known {
            let rounds: Vec<_> = table.rounds.iter().map(|round| round.name.to_string()).collect();
            let text = format!(
                "{qsl}, {sample_index} and {schedule} are not the seeds of {}; leave them to LoadGen's mlperf.conf, and \
                 use the LoadGen of the round",
                rounds.join(", ")
            );
            settings.fail(rule, "seeds", text);
        }
    }
    settings.flag(rule, "test05", false, "it changes the seeds");
    settings.findings
}
