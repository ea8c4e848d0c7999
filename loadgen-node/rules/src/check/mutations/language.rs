//! Edits of a submission of a language model: what other benchmarks have no rules for.

use super::Row;
use crate::Rule::*;
use netdiv_contract::encoding::Encoding;

const RESULTS: &str = "network/acme/results/two-H100-nodes/llama2-70b-99";
const TEST06: &str = "network/acme/compliance/two-H100-nodes/llama2-70b-99/Server/TEST06";

pub(super) const ROWS: &[Row] = &[
    ("compression", &[N25], |tree| tree.every_record(|record| record.encoding = Encoding::Zstd)),
    ("compressed responses", &[N25], |tree| {
        tree.every_record(|record| record.nodes[0].response_encodings = vec![Encoding::Lz4]);
    }),
    ("text instead of token ids", &[N26, N35], |tree| {
        tree.every_record(|record| record.input = vec!["prompt uint8 [?]".into()]);
    }),
    ("four tensors", &[N26], |tree| {
        tree.every_record(|record| record.input = vec!["x int32 [1024]".into(); 4]);
    }),
    ("a late first token", &[N2], |tree| {
        let key = "result_first_token_99.00_percentile_latency_ns";
        tree.entry("Server/performance", key, "2000000001", "");
        tree.record("Server/performance", |record| {
            record.loadgen_latency_ns.insert("first_token_99.00".into(), 2_000_000_001.0);
        });
    }),
    ("slow tokens", &[N2], |tree| {
        let key = "result_time_per_output_token_99.00_percentile_ns";
        tree.entry("Server/performance", key, "200000001", "");
        tree.record("Server/performance", |record| {
            record.loadgen_latency_ns.insert("further_token_99.00".into(), 200_000_001.0);
        });
    }),
    ("tokens without their times", &[N2], |tree| {
        tree.entry("Offline/performance", "requested_use_token_latencies", "false", "");
    }),
    ("more tokens than allowed", &[N2], |tree| {
        let path = format!("{RESULTS}/Offline/accuracy/accuracy.txt");
        tree.replace(&path, "'tokens_per_sample': 294.4", "'tokens_per_sample': 330.0");
    }),
    ("samples issued unequally", &[N32], |tree| {
        let key = "effective_sample_concatenate_permutation";
        tree.entry("Server/performance", key, "false", "");
    }),
    ("TEST06 with a log of another run", &[N35], |tree| {
        let path = format!("{TEST06}/accuracy/mlperf_log_accuracy.json");
        tree.replace(&path, "\"seq_id\" : 0", "\"seq_id\" : 1");
    }),
    ("no TEST06", &[N34], |tree| tree.remove(TEST06.trim_end_matches("/TEST06"))),
    ("TEST06 without ends of sequences", &[N30, N34], |tree| {
        let path = format!("{TEST06}/verify_accuracy.txt");
        tree.replace(&path, "EOS check pass: True", "EOS check pass: False");
    }),
];
