//! LoadGen's settings for a run, and the checks of them.

use std::{path::Path, time::Duration};

use loadgen_sys::{AnswerTokens, Mode, Scenario, TestSettings};
use netdiv_node_common::resources::files::PlainText;
use netdiv_qdl::TokenBounds;
use netdiv_rules::{
    Division,
    book::{Benchmark, Table, TokenLatencies},
    eligibility::ACCURACY_COUNT,
    user_conf::{self, UserConf},
};
use tracing::{debug, warn};

use crate::{
    RunError,
    run::setup::loadgen_bounds,
    settings::{RunConfig, usage},
};

pub(crate) struct RunSettings {
    /// Settings that are passed to LoadGen, without those of the audit.config.
    pub(crate) given: TestSettings,
    /// Settings that the test uses: those of the audit.config override the given ones.
    pub(crate) effective: TestSettings,
    /// Effects of the lines of user.conf on this run.
    pub(crate) user_conf: UserConf,
    /// The audit.config as LoadGen reads it.
    pub(crate) audit_config: Option<PlainText>,
}

/// Name of the file in the working folder where LoadGen itself looks for a compliance test's
/// settings.
const AUDIT_CONFIG: &str = "audit.config";

/// Returns LoadGen's settings: mlperf.conf, then user.conf, then the fields of --setting.
pub(crate) fn test_settings(config: &RunConfig) -> Result<RunSettings, RunError> {
    let mut user_conf = UserConf::default();
    if let Some(path) = &config.user_conf {
        user_conf = user_conf::check(path, &config.loadgen_model, config.scenario.official_name())
            .map_err(RunError::Usage)?;
    }
    let mut given = TestSettings::new(config.scenario, config.mode);
    let plain_conf = plain(config.user_conf.as_deref())?;
    let plain_conf = plain_conf.as_ref().map(PlainText::path);
    given.from_config(plain_conf, &config.loadgen_model).map_err(RunError::invalid)?;
    if user_conf.keys.contains(ACCURACY_COUNT) && given.field(ACCURACY_COUNT).is_none() {
        user_conf.warnings.push(format!(
            "LoadGen {} ignores `{ACCURACY_COUNT}`; 6.0.6 and later read it",
            loadgen_sys::version()
        ));
    }
    if let Some(samples) = config.performance_samples {
        // Otherwise the number in mlperf.conf would win.
        given
            .set("performance_sample_count_override", &samples.to_string())
            .map_err(RunError::invalid)?;
    }
    for (name, value) in &config.settings {
        given.set(name, value).map_err(RunError::invalid)?;
    }
    let audit_config = plain(config.audit_config.as_deref())?;
    let effective = match &audit_config {
        Some(audit_config) => {
            let path = config.audit_config.as_deref().unwrap_or(audit_config.path()).display();
            warn!("LoadGen will take settings from {path}");
            given.audited(audit_config.path()).map_err(RunError::invalid)?
        }
        None => {
            if Path::new(AUDIT_CONFIG).exists() {
                warn!(
                    "{AUDIT_CONFIG} in this folder is not used; give --audit-config {AUDIT_CONFIG} for a compliance test"
                );
            }
            given.clone()
        }
    };
    Ok(RunSettings { effective, given, user_conf, audit_config })
}

/// Reads a file for LoadGen, which opens it by its path.
fn plain(path: Option<&Path>) -> Result<Option<PlainText>, RunError> {
    let Some(path) = path else { return Ok(None) };
    match PlainText::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => usage(format!("{}: {error}", path.display())),
    }
}

/// Settings of LoadGen that contain a run's rate.
const RATES: [&str; 2] = ["server_target_qps", "offline_expected_qps"];

/// Reports lines of user.conf without effect, and a missing rate. A run for a division
/// needs the rate of its benchmark and scenario, and may have such lines only as a rehearsal.
pub(crate) fn check_user_conf(config: &RunConfig, read: &UserConf) -> Result<(), RunError> {
    let (lacks_rate, division) = (lacks_rate(config, read), config.division);
    let is_bound = division.has_rules() && !config.rehearsal;
    let (model, scenario) = (&config.loadgen_model, config.scenario.official_name());
    let line = format!("the line `{model}.{scenario}.target_qps = RATE`");
    let effect = "without it LoadGen issues 1 query per second";
    match &config.user_conf {
        _ if lacks_rate && division == Division::Exploratory => {
            warn!("no rate is set: give --user-conf, with {line}; {effect}");
        }
        None if lacks_rate || is_bound => {
            let division = division.title();
            return usage(format!(
                "a run of the {division} division needs --user-conf, with {line}: {effect}"
            ));
        }
        Some(path) if lacks_rate => {
            let warnings: String = read.warnings.iter().map(|one| format!("{one}\n")).collect();
            return usage(format!("{warnings}{} lacks {line}: {effect}", path.display()));
        }
        _ if is_bound && !read.warnings.is_empty() => return usage(read.warnings.join("\n")),
        _ => {}
    }
    read.warnings.iter().for_each(|warning| warn!("{warning}"));
    read.of_other_runs.iter().chain(&read.repeated).for_each(|lines| debug!("{lines}"));
    Ok(())
}

