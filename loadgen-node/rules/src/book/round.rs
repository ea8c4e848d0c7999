//! A round of submissions: its name, its seeds, and the LoadGen packages that have these seeds.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::tree::Layout;

/// The name of a round, such as `v5.0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoundName {
    major: u32,
    minor: u32,
}

impl FromStr for RoundName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.trim().strip_prefix('v').and_then(|numbers| numbers.split_once('.'));
        let number = |digits: &str| digits.parse().ok();
        parts
            .and_then(|(major, minor)| Some(Self { major: number(major)?, minor: number(minor)? }))
            .ok_or_else(|| format!("`{text}` is not the name of a round; write one such as v5.0"))
    }
}

impl TryFrom<String> for RoundName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for RoundName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

impl From<RoundName> for String {
    fn from(name: RoundName) -> Self {
        name.to_string()
    }
}

/// A round of submissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// Name of the round.
    pub name: RoundName,
    /// True if the interactive variant of a benchmark is a scenario folder beside Server, not a
    /// separate benchmark.
    #[serde(default)]
    pub interactive_folder: bool,
    /// Layout of the submissions to the round.
    pub layout: Layout,
    /// Minimum duration of a performance run, in milliseconds (rules, section 3).
    pub min_duration_ms: u64,
    /// Seeds announced for the round (section 2.4).
    pub seeds: Seeds,
    /// Versions of LoadGen's Python package with these seeds that `loadgen-sys` can build, oldest
    /// first.
    #[serde(default)]
    pub packages: Vec<String>,
}

/// Seeds of LoadGen's random number generators (std::mt19937).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// `qsl_rng_seed`: selects the samples that LoadGen loads.
    #[serde(with = "decimal")]
    pub qsl: u64,
    /// `sample_index_rng_seed`: determines the order of samples.
    #[serde(with = "decimal")]
    pub sample_index: u64,
    /// `schedule_rng_seed`: determines the times at which LoadGen issues queries.
    #[serde(with = "decimal")]
    pub schedule: u64,
}

impl Seeds {
    /// Names of the LoadGen settings that contain the seeds, in the order of the fields.
    pub(crate) const SETTINGS: [&str; 3] =
        ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"];

    /// Compares these announced seeds with the seeds of a run. `seed` returns the run's seed by the
    /// name of the LoadGen setting. Returns each difference: the setting, the announced seed, and
    /// the run's seed.
    pub fn differing(
        self,
        seed: impl Fn(&str) -> Option<u64>,
    ) -> impl Iterator<Item = (&'static str, u64, Option<u64>)> {
        let announced = [self.qsl, self.sample_index, self.schedule];
        let pairs = Self::SETTINGS.into_iter().zip(announced);
        let with_seed = pairs.map(move |(setting, announced)| (setting, announced, seed(setting)));
        with_seed.filter(|(_, announced, seed)| *seed != Some(*announced))
    }
}

/// Serialization of seeds as decimal text, because TOML integers have 63 bits.
pub(super) mod decimal {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(in super::super) fn serialize<S: Serializer>(seed: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(seed)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| {
            D::Error::custom(format!("invalid seed `{text}`: write a decimal number in quotes"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_v_and_two_numbers() {
        for name in ["v5.0", "v5.1", "v10.2"] {
            assert_eq!(name.parse::<RoundName>().unwrap().to_string(), name);
        }
        for text in ["5.0", "v5", "vX.0", "v5.", ""] {
            let why = text.parse::<RoundName>().unwrap_err();
            assert!(why.contains("write one such as v5.0"), "{why}");
        }
    }
}
