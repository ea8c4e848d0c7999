//! N4 and N5 by the evidence: the SUT and the QDL run on physically separate systems, and a permitted fabric leads from one
//! to the other (rules, section 6.2.2). What evidence says is judged as it is before a run (`policy/machines.rs`).

use super::{
    checked_folder::Subject,
    findings::Findings,
    machines::{Seen, seen},
};
use crate::{Finding, Outcome, Rule, facts::machines::ip, grouped::by_reason, policy};

const N4: Rule = Rule::new(4);
const N5: Rule = Rule::new(5);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let texts = [
        (N4, "the machines at both ends have different boots, boards and hardware addresses"),
        (N5, "every way between them is over an interface of a permitted fabric"),
    ];
    for (rule, text) in texts {
        for seen in seen(subject, rule, found) {
            let before = found.problems(rule);
            by_evidence(&seen, rule, found);
            if rule == N4 {
                addresses(&seen, found);
            } else {
                unrouted(&seen, found);
            }
            if !seen.evidence.nodes.is_empty() {
                found.pass_unless_more(rule, before, seen.place, text);
            }
        }
    }
}

fn by_evidence(seen: &Seen, rule: Rule, found: &mut Findings) {
    let findings = policy::machines(seen.evidence);
    for Finding { outcome, text, .. } in by_reason(findings.iter().filter(|f| f.rule == rule)) {
        match outcome {
            Outcome::Fail => found.fail(rule, seen.place, text),
            Outcome::CannotTell => found.unknown(rule, seen.place, text),
            Outcome::Pass => {}
        }
    }
}

/// What the LoadGen node called is not itself, whatever the evidence says.
fn addresses(seen: &Seen, found: &mut Findings) {
    for node in &seen.record.nodes {
        let is_local = ip(&node.address).is_some_and(|ip| ip.is_loopback() || ip.is_unspecified());
        if is_local {
            let text = format!(
                "node {} was reached at {}, on the LoadGen node itself: run it on another machine",
                node.name, node.address
            );
            found.fail(N4, seen.place, text);
        }
    }
}

fn unrouted(seen: &Seen, found: &mut Findings) {
    for (name, machine) in &seen.evidence.nodes {
        if machine.routes.is_empty() {
            let text = format!("node {name} did not say over which interface it is connected");
            found.unknown(N5, seen.place, text);
        }
    }
}
