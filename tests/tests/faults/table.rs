//! What was seen, as a table of docs/RELIABILITY.md.

use std::{fs, path::PathBuf};

use e2e::process::transport;

use super::{
    fault::{Expected, Fault},
    stage::Seen,
};

/// The table of these faults.
pub fn of(rows: &[(&Fault, &Seen)]) -> String {
    let mut table =
        "| fault | verdict | in its words | until the end |\n|---|---|---|---|\n".to_owned();
    for (fault, seen) in rows {
        let (verdict, timed) = match seen.verdict {
            Expected::Unaffected => ("unaffected", false),
            Expected::Finding(_) => ("finding", false),
            Expected::Failed(_) => ("failed", true),
            Expected::Refused(_) => ("refused", true),
            Expected::NoResult => ("no result", true),
        };
        let took = if timed { format!("{:.1} s", seen.took.as_secs_f64()) } else { "–".into() };
        let words = without_ports(&seen.words).replace('|', "\\|");
        table.push_str(&format!("| {} | {verdict} | {words} | {took} |\n", fault.name));
    }
    table
}

/// The same words in each run: ports are free ones.
fn without_ports(words: &str) -> String {
    let mut parts = words.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |words, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{words}HOST:PORT{rest}")
    })
}

/// Puts the table between its marks in the document.
pub fn write(table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/RELIABILITY.md");
    let text = fs::read_to_string(&path).expect("the document is there");
    let (begin, end) = (format!("<!-- faults: {} -->\n", transport()), "<!-- end of faults -->");
    let (before, rest) = text.split_once(&begin).expect("the document has the first mark");
    let (_, after) = rest.split_once(end).expect("the document has the second mark");
    fs::write(&path, format!("{before}{begin}\n{table}\n{end}{after}")).expect("it can be written");
}
