//! The versions that a record names are those that its machines named: of N24 the programs', of N3 LoadGen's.

use std::collections::BTreeMap;

use super::{checked_folder::Subject, findings::Findings};
use crate::{
    Rule::{self, N3, N24},
    facts::machines::said,
    result::RunResult,
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let mut known: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (run, record) in subject.records() {
        let place = run.record_place.as_str();
        let versions = &record.versions;
        for (rule, what, of, value) in [
            (
                N24,
                "versions of one program are",
                format!("sources {}", versions.sources_sha256),
                format!("{}, wire contract {}", versions.loadgen_node, versions.wire_contract),
            ),
            (
                N3,
                "origin of one LoadGen is",
                versions.loadgen.clone(),
                versions.loadgen_origin.clone(),
            ),
        ] {
            let (first, there) = known.entry(of).or_insert((value.clone(), place));
            if *first != value {
                let text = format!(
                    "the {what} {value} here and {first} in {there}: take the records as the runs wrote them"
                );
                found.fail(rule, place, text);
            }
        }
        for (rule, text) in differences(record) {
            let text = format!("{text}: take the record as the run wrote it");
            found.fail(rule, &run.record_place, text);
        }
    }
}

fn differences(record: &RunResult) -> Vec<(Rule, String)> {
    let versions = &record.versions;
    let mut wrong = Vec::new();
    let mut same = |rule, who: &str, named: Option<&str>, start: &str, version: &str| {
        let of_program = named.and_then(|named| named.strip_prefix(start));
        if let Some(other) = of_program.filter(|other| *other != version) {
            let text = format!("{who} named {start}{other}, and the record has version {version}");
            wrong.push((rule, text));
        }
    };
    if let Some(evidence) = &record.evidence {
        let (who, machine) = ("the LoadGen node", &evidence.loadgen_node);
        same(N24, who, said(&machine.program), "loadgen-node ", &versions.loadgen_node);
        same(N3, who, said(&machine.framework), "LoadGen ", &versions.loadgen);
        for node in &record.nodes {
            let program = evidence.nodes.get(&node.name).and_then(|machine| said(&machine.program));
            let who = format!("node {}", node.name);
            same(N24, &who, program, "sut-node ", &node.software_version);
        }
    }
    let number = versions.loadgen.split(' ').next().unwrap_or_default();
    let origin = versions.loadgen_origin.strip_prefix("mlcommons-loadgen ");
    let released = origin.and_then(|origin| origin.split(' ').next());
    if let Some(other) = released.filter(|other| *other != number) {
        let text = format!("loadgen_origin is of release {other}, and LoadGen was {number}");
        wrong.push((N3, text));
    }
    wrong
}
