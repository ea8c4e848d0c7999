//! Edits of a submission of a language model: what other benchmarks have no rules for.

use super::{Row, engines::engines, tree::Tree};
use crate::{
    Rule::*,
    facts::files::sha256_of,
    result::{Distribution, Lengths, Tokens},
    tree::{ACCURACY_LOG, DETAIL},
};
use netdiv_contract::encoding::Encoding;

const RESULTS: &str = "network/acme/results/two-H100-nodes/llama2-70b-99";
const TEST06: &str = "network/acme/compliance/two-H100-nodes/llama2-70b-99/Server/TEST06";

/// Sets the 99th percentile of first tokens, in log and record.
fn first_token(tree: &Tree, ns: &str) {
    percentile(tree, "result_first_token_99.00_percentile_latency_ns", "first_token_99.00", ns);
}

/// The same of further tokens.
fn further_token(tree: &Tree, ns: &str) {
    percentile(tree, "result_time_per_output_token_99.00_percentile_ns", "further_token_99.00", ns);
}

fn percentile(tree: &Tree, key: &str, name: &str, ns: &str) {
    tree.entry("Server/performance", key, ns, "");
    tree.record("Server/performance", |record| {
        record.loadgen_latency_ns.insert(name.into(), ns.parse().unwrap());
    });
}

/// Sets one of LoadGen's bounds, in log and record.
fn bound(tree: &Tree, setting: &str, ns: &str) {
    tree.entry("Server/performance", &format!("requested_{setting}"), ns, "");
    tree.record("Server/performance", |record| {
        record.test_settings.insert(setting.into(), ns.into());
    });
}

/// Edits what a record has of the tokens of a node.
fn tokens(tree: &Tree, run: &str, change: fn(&mut Tokens)) {
    tree.record(run, |record| change(record.nodes[0].tokens.as_mut().unwrap()));
}

/// Edits the responses of TEST06, in log and record.
fn responses(tree: &Tree, change: impl FnOnce(String) -> String) {
    let path = format!("{TEST06}/accuracy/mlperf_log_accuracy.json");
    let log = change(tree.read(&path));
    tree.write(&path, &log);
    tree.record("Server/TEST06", |record| {
        record.logs.insert(ACCURACY_LOG.into(), sha256_of(&log));
    });
}

/// Lets the file of the model have these keys.
pub(super) fn model(tree: &Tree, keys: &str) {
    engines(tree, "plugin:torch", &format!("vocabulary = 32000\n{keys}\n"));
}

/// Fewer responses of TEST06 than its audit.config asks for.
pub(super) fn fewer_responses(tree: &Tree) {
    responses(tree, |log| {
        let entries: Vec<_> = log.split(",\n").collect();
        format!("{}\n]\n", entries[..99].join(",\n"))
    });
}

