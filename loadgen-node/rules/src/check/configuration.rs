//! N20: the settings of every machine (rules, section 6.2.3).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    checked_folder::Subject,
    findings::Findings,
    machines::{Seen, seen},
};
use crate::{Rule::N20, judge::settings::wrong_settings};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for seen in seen(subject, N20, found) {
        let mut at = found.at(N20, seen.place);
        at.fail_each(wrong(&seen));
        at.or_pass("the settings of every node are recorded, with their hashes");
    }
}

fn wrong(seen: &Seen) -> Vec<String> {
    let loadgen = &seen.evidence.loadgen_node;
    let settings = wrong_settings(loadgen, None);
    let mut wrong: Vec<_> =
        settings.into_iter().map(|what| format!("the LoadGen node {what}")).collect();
    let published = loadgen.settings.as_deref().map(serde_json::from_str);
    let published: Option<BTreeMap<String, Value>> = published.and_then(Result::ok);
    if seen.record.settings.is_empty() {
        wrong.push("the LoadGen node's own settings are not recorded".into());
    } else if published.is_none_or(|published| published != seen.record.settings) {
        let text = "the settings that the LoadGen node recorded are not those in its evidence";
        wrong.push(text.into());
    }
    for node in &seen.record.nodes {
        let name = &node.name;
        if let Some(machine) = seen.evidence.nodes.get(name) {
            let settings = wrong_settings(machine, Some(&node.config_sha256));
            wrong.extend(settings.into_iter().map(|what| format!("node {name} {what}")));
        }
    }
    wrong
}
