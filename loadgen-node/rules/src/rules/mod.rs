//! The MUSTs N1 to N38: the table of the rules, and a file for each with the function that judges
//! it. docs/RULES.md describes what keeps each rule and what tests it.
//!
//! A rule judges the runs and the tree that [`crate::subject`] has read. It uses the facts in
//! `facts/` and the comparisons in `judge/`. A rule with many parts has a folder for them. Tests
//! edit a valid submission; the edits that break N21 before any other rule are in
//! `tests/mutations/n21.toml`.

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
pub(crate) mod redraft;
mod settings;
#[cfg(test)]
mod tests;

use self::Divisions::{Closed, Network, Open};
use crate::{
    Division,
    Rule::{self, *},
    subject::{AllFindings, Findings, Subject},
};

/// Row of a rule in the table. The rule's row in docs/RULES.md adds what keeps it and what tests
/// it.
struct RuleRow {
    id: Rule,
    /// Section of the rules text that contains the rule, or the name of another document that does.
    section: &'static str,
    title: &'static str,
    divisions: Divisions,
    judge: fn(&Subject, &mut Findings),
}

const fn rule(
    id: Rule,
    section: &'static str,
    title: &'static str,
    divisions: Divisions,
    judge: fn(&Subject, &mut Findings),
) -> RuleRow {
    RuleRow { id, section, title, divisions, judge }
}

/// Divisions that require a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Divisions {
    /// The Network division, because only section 6.2 contains the rule.
    Network,
    /// The Network and Closed divisions. N2, N10, N21 and N29 are among these rules, because
    /// sections for every division contain the targets, the ban on caching (4.1.1), the requirement
    /// that the figures are LoadGen's (5.1), and ECC (4.1.1).
    Closed,
    /// All divisions. The Open division requires an unaltered LoadGen (N3) with the announced seeds
    /// (N31), the duration and queries of N32, a VALID result (N33), the files and fields that the
    /// official checker requires of any submission (N35, N36), and the reason for being in the Open
    /// division (N38).
    Open,
}

/// All rules, in the order of [`Rule`], so that the rule is the index of its row.
static RULES: [RuleRow; 38] = [
    rule(N1, "6.2", "datacenter suite only", Network, n01::judge),
    rule(N2, "6.2, 4.1.1", "all rules of the Closed division", Closed, n02::judge),
    rule(N3, "5.1", "LoadGen unmodified, from a commit that the round accepts", Open, n03::judge),
    rule(N4, "6.2.2", "SUT and QDL on physically separate systems", Network, n04::judge),
    rule(N5, "6.2.2", "a permitted fabric", Network, n05::judge),
    rule(N6, "6.2.2", "the metadata shows OSI layers 1 to 4", Network, n06::judge),
    rule(N7, "6.2.1", "no pre-processing, conversion or padding in the QDL", Network, n07::judge),
    rule(N8, "6.2.1", "no post-processing of responses in the QDL", Network, n08::judge),
    rule(N9, "6.2.1", "no batching in the QDL", Network, n09::judge),
    rule(N10, "6.2.1, 6.2.3", "no caching of queries or responses", Closed, n10::judge),
    rule(N11, "6.2.1", "responses are decompressed inside the timed region", Network, n11::judge),
    rule(N12, "6.2.1", "a single SUT to LoadGen", Network, n12::judge),
    rule(N13, "6.2.1", "the SUT's name contains \"Network SUT\"", Network, n13::judge),
    rule(N14, "6.2.1", "Name() makes a round trip over the network", Network, n14::judge),
    rule(N15, "6.2.1", "Name() asks each node; each has its own name", Network, n15::judge),
    rule(N16, "6.2.1", "the QDL's source is in the submission", Network, n16::judge),
    rule(N17, "6.2.1", "the session layer is documented", Network, n17::judge),
    rule(N18, "6.2.3", "queries and responses all cross the network", Network, n18::judge),
    rule(N19, "6.2.3", "batching, pre- and post-processing at the SUT", Network, n19::judge),
    rule(N20, "6.2.3", "the SUT's configuration is named", Network, n20::judge),
    rule(N21, "6.2.3", "everything outside the LoadGen node is the SUT", Closed, n21::judge),
    rule(N22, "6.2.3", "network interfaces of all components are described", Network, n22::judge),
    rule(N23, "6.2.3", "a system diagram with its text", Network, n23::judge),
    rule(N24, "6.2.3", "an available system names all its versions", Network, n24::judge),
    rule(N25, "6.2.4", "compression only as the table allows", Network, n25::judge),
    rule(N26, "6.2.4", "an LLM receives token ids", Network, n26::judge),
    rule(N27, "Appendix B, 5.1", "the NICs carry what Appendix B requires", Closed, n27::judge),
    rule(N28, "5.1", "a description of the system's architecture", Closed, n28::judge),
    rule(N29, "4.1.1", "ECC is on", Closed, n29::judge),
    rule(N30, "5.1", "the same responses in accuracy and performance mode", Closed, n30::judge),
    rule(N31, "2.4", "no randomness but the announced seeds", Open, n31::judge),
    rule(N32, "3, 4.1.1", "scenarios, duration and number of queries", Open, n32::judge),
    rule(N33, "5.1", "the result is VALID and no log has an error", Open, n33::judge),
    rule(N34, "submission rules", "compliance tests", Closed, n34::judge),
    rule(N35, "submission rules", "files of a submission", Open, n35::judge),
    rule(
        N36,
        "submission checker",
        "is_network and the fields of a network system",
        Open,
        n36::judge,
    ),
    rule(N37, "2.8", "networking can be compared in an audit", Closed, n37::judge),
    rule(N38, "6.2", "what does not conform goes to the Open division", Open, n38::judge),
];

