//! Table of faults and their verdicts, in docs/generated/.

use std::path::PathBuf;

use e2e::{document::Generated, process::transport};

use super::{
    fault::{ExpectedEnd, Fault},
    stage::ObservedEnd,
};

/// Returns a Markdown table of these faults and of the observed ends of their runs.
pub fn of(rows: &[(&Fault, &ObservedEnd)]) -> String {
    let mut table =
        "| fault | verdict | in its words | until the end |\n|---|---|---|---|\n".to_owned();
    for (fault, seen) in rows {
        let (verdict, timed) = match seen.verdict {
            ExpectedEnd::Unaffected => ("unaffected", false),
            ExpectedEnd::Finding(_) => ("finding", false),
            ExpectedEnd::Failed(_) => ("failed", true),
            ExpectedEnd::Refused(_) => ("refused", true),
            ExpectedEnd::NoResult => ("no result", true),
        };
        let took = if timed { format!("{:.1} s", seen.took.as_secs_f64()) } else { "–".into() };
        let words = without_ports(&seen.words).replace('|', "\\|");
        table.push_str(&format!("| {} | {verdict} | {words} | {took} |\n", fault.name));
    }
    table
}

/// Replaces ports, which differ between runs.
fn without_ports(words: &str) -> String {
    let mut parts = words.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |words, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{words}HOST:PORT{rest}")
    })
}

/// Writes the table as a document.
pub fn write(table: &str) {
    let transport = transport();
    let name = format!("../docs/generated/faults-{transport}.md");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    let heading = if transport == "quic" { "Faults over QUIC" } else { "Faults over gRPC" };
    let command = format!(
        "NETDIV_WRITE_FAULTS=1 NETDIV_TEST_TRANSPORT={transport} cargo test --release -p e2e faults::"
    );
    Generated(heading).write(&path, &command, table).expect("it can be written");
}
