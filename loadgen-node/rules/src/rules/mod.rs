//! Judges of the MUSTs N1 to N38, one file for each: the requirement of the rule, the code that
//! keeps it, and the function that judges it.
//!
//! A rule judges the runs and the tree that [`crate::subject`] has read. It uses the facts in
//! `facts/` and the comparisons in `judge/`. A rule with many parts has a folder for them. Tests
//! edit a valid submission; the edits that break N21 before any other rule are in
//! `tests/mutations/n21.toml`.
//!
//! - `agreement`: comparisons of facts that are stated twice
//! - `description`: comparison of a system description with its runs and links
//! - `digests`: judgement of runs that compared every byte
//! - `document_diff`: comparison of a document with the regenerated one
//! - `entry`: entry of a rule in the registry
//! - `purposes`: detection of runs that serve two purposes
//! - `regeneration`: the documents that `submission` makes, regenerated from a tree
//! - `separation`: judgement of the machines at both ends
//! - `settings`: comparison of LoadGen's settings in its log, the record and `user.conf`

mod agreement;
mod description;
mod digests;
mod document_diff;
mod entry;
mod n01;
mod n02;
mod n03;
mod n04;
mod n05;
mod n06;
mod n07;
mod n08;
mod n09;
mod n10;
mod n11;
mod n12;
mod n13;
mod n14;
mod n15;
mod n16;
mod n17;
mod n18;
mod n19;
mod n20;
mod n21;
mod n22;
mod n23;
mod n24;
mod n25;
mod n26;
mod n27;
mod n28;
mod n29;
mod n30;
mod n31;
mod n32;
mod n33;
mod n34;
mod n35;
mod n36;
mod n37;
mod n38;
mod purposes;
pub(crate) mod regeneration;
mod separation;
mod settings;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::{
    Finding, Rule,
    subject::{AllFindings, Subject},
};
use agreement::Agreement;
use entry::RuleEntry;

/// Entries of all rules, in the order of [`Rule`], so that [`Rule::entry`] can use the rule as
/// index.
#[rustfmt::skip]
pub(crate) static RULES: [RuleEntry; 38] = [
    n01::RULE, n02::RULE, n03::RULE, n04::RULE, n05::RULE, n06::RULE, n07::RULE, n08::RULE,
    n09::RULE, n10::RULE, n11::RULE, n12::RULE, n13::RULE, n14::RULE, n15::RULE, n16::RULE,
    n17::RULE, n18::RULE, n19::RULE, n20::RULE, n21::RULE, n22::RULE, n23::RULE, n24::RULE,
    n25::RULE, n26::RULE, n27::RULE, n28::RULE, n29::RULE, n30::RULE, n31::RULE, n32::RULE,
    n33::RULE, n34::RULE, n35::RULE, n36::RULE, n37::RULE, n38::RULE,
];

/// Rules that are judged before the others. The others look up their findings, and do not report
/// the consequences of such a violation again.
const JUDGED_FIRST: [Rule; 3] = [Rule::N2, Rule::N16, Rule::N32];

/// Judges all rules except N38, which judges the findings of the others.
pub(crate) fn judge(subject: &Subject, found: &mut AllFindings) {
    let is_first = |entry: &&RuleEntry| JUDGED_FIRST.contains(&entry.id);
    let others = RULES.iter().filter(|entry| !is_first(entry) && entry.id != Rule::N38);
    for entry in RULES.iter().filter(is_first).chain(others) {
        entry.judge(subject, found);
    }
}

impl Rule {
    /// Returns the entry of the rule.
    pub(crate) fn entry(self) -> &'static RuleEntry {
        &RULES[self as usize]
    }

    /// Returns the section of the rules text that requires the rule.
    pub fn section(self) -> &'static str {
        self.entry().section
    }

    /// Returns the source of the rule, such as `section 6.2` or `submission rules`.
    pub fn source(self) -> String {
        let section = self.section();
        let is_number = section.starts_with(|c: char| c.is_ascii_digit());
        if is_number { format!("section {section}") } else { section.into() }
    }

    /// Returns the requirement of the rule in a few words, such as `datacenter suite only`.
    pub fn text(self) -> &'static str {
        self.entry().title
    }

    /// Returns the row of the rule in docs/generated/rules.md, in Markdown.
    pub fn row(self) -> String {
        let RuleEntry { id, section, title, enforced_by, evidence, tests, .. } = self.entry();
        format!("| {id} | {title} | {section} | {enforced_by} | {evidence} | {tests} |\n")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, place, text, .. } = self;
        let source = rule.source();
        if place.is_empty() {
            write!(f, "{rule} ({source}): {text}")
        } else {
            write!(f, "{rule} ({source}): {place}: {text}")
        }
    }
}
