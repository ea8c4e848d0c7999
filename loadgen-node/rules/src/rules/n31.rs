//! N31: no randomness but the announced seeds (rules, section 2.4).

use crate::{
    book::Round,
    official_log::DetailLog,
    subject::{Findings, PlaceJudgement, Subject, missing_key},
};

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    for (_, run, detail) in subject.details() {
        seeds(subject.round, detail, found.at(&run.place));
    }
}

fn seeds(round: Option<&Round>, detail: &DetailLog, mut at: PlaceJudgement) {
    let Some(round) = round else { return at.unknown("the table does not contain the round") };
    let (mut logged, mut announced) = (Vec::new(), Vec::new());
    for (setting, seed, here) in round.seeds.differing(|setting| detail.seed(setting)) {
        match here {
            None => at.fail(missing_key(&format!("effective_{setting}"))),
            Some(here) => {
                logged.push(format!("effective_{setting} is {here}"));
                announced.push(seed.to_string());
            }
        }
    }
    if !logged.is_empty() {
        let (logged, announced) = (logged.join(", "), announced.join(", "));
        at.fail(format!("{logged}: the seeds announced for {} are {announced}", round.name));
    }
    at.or_pass(format!("the seeds are those of round {}", round.name));
}
