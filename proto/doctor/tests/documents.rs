//! What docs/DOCTOR.md says is what the code finds.

#![allow(clippy::disallowed_methods, reason = "tests read what they wrote")]

use std::{fs, path::Path};

use netdiv_doctor::{Id, table};

#[test]
fn the_table_is_that_of_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/DOCTOR.md");
    let page = fs::read_to_string(page).expect("a page");
    let (_, rest) = page.split_once("<!-- findings: begin -->\n").expect("a beginning");
    let (written, _) = rest.split_once("<!-- findings: end -->").expect("an end");
    let wanted = table();
    assert!(written == wanted, "docs/DOCTOR.md has to say:\n{wanted}");
}

#[test]
fn every_finding_has_a_word_of_its_own_and_all_that_is_to_be_said() {
    let mut words: Vec<_> = Id::all().map(Id::word).collect();
    let count = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), count);
    for id in Id::all() {
        assert!(id.word().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", id.word());
        let about = id.about();
        for text in [about.severity, about.when, about.cost, about.remedy] {
            assert!(!text.is_empty() && !text.contains('|'), "{}: {text}", id.word());
        }
        assert_eq!(serde_json::to_value(id).expect("a word"), id.word());
    }
}
