//! N1: the datacenter suite only (rules, section 6.2).

use super::{
    checked_folder::{Entry, Subject},
    findings::Findings,
};
use crate::{Rule::N1, judge::suite::outside};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for system in subject.systems.iter().filter(|system| system.json.is_ok()) {
        let mut at = found.at(N1, &system.place);
        match system.text("system_type").as_deref() {
            Some("datacenter") => at.or_pass("system_type is datacenter"),
            Some(other) => {
                at.fail(format!("system_type is `{other}`: only `datacenter` is allowed"));
            }
            None => at.unknown("system_type is missing (N36)"),
        }
    }
    for Entry { name, place, .. } in &subject.results {
        let mut at = found.at(N1, place);
        if name.is_empty() {
            at.unknown("which benchmark it is only its result.json says");
        } else {
            at.fail_each(outside(subject.table, name));
        }
        at.or_pass("the benchmarks are of the datacenter suite");
    }
}
