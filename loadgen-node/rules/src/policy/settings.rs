//! Checks of LoadGen's settings.

use std::{collections::BTreeMap, str::FromStr};

use super::choice::RunChoices;
use crate::{
    Finding,
    Rule::{self, N1, N2, N31, N32},
    Scenario,
    book::{Benchmark, Round, Seeds, Table},
    judge::{
        limits::{END_SETTINGS, Limits, OFFLINE_SLACK, ServerLimits, check_early_end},
        suite::check_benchmark_round,
        switches::{COALESCE, COALESCED, switches},
    },
};

const NS_PER_MS: f64 = 1e6;

/// Reads LoadGen's settings, and collects findings about `rule`.
struct SettingsJudge<'a> {
    rule: Rule,
    values: &'a BTreeMap<String, String>,
    findings: Vec<Finding>,
}

impl<'a> SettingsJudge<'a> {
    fn of(rule: Rule, choice: &RunChoices<'a>) -> Self {
        Self { rule, values: choice.test_settings, findings: Vec::new() }
    }

    /// Returns the value of a field. A missing or invalid field is a finding.
    fn get<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let value = self.values.get(name).and_then(|text| text.parse().ok());
        if value.is_none() {
            let text = "LoadGen's settings lack it; pass all fields of TestSettings";
            self.findings.push(Finding::cannot_tell(self.rule, name, text));
        }
        value
    }

    fn fail(&mut self, name: &str, text: String) {
        self.findings.push(Finding::fail(self.rule, name, text));
    }

    /// Requires a field to pass a test; `wrong` describes the violation.
    fn ask<T: FromStr>(
        &mut self,
        name: &str,
        is_right: impl FnOnce(&T) -> bool,
        wrong: impl FnOnce(T) -> String,
    ) {
        if let Some(value) = self.get(name).filter(|value| !is_right(value)) {
            self.fail(name, wrong(value));
        }
    }

    /// Requires a flag to have a value.
    fn flag(&mut self, name: &str, want: bool, why: &str) {
        self.ask(name, |is: &bool| *is == want, |_| format!("it must be {want}: {why}"));
    }
}

/// Judges scenario, duration, number of samples and latencies (rules, sections 3 and 4.1.1).
pub(super) fn check(table: &Table, benchmark: &Benchmark, choice: &RunChoices<'_>) -> Vec<Finding> {
    let mut settings = SettingsJudge::of(N32, choice);
    let name = &benchmark.name;
    if !benchmark.scenarios.contains(&choice.scenario) {
        let (required, word) = (benchmark.required_scenarios(), choice.scenario.word());
        settings
            .fail("scenario", format!("{name} has {required}, not {word}; choose one of these"));
    }
    for switch in switches(benchmark) {
        // The switches of N2, for measuring latencies, apply to accuracy runs, too.
        if switch.rule == N2 || choice.is_performance() {
            settings.rule = switch.rule;
            settings.flag(switch.setting, switch.on, switch.why);
        }
    }
    settings.rule = N32;
    let coalesces = choice.test_settings.get(COALESCE).is_some_and(|on| on == "true");
    if choice.scenario == Scenario::Server && coalesces {
        settings.findings.push(Finding::pass(N32, COALESCE, COALESCED));
    }
    if choice.is_performance() {
        let limits = Limits::of(table, None, benchmark, Some(choice.scenario));
        duration(&mut settings, limits.min_duration_ms);
        samples(&mut settings, benchmark, &limits, choice);
        if let Some(limits) = &limits.server {
            latencies(&mut settings, name, limits);
        }
    }
    settings.findings
}

fn duration(settings: &mut SettingsJudge<'_>, least: u64) {
    settings.ask("min_duration_ms", |ms: &u64| *ms >= least, |ms| {
        format!(
            "{ms} ms is too short; the minimum is {least} ms, as in LoadGen's mlperf.conf: do not set it"
        )
    });
    for setting in END_SETTINGS {
        let Some(value) = settings.get::<u64>(setting) else { continue };
        if let Some(why) = check_early_end(setting, value, least) {
            settings.fail(setting, why);
        }
    }
}

