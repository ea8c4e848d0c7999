//! Matrix of hosts, as a table.

use std::collections::BTreeMap;

use super::{
    fabric_rounds::{basis, range},
    part::Part,
    table::TextTable,
};
use crate::{
    fabric::{
        figures::Bandwidth,
        matrix::figures::{Host, Matrix, Pair, SlowPart},
        report::Report,
        usual_rates::SLOW,
    },
    units::{count, gigabytes, rate, size},
};

/// Maximum number of hosts that fit beside each other on a terminal, and whose figures fit into the
/// squares of the heat map.
pub(super) const MAX_HOSTS: usize = 12;

pub(super) fn parts(matrix: &Matrix, report: &Report) -> Vec<Part> {
    let Matrix { fan_out, incast, .. } = matrix;
    let at_once = |what: &str, cell: &Bandwidth, bytes: f64| {
        let bound = if cell.is_bound_by_processor() { ", bound by PROCESSOR" } else { "" };
        let rounds = count(report.rounds, "round");
        let range = range(cell).map(|range| format!(" ({range} GB/s in {rounds})"));
        format!("{what}: {}{}{bound}", rate(bytes), range.unwrap_or_default())
    };
    let both = [
        fan_out.as_ref().map(|cell| {
            at_once("to all nodes at once", cell, cell.total.bytes_per_second_to_nodes)
        }),
        incast.as_ref().map(|cell| {
            at_once("from all nodes at once", cell, cell.total.bytes_per_second_from_nodes)
        }),
    ];
    let both: Vec<_> = both.into_iter().flatten().collect();
    let mut parts = rates(matrix);
    if !both.is_empty() {
        parts.push(Part::Text(both.join("\n")));
    }
    let slow: Vec<_> = matrix
        .slow
        .iter()
        .map(|slow| {
            let part = match &slow.what {
                SlowPart::Sender(node) => format!("sender {node}: at best"),
                SlowPart::Receiver(node) => format!("receiver {node}: at best"),
                SlowPart::Pair(from, to) => format!("pair {from} to {to}:"),
            };
            let (reached, usual) = (rate(slow.bytes_per_second), rate(slow.usual_bytes_per_second));
            let from = basis(slow.rounds, report.rounds);
            format!(
                "SLOW {part} {reached}; the fastest quarter of such pairs reaches {usual}{from}"
            )
        })
        .collect();
    let measured = matrix.pairs.iter().filter(|pair| pair.bytes_per_second.is_some()).count();
    parts.push(match slow[..] {
        [] => Part::Finding {
            is_good: true,
            text: format!(
                "nothing is slow: all {measured} measured pairs reach {SLOW} times the rate of the fastest quarter of such pairs, or differ \
                 from it by no more than their rounds{}",
                basis(report.rounds, report.rounds)
            ),
        },
        _ => Part::bad(slow.join("\n")),
    });
    let failures = matrix.failures.iter().map(|failure| format!("NOT MEASURED {failure}"));
    let failures: Vec<_> = failures.collect();
    parts.extend((!failures.is_empty()).then(|| Part::bad(failures.join("\n"))));
    parts
}

/// Returns a table with a row for each sender, and a note on its marks. For many hosts, returns only
/// the number of pairs, because a large table would hide what is slow.
fn rates(matrix: &Matrix) -> Vec<Part> {
    let (hosts, pairs) = host_pairs(matrix);
    let message = size(matrix.message_bytes);
    if hosts.len() > MAX_HOSTS {
        return vec![Part::Text(format!(
            "{} pairs of {} hosts, messages of {message}: see the files for their figures",
            pairs.len(),
            hosts.len()
        ))];
    }
    let mut titles = vec![format!("GB/s at {message}, from")];
    titles.extend(hosts.iter().map(|host| format!("to {host}")));
    let row = |from: &&Host| {
        let mut row = vec![from.to_string()];
        row.extend(hosts.iter().map(|to| match pairs.get(&(*from, *to)) {
            None => "·".into(),
            Some(pair) => match pair.bytes_per_second {
                None => "none".into(),
                Some(bytes) if pair.is_bound_by_processor() => format!("{}*", gigabytes(bytes)),
                Some(bytes) => gigabytes(bytes),
            },
        }));
        row
    };
    let rows = hosts.iter().map(row).collect();
    let bound = pairs.values().any(|pair| pair.is_bound_by_processor());
    let note = "* bound by PROCESSOR: an I/O thread of the sending node, or of this machine, was saturated, so the network may carry more";
    let table = Part::Table(TextTable { titles, names: 1, rows });
    [table].into_iter().chain(bound.then(|| Part::bad(note.into()))).collect()
}

pub(super) type HostPairs<'a> = (Vec<&'a Host>, BTreeMap<(&'a Host, &'a Host), &'a Pair>);

/// Returns all hosts, this machine first, and the pairs by their ends.
pub(super) fn host_pairs(matrix: &Matrix) -> HostPairs<'_> {
    let pairs = matrix.pairs.iter();
    let mut hosts: Vec<_> = pairs.clone().flat_map(|pair| [&pair.from, &pair.to]).collect();
    hosts.sort_unstable();
    hosts.dedup();
    (hosts, pairs.map(|pair| ((&pair.from, &pair.to), pair)).collect())
}
