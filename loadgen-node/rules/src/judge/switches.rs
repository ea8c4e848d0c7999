//! Switches: settings of LoadGen that the rules require to be on or off, for N2 and N32 (rules,
//! sections 3 and 4.1.1).

use crate::{
    Rule::{self, N2, N32},
    book::{Benchmark, LoadGenSetting, TokenLatencies},
    official_log::DetailLog,
};

/// Name of the setting that makes LoadGen issue all queries together that are due. Neither the
/// rules nor the official checkers restrict it, and accepted results of the Network division in
/// round v3.0 used it.
pub(crate) const COALESCE: &str = "server_coalesce_queries";

/// Text of the note that a run had [`COALESCE`] on.
pub(crate) const COALESCED: &str =
    "it is on: LoadGen issues queries that are due together, which no rule forbids";

/// Switch: a setting of LoadGen that must be on, or must be off.
pub(crate) struct RequiredSwitch {
    pub(crate) rule: Rule,
    /// LoadGen's name of the setting.
    pub(crate) setting: &'static str,
    /// Required value.
    pub(crate) on: bool,
    pub(crate) why: &'static str,
    pub(crate) asked: SwitchScope,
}

/// Runs that a switch applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwitchScope {
    /// All runs that the rule applies to.
    Always,
    /// Runs outside the Open division.
    Closed,
    /// Runs other than compliance tests, whose audit.config sets it.
    NoTest,
}

impl RequiredSwitch {
    /// Returns the violation in a log, if there is one. A setting that the log does not name is
    /// off, unless LoadGen does not log it.
    pub(crate) fn violation(&self, log: &DetailLog) -> Option<String> {
        let key = LoadGenSetting::of_field(self.setting)?.logged.as_deref()?;
        (log.is_on(key).unwrap_or(false) != self.on)
            .then(|| format!("{key} must be {}: {}", self.on, self.why))
    }
}

/// Returns the switches that the rules require for a benchmark.
pub(crate) fn switches(benchmark: &Benchmark) -> Vec<RequiredSwitch> {
    let off = |setting, why, asked| RequiredSwitch { rule: N32, setting, on: false, why, asked };
    let chosen = "samples are chosen at random; only an audit.config sets it";
    let mut all = vec![
        off("performance_issue_unique", chosen, SwitchScope::NoTest),
        off("performance_issue_same", chosen, SwitchScope::NoTest),
    ];
    if benchmark.equal_issue {
        let why = "every sample of this benchmark is issued equally often; leave it to LoadGen's mlperf.conf";
        let setting = "sample_concatenate_permutation";
        all.push(RequiredSwitch { on: true, ..off(setting, why, SwitchScope::Closed) });
    }
    let tokens = |setting, why| RequiredSwitch {
        rule: N2,
        on: true,
        ..off(setting, why, SwitchScope::Always)
    };
    all.extend(benchmark.token_latencies.map(|kind| match kind {
        TokenLatencies::Measured => tokens(
            "use_token_latencies",
            "this benchmark is judged by the first token and the time for each token",
        ),
        TokenLatencies::Inferred => {
            tokens("infer_token_latencies", "the result of this benchmark is in tokens per second")
        }
    }));
    all
}