fn samples(
    settings: &mut SettingsJudge<'_>,
    benchmark: &Benchmark,
    limits: &Limits,
    choice: &RunChoices<'_>,
) {
    let name = &benchmark.name;
    let field = "performance_sample_count_override";
    if let Some(over) = settings.get::<u64>(field) {
        let (count, place) = match over {
            0 => (choice.performance_samples, "performance samples"),
            over => (over.min(choice.dataset_samples), field),
        };
        let least = limits.performance_samples;
        if count < least {
            let text = format!(
                "{count} samples, but the QSL of {name} has at least {least}; use that number, or more"
            );
            settings.fail(place, text);
        }
    }
    if let Some(least) = limits.offline_samples {
        let seconds = settings.get::<f64>("min_duration_ms").map(|ms| ms / 1000.0);
        let rate = settings.get::<f64>("offline_expected_qps");
        let count = settings.get::<u64>("min_query_count");
        let (Some(seconds), Some(rate), Some(count)) = (seconds, rate, count) else { return };
        let samples = count.max((OFFLINE_SLACK * seconds * rate) as u64);
        if samples < least {
            // LoadGen's mlperf.conf has no number for interactive variants.
            let instead = if benchmark.interactive_of.is_some() {
                let model = &benchmark.loadgen_model;
                format!("set `{model}.Offline.min_query_count = {least}` in user.conf")
            } else {
                "leave min_query_count to LoadGen's mlperf.conf".to_owned()
            };
            let text = format!(
                "Offline's query would have {samples} samples, but {name} requires at least {least}; {instead}"
            );
            settings.fail("min_query_count", text);
        }
    }
}

fn latencies(settings: &mut SettingsJudge<'_>, name: &str, limits: &ServerLimits) {
    settings.rule = N2;
    let bounds = [
        ("server_target_latency_ns", "Server's latency bound", limits.latency_ms),
        ("server_ttft_latency", "the bound for the first token", limits.first_token_ms),
        ("server_tpot_latency", "the bound for each further token", limits.further_token_ms),
    ];
    for (field, what, most_ms) in bounds {
        let Some(most_ms) = most_ms else { continue };
        settings.ask(field, |ns: &f64| *ns <= most_ms * NS_PER_MS, |ns| {
            let ms = ns / NS_PER_MS;
            format!("{what} of {name} is {most_ms} ms, not {ms} ms; leave it to LoadGen's mlperf.conf")
        });
    }
    settings.rule = N32;
    settings.ask(
        "server_target_latency_percentile",
        |share: &f64| *share >= limits.percentile,
        |share| format!("99 % of queries must meet the bound, not {} %; remove it", share * 100.0),
    );
}

/// Requires that all seeds belong to one round (rules, section 2.4), and that this round has the
/// benchmark.
pub(super) fn seeds(table: &Table, choice: &RunChoices<'_>) -> Vec<Finding> {
    let mut settings = SettingsJudge::of(N31, choice);
    let seeds = Seeds::SETTINGS.map(|setting| settings.get::<u64>(setting));
    let seed = |name: &str| settings.values.get(name).and_then(|seed| seed.parse().ok());
    let round = table.round_of_seeds(seed);
    if let [Some(qsl), Some(sample_index), Some(schedule)] = seeds
        && round.is_none()
    {
        let text = format!(
            "{qsl}, {sample_index} and {schedule} are not the seeds of {}; leave them to LoadGen's mlperf.conf, and use the \
             LoadGen of the round",
            table.round_names()
        );
        settings.fail("seeds", text);
    }
    settings.flag("test05", false, "it changes the seeds");
    if let Some(round) = round {
        settings.findings.extend(of_round(table, round, choice.benchmark));
    }
    settings.findings
}

/// Returns a finding if the round does not have the benchmark.
fn of_round(table: &Table, round: &Round, benchmark: &str) -> Option<Finding> {
    let benchmark = table.find(benchmark)?;
    let why = check_benchmark_round(benchmark, round)?;
    let last = benchmark.rounds.last().and_then(|name| table.round(*name));
    let remedy = last.map(|round| table.build_for(round)).unwrap_or_default();
    Some(Finding::fail(N1, "benchmark", format!("{why}: {remedy}")))
}
