//! N1: the datacenter suite only (rules, section 6.2).

use super::{checked_folder::Subject, findings::Findings};
use crate::{Rule, judge::suite::outside};

const N1: Rule = Rule::new(1);

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in &subject.systems {
        match system.text("system_type").as_deref() {
            Some("datacenter") => found.pass(N1, &system.place, "system_type is datacenter"),
            Some(other) => {
                let text = format!("system_type is `{other}`: only `datacenter` is allowed");
                found.fail(N1, &system.place, text);
            }
            None => found.fail(N1, &system.place, "system_type is missing"),
        }
    }
    for entry in &subject.results {
        let name = &entry.name;
        if name.is_empty() {
            found.unknown(N1, &entry.place, "which benchmark it is only its result.json says");
            continue;
        }
        match outside(subject.table, name) {
            Some(text) => found.fail(N1, &entry.place, text),
            None => found.pass(N1, &entry.place, "the benchmarks are of the datacenter suite"),
        }
    }
}
