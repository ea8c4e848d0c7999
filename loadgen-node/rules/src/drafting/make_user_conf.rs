//! Makes LoadGen's `user.conf`: the file of the run if it still exists, or else a file with the
//! settings of the run.

use std::{collections::BTreeMap, io, path::Path};

use super::runs::RunFolder;
use crate::{
    Scenario,
    book::setting_number,
    input::files,
    user_conf::{check_line, compared},
};

/// Returns the text of the file for `model`, LoadGen's name of the model. Fails if the run's own
/// file cannot be read.
pub(super) fn user_conf(base: &Path, run: &RunFolder, model: &str) -> Result<String, String> {
    let places = path(run).map(|path| [base.join(path), run.folder.join(path)]);
    for path in places.iter().flatten() {
        match files::read_text(path) {
            Ok(text) if !text.trim().is_empty() => return Ok(text),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        }
    }
    let result = &run.result;
    Ok(reconstructed(&result.test_settings, model, result.scenario))
}

/// Returns the path of the run's user.conf, as recorded in the run's settings.
pub(super) fn path(run: &RunFolder) -> Option<&str> {
    run.result.settings.get("user_conf")?.as_str()
}

/// Writes a user.conf with the settings of a run that LoadGen reads from such a file and that
/// differ from LoadGen's defaults. `settings` are the fields of LoadGen's TestSettings by name.
fn reconstructed(settings: &BTreeMap<String, String>, model: &str, scenario: Scenario) -> String {
    let mut text = "# The settings of the run, from its result.json.\n".to_owned();
    let name = scenario.official_name();
    for (key, row) in compared(scenario) {
        if let Some(value) = settings.get(&row.field).and_then(|value| setting_number(value)) {
            // LoadGen's factors are not binary fractions.
            let value = (value / row.factor * 1e6).round() / 1e6;
            let line = format!("{model}.{name}.{key} = {value}\n");
            if row.default != Some(value) && check_line(&line).is_ok() {
                text += &line;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_conf::{differences, tests::settings};

    #[test]
    fn the_settings_become_a_file_that_says_the_same() {
        let text = reconstructed(&settings(), "resnet50", Scenario::Server);
        let want = "# The settings of the run, from its result.json.\n\
                    resnet50.Server.target_qps = 18000.5\n\
                    resnet50.Server.target_latency = 15\n\
                    resnet50.Server.target_latency_percentile = 99\n\
                    resnet50.Server.min_duration = 600000\n";
        assert_eq!(text, want);
        let differ = differences(&text, &settings(), &[], "resnet50", Scenario::Server);
        assert!(differ.is_empty());
    }
}
