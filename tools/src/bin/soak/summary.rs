//! Results of a soak, as text.

use std::{collections::BTreeMap, fmt::Write as _};

use loadgen_node::record::Verdict;

use crate::{
    account::RunAccount,
    memory::{Series, Slope},
    plan::{Fault, Plan},
};

/// Share of the soak that a process must live for its memory to be judged.
const JUDGED: f64 = 0.75;

/// Results of all runs so far.
#[derive(Debug, Default)]
pub struct Summary {
    rows: BTreeMap<Fault, FaultRow>,
    /// Violations, with the number of the run.
    pub violations: Vec<String>,
    /// Peak memory of the LoadGen node in runs without a fault, over time, by kind of run.
    runs: BTreeMap<String, Series>,
}

/// Counts of the runs with the same fault.
#[derive(Debug, Default, Clone)]
struct FaultRow {
    runs: u64,
    good: u64,
    invalid: u64,
    failed: u64,
    killed: u64,
    continued: u64,
    reassigned: u64,
    issued: u64,
    completed: u64,
    lost: u64,
    unaccounted: u64,
}

impl FaultRow {
    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.good += other.good;
        self.invalid += other.invalid;
        self.failed += other.failed;
        self.killed += other.killed;
        self.continued += other.continued;
        self.reassigned += other.reassigned;
        self.issued += other.issued;
        self.completed += other.completed;
        self.lost += other.lost;
        self.unaccounted += other.unaccounted;
    }

    fn line(&self, title: &str) -> String {
        let Self { runs, good, invalid, failed, killed, continued, .. } = self;
        let Self { reassigned, issued, completed, lost, unaccounted, .. } = self;
        format!(
            "| {title} | {runs} | {good} | {invalid} | {failed} | {killed} | {continued} | {} | {} | {} | {} | {} |\n",
            thousands(*issued),
            thousands(*completed),
            thousands(*reassigned),
            thousands(*lost),
            thousands(*unaccounted)
        )
    }
}

impl Summary {
    /// Adds a run that ended `seconds` after the soak began.
    pub fn add(&mut self, plan: &Plan, account: &RunAccount, seconds: f64) {
        let is =
            |wanted: &[Verdict]| u64::from(account.verdict.is_some_and(|v| wanted.contains(&v)));
        self.rows.entry(plan.fault).or_default().add(&FaultRow {
            runs: 1,
            good: is(&[Verdict::Valid, Verdict::Complete]),
            invalid: is(&[Verdict::Invalid]),
            failed: is(&[Verdict::Failed]),
            killed: u64::from(account.verdict.is_none()),
            continued: u64::from(account.has_continued),
            reassigned: account.reassigned,
            issued: account.issued,
            completed: account.completed,
            lost: account.lost,
            unaccounted: account.unaccounted,
        });
        // Only equal runs are comparable: a run that was cut short needs less memory.
        if plan.fault == Fault::None {
            let label = format!("LoadGen node: {:?}, {}", plan.load, plan.transport);
            let new = || Series { label: label.clone(), points: Vec::new() };
            let mib = account.peak_resident_bytes as f64 / f64::from(1 << 20);
            self.runs.entry(label.clone()).or_insert_with(new).points.push((seconds, mib));
        }
    }

    /// Returns the memory of the runs, by kind.
    pub fn run_memory(&self) -> Vec<Series> {
        self.runs.values().cloned().collect()
    }

    /// Returns the sum over all faults.
    fn total(&self) -> FaultRow {
        let mut total = FaultRow::default();
        self.rows.values().for_each(|row| total.add(row));
        total
    }

    /// Returns one line of progress.
    pub fn in_short(&self) -> String {
        let total = self.total();
        format!("{} runs, {} samples issued", total.runs, thousands(total.issued))
    }

    /// Returns both tables in Markdown, for a soak of `seconds` seconds. Reports memory that grows
    /// as a violation.
    pub fn text(&mut self, head: &str, nodes: &[Series], seconds: f64) -> String {
        let mut text = format!(
            "{head}\n\n| fault | runs | VALID or COMPLETE | INVALID | FAILED | killed | continued without a node | \
             samples issued | completed | reassigned | declared lost | unaccounted for |\n\
             |---|---|---|---|---|---|---|---|---|---|---|---|\n"
        );
        for (fault, row) in &self.rows {
            text += &row.line(fault.words());
        }
        text += &self.total().line("**all**");
        text += "\n| memory of | from, MiB | to, MiB | maximum, MiB | growth over the second half, MiB | noise, MiB | |\n\
                 |---|---|---|---|---|---|---|\n";
        for series in nodes.iter().chain(&self.run_memory()) {
            let (Some(first), Some(last)) = (series.points.first(), series.points.last()) else {
                continue;
            };
            // A process warms up, so a process that a fault ended early does not show growth.
            if last.0 - first.0 < seconds * JUDGED {
                continue;
            }
            let Some(slope) = Slope::of(&series.points) else { continue };
            let most = series.points.iter().map(|(_, mib)| *mib).fold(0.0, f64::max);
            let grows = slope.grows();
            let _ = writeln!(
                text,
                "| {} | {:.1} | {:.1} | {most:.1} | {:+.2} | {:.2} | {} |",
                series.label,
                first.1,
                last.1,
                slope.growth(),
                slope.noise(),
                if grows { "grows" } else { "no growth" },
            );
            if grows {
                self.violations.push(format!("the memory of {} grows", series.label));
            }
        }
        text
    }
}

/// Formats 1234567 as 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