/// Returns true if LoadGen would issue samples at a rate that no file and no option sets.
fn lacks_rate(config: &RunConfig, read: &UserConf) -> bool {
    let needs_rate = match config.scenario {
        Scenario::Server => true,
        // An accuracy run issues the whole data set at once.
        Scenario::Offline => {
            config.mode != Mode::Accuracy || config.division != Division::Exploratory
        }
        Scenario::SingleStream | Scenario::MultiStream => false,
    };
    let is_chosen = config.settings.iter().any(|(name, _)| RATES.contains(&name.as_str()));
    needs_rate && !is_chosen && !read.keys.contains("target_qps")
}

/// Length from which on an accuracy run is announced.
const LONG: Duration = Duration::from_secs(600);

/// Returns the announcement of an accuracy run that its rate makes long, alone or before a
/// performance run: each sample of the data set is issued once.
pub(crate) fn long_accuracy_run(settings: &TestSettings, samples: usize) -> Option<String> {
    let is_accuracy = matches!(settings.mode(), Mode::Accuracy | Mode::Submission);
    if !is_accuracy || settings.scenario() != Scenario::Server {
        return None;
    }
    let rate = settings.field("server_target_qps")?.parse::<f64>().ok()?;
    let time = Duration::try_from_secs_f64(samples as f64 / rate).ok()?;
    (time >= LONG).then(|| {
        let about = humantime::format_duration(Duration::from_secs(time.as_secs() / 60 * 60));
        format!(
            "this accuracy run takes {about}: {samples} samples, each once, at {rate} per second; a higher target_qps makes it \
             shorter"
        )
    })
}

/// Fails for values that LoadGen does not survive, and for a benchmark that its release does not
/// know.
pub(crate) fn check_settings(config: &RunConfig, settings: &TestSettings) -> Result<(), RunError> {
    loadgen_bounds::check(settings).map_err(RunError::Usage)?;
    let Some(known) = config.benchmarks.find(&config.benchmark) else { return Ok(()) };
    let is_chosen = config.settings.iter().any(|(name, _)| name == "use_token_latencies");
    let is_measured = settings.answer_tokens() != AnswerTokens::Uncounted;
    if known.token_latencies == Some(TokenLatencies::Measured) && !is_measured && !is_chosen {
        return usage(without_token_latencies(&config.benchmarks, known));
    }
    Ok(())
}

fn without_token_latencies(table: &Table, benchmark: &Benchmark) -> String {
    let Benchmark { name, loadgen_model, .. } = benchmark;
    let remedy = match table.packages_of(benchmark).join(", ") {
        none if none.is_empty() => "no release in the table has it".to_owned(),
        packages => {
            format!(
                "build with `make LOADGEN=RELEASE`, RELEASE one of {packages} (docs/OPERATING.md)"
            )
        }
    };
    format!(
        "the mlperf.conf of LoadGen {} and user.conf give no token latencies for {loadgen_model}, by which {name} is judged. \
         Where user.conf does not turn them off, this release does not know the benchmark: {remedy}; or, as an experiment, \
         give --setting use_token_latencies=true with server_ttft_latency and server_tpot_latency, in ns",
        loadgen_sys::version()
    )
}

/// Returns LoadGen's latency bounds for the tokens of responses in Server.
pub(crate) fn token_bounds(settings: &TestSettings) -> Option<TokenBounds> {
    let nanoseconds = |name| settings.field(name)?.parse().ok().map(Duration::from_nanos);
    (settings.scenario() == Scenario::Server && settings.answer_tokens() == AnswerTokens::First)
        .then(|| {
            let (first, further) =
                (nanoseconds("server_ttft_latency")?, nanoseconds("server_tpot_latency")?);
            Some(TokenBounds { first, further })
        })
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_accuracy_run_is_announced() {
        let said = |scenario, mode, rate: &str, samples| {
            let mut settings = TestSettings::new(scenario, mode);
            settings.set("server_target_qps", rate).unwrap();
            long_accuracy_run(&settings, samples)
        };
        let accuracy = |rate, samples| said(Scenario::Server, Mode::Accuracy, rate, samples);
        assert!(accuracy("2", 1200).unwrap().starts_with("this accuracy run takes 10m:"));
        assert!(accuracy("2", 50_000).unwrap().contains("6h 56m"));
        assert_eq!(accuracy("3", 1200), None);
        assert!(said(Scenario::Server, Mode::Submission, "2", 50_000).is_some());
        assert_eq!(said(Scenario::Offline, Mode::Accuracy, "2", 50_000), None);
        assert_eq!(said(Scenario::Server, Mode::Performance, "2", 50_000), None);
    }
}
