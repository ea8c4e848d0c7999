//! LoadGen's settings (`settings.toml`): the names of each one in LoadGen's files, and its bounds.

use std::{ops::RangeInclusive, sync::LazyLock};

use netdiv_node_common::words::Scenario;
use serde::Deserialize;

/// Setting of LoadGen: a field of its `TestSettings`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadGenSetting {
    /// Name of the field.
    pub field: String,
    /// Key in user.conf and audit.config; `None` if LoadGen reads the field from neither.
    pub(crate) user_conf: Option<String>,
    /// Factor from the value of that key to the value of the field.
    #[serde(default = "one")]
    pub(crate) factor: f64,
    /// LoadGen's default; `None` if its mlperf.conf sets the field.
    pub(crate) default: Option<f64>,
    /// True if LoadGen reads the key only if it counts or infers tokens.
    #[serde(default)]
    pub(crate) of_tokens: bool,
    /// True if the audit.config of a compliance test sets the field.
    #[serde(default)]
    pub(crate) audited: bool,
    /// Values that LoadGen survives; `None` for all values of the field's type.
    pub bound: Option<Bound>,
    /// Key of the value in the detail log.
    pub(crate) logged: Option<String>,
    /// Name of the line in the summary.
    pub(crate) summary: Option<String>,
}

/// Bounds of a setting, both included.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// Bounds of an integer.
    Whole(i64, i64),
    /// Bounds of a real number.
    Real(f64, f64),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    setting: Vec<LoadGenSetting>,
}

/// Parsed `settings.toml`; empty if the file is invalid, which a test rules out.
static SETTINGS: LazyLock<SettingsFile> =
    LazyLock::new(|| toml::from_str(include_str!("settings.toml")).unwrap_or_default());

const fn one() -> f64 {
    1.0
}

impl LoadGenSetting {
    /// Returns all settings.
    pub fn all() -> &'static [Self] {
        &SETTINGS.setting
    }

    /// Finds a setting by its field; `None` for a field of a later LoadGen.
    pub fn of_field(field: &str) -> Option<&'static Self> {
        Self::all().iter().find(|setting| setting.field == field)
    }

    /// Returns the settings that LoadGen reads from a user.conf in a scenario, with their keys.
    pub(crate) fn in_user_conf(
        scenario: Scenario,
    ) -> impl Iterator<Item = (&'static str, &'static Self)> {
        let all = Self::all().iter().filter(move |setting| setting.is_of(scenario));
        all.filter_map(|setting| Some((setting.user_conf.as_deref()?, setting)))
    }

    /// Returns true if LoadGen uses the setting in a scenario.
    pub(crate) fn is_of(&self, scenario: Scenario) -> bool {
        let is_named = |one: &Scenario| self.field.starts_with(&one.word().replace('-', "_"));
        Scenario::ALL.into_iter().find(is_named).is_none_or(|named| named == scenario)
    }

    pub(crate) fn is_real(&self) -> bool {
        matches!(self.bound, Some(Bound::Real(..)))
    }
}

impl Bound {
    /// Checks a value.
    ///
    /// # Errors
    ///
    /// Returns the bounds as text, such as `from 0 to 256`, if they do not contain the value.
    pub fn check(self, value: &str) -> Result<(), String> {
        fn is_in<T: std::str::FromStr + PartialOrd>(bounds: RangeInclusive<T>, text: &str) -> bool {
            text.parse::<T>().is_ok_and(|number| bounds.contains(&number))
        }
        let (is_in, range) = match self {
            Self::Whole(from, to) => (is_in(from..=to, value), format!("from {from} to {to}")),
            Self::Real(from, to) => (is_in(from..=to, value), format!("from {from} to {to}")),
        };
        if is_in { Ok(()) } else { Err(range) }
    }
}

/// Parses a value of TestSettings or of user.conf: a number, `true` or `false`.
pub(crate) fn setting_number(text: &str) -> Option<f64> {
    match text {
        "true" => Some(1.0),
        "false" => Some(0.0),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read() {
        let file: SettingsFile = toml::from_str(include_str!("settings.toml")).unwrap();
        assert_eq!(file.setting.len(), 40);
        assert!(LoadGenSetting::of_field("server_target_qps").unwrap().is_real());
        let of = |scenario| LoadGenSetting::in_user_conf(scenario).map(|(key, _)| key);
        for key in ["target_latency", "samples_per_query", "min_duration"] {
            assert!(of(Scenario::MultiStream).any(|known| known == key), "{key}");
        }
        assert!(!of(Scenario::Offline).any(|key| key == "target_latency"));
    }
}
