//! The `user.conf` of a result is what its runs were made with: of N2 the performance run, of N34 the compliance tests.

use super::{
    checked_folder::{Kind, Subject},
    findings::Findings,
};
use crate::{
    Rule::{N2, N34},
    judge::user_conf::differences,
    result::RunResult,
};

/// What a compliance test's audit.config may have set.
const OF_TESTS: [&str; 3] = ["performance_issue_", "accuracy_log_", "min_"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let (Some(place), Some(scenario)) = (&entry.tree, entry.scenario) else { continue };
        let Some(text) = tree.text(&place.user_conf()) else { continue };
        let model = entry.benchmark.map_or(&entry.name, |benchmark| &benchmark.loadgen_model);
        let mut known = Vec::new();
        for run in &entry.runs {
            let rule = match run.kind {
                Kind::Performance => N2,
                Kind::Test(_) => N34,
                _ => continue,
            };
            let Some(record) = run.result() else { continue };
            let given = given(record);
            let mut differ = differences(&text, &record.test_settings, &given, model, scenario);
            let is_set = |key: &str| OF_TESTS.iter().any(|start| key.starts_with(start));
            differ.retain(|key| !(known.contains(key) || run.is_test() && is_set(key)));
            if differ.is_empty() {
                continue;
            }
            let text = format!(
                "is not what {} was made with: {}; bring back the run's own file, or take this one away where the run had it \
                 and make the submission again",
                run.record_place,
                differ.join(", ")
            );
            found.fail(rule, place.user_conf(), text);
            // What is not that of the performance run is not that of a test, either.
            known.extend(differ);
        }
    }
}

/// The fields that a run set by hand.
fn given(record: &RunResult) -> Vec<&str> {
    let given = record.settings.get("setting").and_then(|given| given.as_array());
    given.into_iter().flatten().filter_map(|pair| pair.as_str()).collect()
}
