//! Edits of a submission to round v5.1, which has interactive variants in a folder beside Server.

use super::{Row, tree::Tree};
use crate::Rule::*;

const BANDWIDTH: &str = "network/acme/documentation/bandwidth.md";
const FOLDERS: [&str; 3] = ["results", "measurements", "compliance"];

fn folder(of: &str, rest: &str) -> String {
    format!("network/acme/{of}/two-H100-nodes/{rest}")
}

/// Moves the interactive variant, wherever it is.
fn moved(tree: &Tree, to: &str) {
    for of in FOLDERS {
        let to = tree.path(&folder(of, to));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(tree.path(&folder(of, "llama2-70b-99/Interactive")), to).unwrap();
    }
}

fn first_token(tree: &Tree, ns: &str) {
    let run = "Interactive/performance";
    tree.entry(run, "result_first_token_99.00_percentile_latency_ns", ns, "");
    tree.record(run, |record| {
        record.loadgen_latency_ns.insert("first_token_99.00".into(), ns.parse().unwrap());
    });
}

pub(super) const ROWS: &[Row] = &[
    ("an interactive variant as a benchmark of its own", &[N1, N32, N35], |tree| {
        moved(tree, "llama2-70b-interactive-99/Server");
    }),
    ("an interactive variant in the folder of Server", &[N35], |tree| {
        moved(tree, "llama2-70b-99/Server");
    }),
    ("a first token that Server's bound allows", &[N2], |tree| first_token(tree, "450000001")),
    // The evidence in the documentation is that of the first run.
    ("no Offline beside the interactive variant", &[N22, N32], |tree| {
        FOLDERS.iter().for_each(|of| tree.remove(&folder(of, "llama2-70b-99/Offline")));
    }),
    ("fewer tokens in the report on the bandwidth", &[N27], |tree| {
        tree.replace(BANDWIDTH, "| from it | 1024 | 4096 |", "| from it | 294 | 1178 |");
    }),
    ("no tokens in the report on the bandwidth", &[N27], |tree| {
        tree.replace(BANDWIDTH, "| from it | 1024 | 4096 |", "| from it | 1024 |");
    }),
];
