//! Check of LoadGen's `TestSettings` for values that LoadGen survives (`settings.toml` of the rule
//! book). LoadGen checks next to nothing: with other values it prepares queries forever, reads
//! beyond its lists, or converts numbers that do not fit.
//!
//! The check applies to the final settings of a test, whatever their source: LoadGen's defaults and
//! `mlperf.conf`, `user.conf`, `--setting` and `audit.config`.

use loadgen_sys::TestSettings;
use netdiv_rules::book::LoadGenSetting;

/// Checks each field of a test's final settings.
pub(crate) fn check(settings: &TestSettings) -> Result<(), String> {
    for (name, value) in settings.fields() {
        // A field that the table lacks exists only in a later release of LoadGen;
        // `every_field_has_its_bounds` detects it in that build.
        let Some(bound) = LoadGenSetting::of_field(&name).and_then(|row| row.bound) else {
            continue;
        };
        bound.check(&value).map_err(|range| {
            format!(
                "LoadGen's {name} is {value}, and must be {range}; change it where it is set: --setting, user.conf, \
                 audit.config"
            )
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use loadgen_sys::{Mode, Scenario};
    use netdiv_rules::{book::Bound, plan::RATES};

    use super::*;

    fn settings() -> TestSettings {
        let mut settings = TestSettings::new(Scenario::MultiStream, Mode::Performance);
        settings.from_config(None, "resnet50").unwrap();
        settings
    }

    #[test]
    fn every_field_has_its_bounds() {
        for (name, _) in settings().fields() {
            assert!(LoadGenSetting::of_field(&name).is_some(), "{name}");
        }
        let rate = LoadGenSetting::of_field("server_target_qps").unwrap().bound;
        let is_planned = |from, to| (from, to) == (*RATES.start(), *RATES.end());
        assert!(matches!(rate, Some(Bound::Real(from, to)) if is_planned(from, to)));
    }

    #[test]
    fn what_the_rules_set_is_allowed() {
        for model in ["resnet50", "llama2-70b", "gptj", "3d-unet", "dlrm-v2", "rgat", "*"] {
            for scenario in Scenario::ALL {
                let mut settings = TestSettings::new(scenario, Mode::Performance);
                settings.from_config(None, model).unwrap();
                check(&settings).unwrap();
            }
        }
    }

    #[test]
    fn the_ends_of_each_range_are_allowed_and_what_is_beyond_is_refused() {
        let with = |field: &str, value: &str| {
            let mut settings = settings();
            settings.set(field, value).unwrap();
            check(&settings)
        };
        for LoadGenSetting { field, bound, .. } in LoadGenSetting::all() {
            let Some(bound) = *bound else { continue };
            let (good, bad): ([String; 2], Vec<String>) = match bound {
                Bound::Whole(from, to) => {
                    let below = from.checked_sub(1).map(|below| below.to_string());
                    let beyond = [to.saturating_add(1), i64::from(i32::MAX)];
                    let beyond = beyond.into_iter().filter(|n| *n > to).map(|n| n.to_string());
                    ([from.to_string(), to.to_string()], below.into_iter().chain(beyond).collect())
                }
                Bound::Real(from, to) => {
                    let words = ["nan", "-nan", "inf", "-inf", "-1", "1e300", "1e-300"];
                    let odd = words.iter().map(ToString::to_string);
                    let bad = odd.chain([(to * 1.01).to_string()]);
                    let bad = bad.filter(|n| !(from == 0.0 && n == "1e-300")).collect();
                    ([from.to_string(), to.to_string()], bad)
                }
            };
            for value in &good {
                with(field, value).unwrap();
            }
            for value in &bad {
                let mut settings = settings();
                // A value that the type cannot hold is refused earlier.
                if settings.set(field, value).is_err() {
                    continue;
                }
                let error = check(&settings).expect_err(&format!("{field}={value}"));
                assert!(error.contains(field.as_str()) && error.contains("--setting"), "{error}");
            }
        }
    }
}
