//! Every metric of both programs. docs/METRICS.md has the same as a table.

use crate::metrics::metric::Metric;

/// Bounds of histograms of times, in seconds: from 10 µs to 100 s.
pub const SECONDS_BOUNDS: [f64; 15] =
    [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Bounds of histograms of batch sizes.
pub const SAMPLES_BOUNDS: [f64; 11] =
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

macro_rules! metrics {
    ($($id:ident = $name:literal $kind:ident $unit:ident [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $help, ".")]
            pub const $id: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        /// All of them.
        pub const ALL: &[Metric] = &[$($id),*];
    };
}

/// The metrics of a SUT node.
pub mod sut_node {
    use crate::metrics::metric::{Kind, Metric, Unit};

    metrics! {
        SAMPLES_RECEIVED = "netdiv_samples_received_total" Counter Count []
            "Samples read from streams";
        SAMPLES_REFUSED = "netdiv_samples_refused_total" Counter Count []
            "Samples that could not be read";
        SAMPLES_QUEUED = "netdiv_samples_queued" Gauge Count []
            "Samples that wait for a batch";
        SAMPLES_IN_FLIGHT = "netdiv_samples_in_flight" Gauge Count []
            "Samples taken in and not answered, once a second";
        SAMPLES_ABANDONED = "netdiv_samples_abandoned_total" Counter Count []
            "Samples dropped because their client had gone";
        BATCH_SAMPLES = "netdiv_batch_samples" Histogram Count []
            "Samples in a batch";
        BATCH_QUEUE = "netdiv_batch_queue_seconds" Histogram Seconds []
            "Time that the oldest sample of a batch waited for it";
        BATCH_COMPUTE = "netdiv_batch_compute_seconds" Histogram Seconds []
            "Time from when the engine took a batch until it was done";
        BATCHES_FAILED = "netdiv_batches_failed_total" Counter Count []
            "Batches that the engine could not run";
        STREAMS_ABORTED = "netdiv_streams_aborted_total" Counter Count []
            "Streams ended because an engine did not come back";
        SLOTS = "netdiv_slots" Gauge Count []
            "Samples that a plug-in's language model has under way, at most; only with such a model";
        CACHE_BYTES = "netdiv_cache_bytes" Gauge Bytes []
            "Device memory for its keys and values; only with such a model";
        WELL = "netdiv_well" Gauge Flag []
            "Whether the node is ready to serve";
        CONNECTIONS = "netdiv_connections" Gauge Count []
            "Connections of clients, over both transports";
        RPCS = "netdiv_rpcs_total" Counter Count ["method"]
            "Calls";
        RPC_SECONDS = "netdiv_rpc_seconds" Histogram Seconds ["method"]
            "Time until a call's answer began";
    }
}

/// The metrics of a LoadGen node, during a run.
pub mod loadgen_node {
    use crate::metrics::metric::{Kind, Metric, Unit};

    metrics! {
        RUN = "netdiv_loadgen_run_info" Gauge Flag ["benchmark", "scenario", "mode", "division"]
            "Always 1; its labels say what run it is";
        FAILED = "netdiv_loadgen_run_failed" Gauge Flag []
            "Whether the run has failed";
        FINDINGS = "netdiv_loadgen_rule_findings" Gauge Count ["outcome"]
            "Rules of the division that were looked at before the run";
        ISSUED = "netdiv_loadgen_samples_issued_total" Counter Count []
            "Samples issued by LoadGen";
        WAITING = "netdiv_loadgen_samples_waiting" Gauge Count []
            "Samples issued and not sent";
        SENT = "netdiv_loadgen_samples_sent_total" Counter Count ["node"]
            "Samples sent to a node";
        ANSWERED = "netdiv_loadgen_samples_answered_total" Counter Count ["node"]
            "Samples that a node has answered";
        IN_FLIGHT = "netdiv_loadgen_samples_in_flight" Gauge Count ["node"]
            "Samples sent to a node and not answered";
        REDISPATCHED = "netdiv_loadgen_samples_redispatched_total" Counter Count ["node"]
            "Samples of a lost node that went to others";
        UNMATCHED = "netdiv_loadgen_replies_unmatched_total" Counter Count ["node"]
            "Replies that belong to no sample in flight";
        NODE_LOST = "netdiv_loadgen_node_lost" Gauge Flag ["node"]
            "Whether the run goes on without a node";
        SENT_BYTES = "netdiv_loadgen_sent_bytes_total" Counter Bytes ["node"]
            "Payloads sent to a node, as encoded";
        RECEIVED_BYTES = "netdiv_loadgen_received_bytes_total" Counter Bytes ["node"]
            "Payloads received from a node, as encoded";
        LATENCY = "netdiv_loadgen_latency_seconds" Histogram Seconds ["node"]
            "Time from IssueQuery until a sample was answered";
        STAGE = "netdiv_loadgen_stage_seconds" Histogram Seconds ["node", "stage"]
            "Where that time went: qdl_queue, network, sut_queue, compute";
        TOKENS = "netdiv_loadgen_tokens_total" Counter Count ["node"]
            "Tokens of all answers; only where LoadGen counts tokens";
        FIRST_TOKEN = "netdiv_loadgen_first_token_seconds" Histogram Seconds ["node"]
            "Time from IssueQuery until the first token; only where LoadGen is told of first tokens";
        FURTHER_TOKEN = "netdiv_loadgen_further_token_seconds" Histogram Seconds ["node"]
            "Time for each further token; only where LoadGen is told of first tokens";
    }
}

/// The metrics as a table of Markdown, a line for each.
pub fn table(metrics: &[Metric]) -> String {
    let row = |Metric { name, kind, unit, labels, help }: &Metric| {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        format!("| `{name}` | {kind} | {unit} | {} | {help} |\n", labels.join(", "))
    };
    let rows: String = metrics.iter().map(row).collect();
    format!("| name | kind | unit | labels | what it is |\n|---|---|---|---|---|\n{rows}")
}
