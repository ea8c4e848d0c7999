//! Registry of the metrics of both programs. `docs/generated/metrics.md` lists them as tables.

/// Metric of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name of the metric.
    pub name: &'static str,
    /// Prometheus type of the metric.
    pub kind: Kind,
    /// Unit of the value.
    pub unit: Unit,
    /// Names of the metric's labels.
    pub labels: &'static [&'static str],
    /// Short description, without a full stop.
    pub help: &'static str,
}

/// Prometheus type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Value that only grows while the process lives.
    Counter,
    /// Value that rises and falls.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
}

/// Unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Unit {
    /// Number of the things in the metric's name.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// 1 for yes and 0 for no.
    #[strum(serialize = "0 or 1")]
    Flag,
}

impl Metric {
    /// Returns the names of the time series that Prometheus stores for the metric: three for a
    /// histogram, else one.
    pub fn series(&self) -> Vec<String> {
        match self.kind {
            Kind::Counter | Kind::Gauge => vec![self.name.into()],
            Kind::Histogram => {
                ["_bucket", "_sum", "_count"].map(|part| format!("{}{part}", self.name)).into()
            }
        }
    }
}

/// Upper bounds of the buckets in histograms of times, in seconds: from 10 µs to 100 s.
pub const SECONDS_BOUNDS: [f64; 15] =
    [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Upper bounds of the buckets in histograms of batch sizes, in samples.
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
        /// All metrics of the program.
        pub const ALL: &[Metric] = &[$($id),*];
    };
}

/// Conventional metrics of a process, which both programs have.
pub mod both_programs {
    use super::{Kind, Metric, Unit};

    metrics! {
        START_TIME = "process_start_time_seconds" Gauge Seconds []
            "Start of the process, in seconds since 1970-01-01 UTC";
        CPU_TIME = "process_cpu_seconds_total" Counter Seconds []
            "Processor time of all threads, in user and in kernel code";
        RESIDENT_BYTES = "process_resident_memory_bytes" Gauge Bytes []
            "Memory of the process in RAM";
        VIRTUAL_BYTES = "process_virtual_memory_bytes" Gauge Bytes []
            "Address space of the process";
        OPEN_FDS = "process_open_fds" Gauge Count []
            "Open file descriptors, which include connections";
        MAX_FDS = "process_max_fds" Gauge Count []
            "Maximum number of open file descriptors";
        THREADS = "process_threads" Gauge Count []
            "Threads of the process";
    }
}

/// Metrics of a SUT node.
pub mod sut_node {
    use super::{Kind, Metric, Unit};

    metrics! {
        BUILD = "netdiv_build_info" Gauge Flag ["version", "revision"]
            "Always 1; the labels identify the program and the git revision of its sources, if it is known";
        SAMPLES_RECEIVED = "netdiv_samples_received_total" Counter Count []
            "Samples read from streams";
        SAMPLES_REFUSED = "netdiv_samples_refused_total" Counter Count []
            "Samples refused because they were invalid";
        SAMPLES_QUEUED = "netdiv_samples_queued" Gauge Count []
            "Samples that wait for a batch";
        SAMPLES_IN_FLIGHT = "netdiv_samples_in_flight" Gauge Count []
            "Samples received and not answered, updated once a second";
        SAMPLES_ABANDONED = "netdiv_samples_abandoned_total" Counter Count []
            "Samples dropped because their client disconnected";
        BATCH_SAMPLES = "netdiv_batch_samples" Histogram Count []
            "Samples in a batch";
        BATCH_QUEUE = "netdiv_batch_queue_duration_seconds" Histogram Seconds []
            "Time that the oldest sample of a batch waited for the batch";
        BATCH_COMPUTE = "netdiv_batch_compute_duration_seconds" Histogram Seconds []
            "Time from the start of a batch in the engine to its end";
        BATCHES_FAILED = "netdiv_batches_failed_total" Counter Count []
            "Batches that failed in the engine";
        STREAMS_ABORTED = "netdiv_streams_aborted_total" Counter Count []
            "Streams ended because an engine did not return";
        SLOTS = "netdiv_slots" Gauge Count []
            "Maximum number of samples in progress in a plug-in's language model; only with such a model";
        CACHE_BYTES = "netdiv_cache_bytes" Gauge Bytes []
            "Device memory for keys and values of a plug-in's language model; only with such a model";
        READY = "netdiv_ready" Gauge Flag []
            "1 if the node is ready to serve";
        CONNECTIONS = "netdiv_connections" Gauge Count []
            "Connections of clients, over both transports";
        RPCS = "netdiv_rpcs_total" Counter Count ["method"]
            "Calls received";
        RPC_DURATION = "netdiv_rpc_duration_seconds" Histogram Seconds ["method"]
            "Time until the reply to a call began";
    }
}

