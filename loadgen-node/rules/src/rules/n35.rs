//! N35: the files of a submission (submission rules).

use super::purposes;
use crate::{
    book::{Round, Table},
    subject::{Findings, Subject, round::stated},
    tree::Layout,
};

mod contents;
mod files;
mod log_hashes;
mod measurements;
mod nameplates;

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    of_round(subject, found);
    purposes::compare(subject, false, found);
    files::judge(subject, found);
    contents::judge(subject, found);
    log_hashes::judge(subject, found);
    nameplates::judge(subject, found);
}

/// Requires that the folders have the layout of the round, and that all measurements files name the
/// same round.
fn of_round(subject: &Subject, found: &mut Findings) {
    let (Some(tree), Some(round)) = (&subject.tree, subject.round) else { return };
    let Round { name, layout, .. } = round;
    let home = &tree.home;
    let mut at = found.at(home.root());
    if home.layout != *layout {
        at.fail(format!(
            "has the layout of {} ({}), and round {name} has {layout}: move the files",
            rounds_of(subject.table, home.layout),
            home.layout
        ));
    } else if tree.path(&home.code()).is_dir() && !home.code().ends_with(layout.code()) {
        let (code, wanted) = (home.code(), layout.code());
        at.fail(format!(
            "has its code in {code}, as in {}, and round {name} has it in {wanted}/: rename the folder",
            rounds_of(subject.table, if *layout == Layout::A { Layout::B } else { Layout::A })
        ));
    }
    let mut stated = stated(&subject.results);
    let Some((first, known)) = stated.next() else { return };
    for (place, other) in stated.filter(|(_, other)| *other != known) {
        found.fail(place, format!("round is {other}, and {first} has {known}: write the same"));
    }
}

/// Returns a text that names the rounds with a layout.
fn rounds_of(table: &Table, layout: Layout) -> String {
    let names = table.rounds.iter().filter(|round| round.layout == layout);
    format!(
        "rounds such as {}",
        names.map(|round| round.name.to_string()).collect::<Vec<_>>().join(", ")
    )
}