pub(super) const ROWS: &[Row] = &[
    ("outputs that end early", &[N2], |tree| model(tree, "max_tokens = 1023\neos = [2]")),
    ("outputs that go on", &[N2], |tree| model(tree, "max_tokens = 1025\neos = [2]")),
    ("outputs of which nobody can tell whether they ended", &[N2], |tree| {
        model(tree, "max_tokens = 1024\neos = []");
    }),
    ("outputs without an end", &[N2], |tree| model(tree, "max_tokens = 1024")),
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
    ("a late first token", &[N2], |tree| first_token(tree, "2000000001")),
    ("a first token at the bound", &[N2], |tree| first_token(tree, "2000000000")),
    ("slow tokens", &[N2], |tree| further_token(tree, "200000001")),
    ("tokens at the bound", &[N2], |tree| further_token(tree, "200000000")),
    ("a longer time for the first token", &[N2], |tree| {
        bound(tree, "server_ttft_latency", "2000000001");
    }),
    ("a longer time for further tokens", &[N2], |tree| {
        bound(tree, "server_tpot_latency", "200000001");
    }),
    ("no tokens per second", &[N2], |tree| {
        tree.log("Server/performance", DETAIL, |text| {
            text.replace("result_completed_tokens_per_second", "result_tokens")
        });
        tree.record("Server/performance", |record| record.token_metric = None);
    }),
    ("tokens without their times", &[N2], |tree| {
        tree.entry("Offline/performance", "requested_use_token_latencies", "false", "");
    }),
    ("more tokens than allowed", &[N2], |tree| {
        let path = format!("{RESULTS}/Offline/accuracy/accuracy.txt");
        tree.replace(&path, "'tokens_per_sample': 294.0", "'tokens_per_sample': 330.0");
    }),
    ("another number of tokens than the run had", &[N2], |tree| {
        let path = format!("{RESULTS}/Server/accuracy/accuracy.txt");
        tree.replace(&path, "'tokens_per_sample': 294.0", "'tokens_per_sample': 294.1");
    }),
    ("an accuracy run without tokens", &[N2], |tree| {
        tree.log("Server/accuracy", DETAIL, |text| {
            text.replace("requested_use_token_latencies", "requested_nothing")
        });
        tree.record("Server/accuracy", |record| {
            record.test_settings.insert("use_token_latencies".into(), "false".into());
            record.nodes.iter_mut().for_each(|node| node.tokens = None);
        });
    }),
    ("tokens that are inferred", &[N2], |tree| {
        tree.every_record(|record| {
            record.test_settings.insert("infer_token_latencies".into(), "true".into());
        });
    }),
    ("a test without tokens", &[N2, N34], |tree| {
        tree.record("Offline/TEST06", |record| {
            record.test_settings.insert("use_token_latencies".into(), "false".into());
            record.nodes.iter_mut().for_each(|node| node.tokens = None);
        });
    }),
    ("first tokens in Offline", &[N2], |tree| {
        tokens(tree, "Offline/performance", |tokens| tokens.first_ns.max = 1);
    }),
    ("no first tokens in Server", &[N2], |tree| {
        tokens(tree, "Server/accuracy", |tokens| {
            let Distribution { mean, p50, p90, p99, p99_9, max } = &mut tokens.first_ns;
            *mean = 0.0;
            [p50, p90, p99, p99_9, max].into_iter().for_each(|ns| *ns = 0);
        });
    }),
    ("a prompt that is too long", &[N2], |tree| {
        tree.every_record(|record| {
            record.input = vec!["input_ids int32 [?]".into()];
            record.sample_bytes = Some(Lengths { least: 4096, most: 4124 });
        });
    }),
    ("an answer that is too long", &[N2], |tree| {
        tokens(tree, "Server/performance", |tokens| tokens.per_answer.max = 1025);
    }),
    ("answers of one token", &[N33], |tree| {
        tokens(tree, "Offline/accuracy", |tokens| tokens.one_token_answers = 3);
    }),
    ("no count of tokens", &[N21], |tree| {
        tree.record("Offline/performance", |record| record.nodes[0].tokens = None);
    }),
    ("fewer tokens than LoadGen was given", &[N18, N21], |tree| {
        tokens(tree, "Server/performance", |tokens| {
            tokens.total -= tokens.total / 1000;
        });
    }),
    ("another mean than that of the answers", &[N21], |tree| {
        tokens(tree, "Server/accuracy", |tokens| tokens.per_answer.mean = 290.0);
    }),
    ("tokens in no order", &[N21], |tree| {
        tokens(tree, "Server/performance", |tokens| tokens.further_ns.p50 = u64::MAX);
    }),
    ("fewer bytes than the tokens have", &[N18], |tree| {
        tree.record("Server/performance", |record| record.nodes[0].bytes_received -= 1);
    }),
    ("an Offline query without its padding", &[N21], |tree| {
        tree.entry("Offline/performance", "generated_samples_per_query", "33000", "");
    }),
    ("first tokens that nobody counted", &[N10], |tree| {
        tree.record("Server/digests", |record| {
            let responses = &mut record.digests.as_mut().unwrap().responses;
            (responses.sent, responses.received) = (responses.sent / 2, responses.received / 2);
        });
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
    ("TEST06 with a response that is not hex", &[N34], |tree| {
        responses(tree, |log| log.replacen("\"data\" : \"", "\"data\" : \"x", 1));
    }),
    ("TEST06 without a count of tokens", &[N34], |tree| {
        responses(tree, |log| log.replacen("token_count", "tokens", 1));
    }),
    ("TEST06 without a response", &[N34], |tree| responses(tree, |_| "[\n]\n".into())),
    ("TEST06 with an empty log", &[N34, N35], |tree| responses(tree, |_| String::new())),
    ("TEST06 that failed all the same", &[N30, N34], |tree| {
        let path = format!("{TEST06}/verify_accuracy.txt");
        tree.replace(&path, "verification complete", "verification failed");
    }),
    ("TEST06 without ends of sequences", &[N30, N34], |tree| {
        let path = format!("{TEST06}/verify_accuracy.txt");
        tree.replace(&path, "EOS check pass: True", "EOS check pass: False");
    }),
];