/// Rules that the settings of a run decide, so that they are judged before it begins.
const OF_SETTINGS: [Rule; 7] = [N1, N2, N3, N25, N26, N31, N32];

/// Rules that the nodes of a run and their machines decide, before it begins.
const OF_NODES: [Rule; 4] = [N4, N5, N10, N29];

/// Judges all rules except N38, which judges the findings of the others. For a run that has not
/// begun, judges the rules that need no outcome.
pub(crate) fn judge(subject: &Subject, found: &mut AllFindings) {
    let has_nodes = subject.records().any(|(_, record)| record.evidence.is_some());
    let is_due = |row: &&RuleRow| {
        !subject.is_upcoming
            || OF_SETTINGS.contains(&row.id)
            || has_nodes && OF_NODES.contains(&row.id)
    };
    n35::judge_purposes(subject, found);
    // Others look up whether the sources are those of the program (`judge_by_construction`).
    let is_first = |row: &&RuleRow| row.id == N16;
    let others = RULES.iter().filter(|row| !is_first(row) && row.id != N38);
    for row in RULES.iter().filter(is_first).chain(others).filter(is_due) {
        row.id.judge(subject, found);
    }
    redraft::judge(subject, found);
}

impl Rule {
    fn row(self) -> &'static RuleRow {
        &RULES[self as usize]
    }

    /// Judges the rule.
    pub(crate) fn judge(self, subject: &Subject, found: &mut AllFindings) {
        (self.row().judge)(subject, &mut found.of(self));
    }

    /// Returns true if a division requires the rule. The Open division's waivers depend on the
    /// findings.
    pub(crate) fn is_required_in(self, division: Division) -> bool {
        division != Division::Closed || self.is_in_closed()
    }

    /// Returns true if the Closed division requires the rule.
    pub(crate) fn is_in_closed(self) -> bool {
        self.row().divisions >= Closed
    }

    /// Returns true if the Open division requires the rule.
    pub(crate) fn is_in_open(self) -> bool {
        self.row().divisions == Open
    }

    /// Returns the section of the rules text that requires the rule.
    pub fn section(self) -> &'static str {
        self.row().section
    }

    /// Returns the source of the rule, such as `section 6.2` or `submission rules`.
    pub fn source(self) -> String {
        let section = self.section();
        let is_number = section.starts_with(|c: char| c.is_ascii_digit());
        if is_number { format!("section {section}") } else { section.into() }
    }

    /// Returns the requirement of the rule in a few words, such as `datacenter suite only`.
    pub fn text(self) -> &'static str {
        self.row().title
    }
}
