//! LoadGen's settings for a run, and which of them are refused.

use std::{path::Path, time::Duration};

use loadgen_sys::{AnswerTokens, Scenario, TestSettings};
use netdiv_qdl::TokenBounds;
use netdiv_resources::files;
use netdiv_rules::{
    Division,
    book::{Benchmark, Table, TokenLatencies},
    user_conf,
};
use tracing::warn;

use super::loadgen_bounds;
use crate::{
    RunError,
    settings::{RunConfig, usage},
};

/// LoadGen's settings for a run.
pub(super) struct RunSettings {
    /// As LoadGen gets them.
    pub(super) given: TestSettings,
    /// As they are in the test: an audit.config overrides them.
    pub(super) effective: TestSettings,
    /// Lines of user.conf that have no effect.
    pub(super) warnings: Vec<String>,
}

/// Where LoadGen itself looks for settings of a compliance test, in the working folder.
const AUDIT_CONFIG: &str = "audit.config";

/// LoadGen's settings: mlperf.conf, then user.conf, then the fields that were set by hand.
pub(super) fn test_settings(config: &RunConfig) -> Result<RunSettings, RunError> {
    let refused = |error: loadgen_sys::SettingsError| RunError::Usage(error.to_string());
    let mut warnings = Vec::new();
    if let Some(path) = &config.user_conf {
        warnings = user_conf::check(path, &config.loadgen_model, config.scenario.official_name())
            .map_err(RunError::Usage)?;
    }
    let mut given = TestSettings::new(config.scenario, config.mode);
    given.from_config(config.user_conf.as_deref(), &config.loadgen_model).map_err(refused)?;
    if let Some(samples) = config.performance_samples {
        // Else the number in mlperf.conf would win.
        given.set("performance_sample_count_override", &samples.to_string()).map_err(refused)?;
    }
    for (name, value) in &config.settings {
        given.set(name, value).map_err(refused)?;
    }
    let effective = match &config.audit_config {
        Some(path) => {
            if let Err(error) = files::check(path, files::TEXT_BYTES) {
                return usage(format!("{}: {error}", path.display()));
            }
            warn!("LoadGen will take settings from {}", path.display());
            given.audited(path).map_err(refused)?
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
    Ok(RunSettings { effective, given, warnings })
}

/// A line of user.conf without effect is a warning; a run of the Network division must have a user.conf that applies to it.
pub(crate) fn check_user_conf(config: &RunConfig, warnings: &[String]) -> Result<(), RunError> {
    if config.division == Division::Network && !config.rehearsal {
        if config.user_conf.is_none() {
            return usage(
                "a run of the Network division needs --user-conf, with target_qps for benchmark and scenario",
            );
        }
        if !warnings.is_empty() {
            return usage(warnings.join("\n"));
        }
    }
    warnings.iter().for_each(|warning| warn!("{warning}"));
    Ok(())
}

/// Refuses what LoadGen does not survive, and a benchmark that its release does not know.
pub(super) fn check_settings(config: &RunConfig, settings: &TestSettings) -> Result<(), RunError> {
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
    let releases = table.releases_of(benchmark).into_iter().map(|release| release.version.as_str());
    let remedy = match releases.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no release in the table has it".to_owned(),
        releases => format!(
            "build with NETDIV_LOADGEN_RELEASE set to one of {releases} (docs/OPERATING.md)"
        ),
    };
    format!(
        "the mlperf.conf of LoadGen {} and user.conf give no token latencies for {loadgen_model}, by which {name} is judged. \
         Where user.conf does not turn them off, this release does not know the benchmark: {remedy}; or, as an experiment, \
         give --setting use_token_latencies=true with server_ttft_latency and server_tpot_latency, in ns",
        loadgen_sys::version()
    )
}

/// LoadGen's bounds for the tokens of Server's answers.
pub(super) fn token_bounds(settings: &TestSettings) -> Option<TokenBounds> {
    let nanoseconds = |name| settings.field(name)?.parse().ok().map(Duration::from_nanos);
    (settings.scenario() == Scenario::Server && settings.answer_tokens() == AnswerTokens::First)
        .then(|| {
            let (first, further) =
                (nanoseconds("server_ttft_latency")?, nanoseconds("server_tpot_latency")?);
            Some(TokenBounds { first, further })
        })
        .flatten()
}