/// Metrics of a LoadGen node, during a run.
pub mod loadgen_node {
    use super::{Kind, Metric, Unit};

    metrics! {
        BUILD = "netdiv_loadgen_build_info" Gauge Flag ["version", "revision", "loadgen"]
            "Always 1; the labels identify the program, the git revision of its sources, if it is known, and its LoadGen";
        RUN = "netdiv_loadgen_run_info" Gauge Flag ["benchmark", "scenario", "mode", "division"]
            "Always 1; the labels identify the run";
        FAILED = "netdiv_loadgen_run_failed" Gauge Flag []
            "1 if the run has failed";
        FINDINGS = "netdiv_loadgen_rule_findings" Gauge Count ["outcome"]
            "Rules of the division that were checked before the run";
        ISSUED = "netdiv_loadgen_samples_issued_total" Counter Count []
            "Samples issued by LoadGen";
        WAITING = "netdiv_loadgen_samples_waiting" Gauge Count []
            "Samples issued but not sent";
        SENT = "netdiv_loadgen_samples_sent_total" Counter Count ["node"]
            "Samples sent to a node";
        ANSWERED = "netdiv_loadgen_samples_answered_total" Counter Count ["node"]
            "Samples answered by a node";
        IN_FLIGHT = "netdiv_loadgen_samples_in_flight" Gauge Count ["node"]
            "Samples sent to a node and not answered";
        LOST = "netdiv_loadgen_samples_lost" Gauge Count []
            "Samples without a response when the run failed; 0 until then";
        REDISPATCHED = "netdiv_loadgen_samples_redispatched_total" Counter Count ["node"]
            "Samples of a lost node that were sent to other nodes";
        UNMATCHED = "netdiv_loadgen_replies_unmatched_total" Counter Count ["node"]
            "Replies that match no sample in flight";
        NODE_LOST = "netdiv_loadgen_node_lost" Gauge Flag ["node"]
            "1 if the run continues without the node";
        SENT_BYTES = "netdiv_loadgen_sent_bytes_total" Counter Bytes ["node"]
            "Payload bytes sent to a node, as encoded";
        RECEIVED_BYTES = "netdiv_loadgen_received_bytes_total" Counter Bytes ["node"]
            "Payload bytes received from a node, as encoded";
        BOUND = "netdiv_loadgen_latency_bound_seconds" Gauge Seconds ["measure", "percentile"]
            "LoadGen's bound for a percentile of a time: sample, first_token, further_token; only if LoadGen checks one";
        LATENCY = "netdiv_loadgen_sample_duration_seconds" Histogram Seconds ["node"]
            "Time from IssueQuery until a sample was answered";
        STAGE = "netdiv_loadgen_stage_duration_seconds" Histogram Seconds ["node", "stage"]
            "Time from IssueQuery until a sample was answered, by stage: qdl_queue, network, sut_queue, compute";
        TOKENS = "netdiv_loadgen_tokens_total" Counter Count ["node"]
            "Tokens of all responses; only if LoadGen counts tokens";
        FIRST_TOKEN = "netdiv_loadgen_first_token_duration_seconds" Histogram Seconds ["node"]
            "Time from IssueQuery until the first token; only if LoadGen records first tokens";
        FURTHER_TOKEN = "netdiv_loadgen_further_token_duration_seconds" Histogram Seconds ["node"]
            "Time for each further token; only if LoadGen records first tokens";
    }
}
