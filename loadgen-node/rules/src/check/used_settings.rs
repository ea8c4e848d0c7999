//! Of N2: the `user.conf` of a result is what its performance run was made with.

use super::{
    checked_folder::{Kind, Subject},
    findings::Findings,
};
use crate::{Rule::N2, judge::user_conf::differences};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let Some(tree) = &subject.tree else { return };
    for entry in &subject.results {
        let (Some(place), Some(scenario)) = (&entry.tree, entry.scenario) else { continue };
        let Some(run) = entry.run(Kind::Performance) else { continue };
        let (Some(record), Some(text)) = (run.result(), tree.text(&place.user_conf())) else {
            continue;
        };
        let model = entry.benchmark.map_or(&entry.name, |benchmark| &benchmark.loadgen_model);
        let differ = differences(&text, &record.test_settings, model, scenario);
        if !differ.is_empty() {
            let text = format!(
                "is not what {} was made with: {}; bring back the run's own file, or take this one away where the run had it \
                 and make the submission again",
                run.record_place,
                differ.join(", ")
            );
            found.fail(N2, place.user_conf(), text);
        }
    }
}
