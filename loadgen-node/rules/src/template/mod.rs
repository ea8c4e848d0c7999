//! Initial settings files for a benchmark. Every figure is from the table, and every key has a
//! comment. Values that the table lacks are placeholders, which the programs report when they read
//! them. The texts are in `*.j2`.

#[cfg(test)]
mod tests;

use minijinja::{Environment, Error, Value, context};
use netdiv_node_common::words::TODO;
use strum::VariantArray as _;

use crate::{
    Division, Scenario,
    book::{
        Bandwidth, Benchmark, Compression, Round, SampleForm, TokenLatencies,
        system_fields::{FIELDS, FieldRequirement, SystemField, UNRECORDED_FIELDS},
    },
    drafting::systems::is_fixed_field,
};

/// Name of the settings file of a run.
pub const RUN: &str = "run.toml";
/// Name of the settings file of a SUT node.
pub const NODE: &str = "node.toml";
/// Name of LoadGen's own settings file.
pub const USER_CONF: &str = "user.conf";
/// Name of the settings file of a submission.
pub const SUBMISSION: &str = "submission.toml";

/// Engine of a SUT node, for which `node.toml` has keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::VariantArray)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[strum(serialize_all = "kebab-case")]
#[allow(missing_docs, reason = "docs/ENGINES.md describes the engines")]
pub enum Engine {
    Torch,
    Onnx,
    Decoder,
    Openai,
    Kserve,
    Python,
}

impl Engine {
    /// Returns the engine that suits a benchmark: a serving engine for a language model, a class in
    /// Python for speech, libtorch for the others. GPT-J, whose tokens LoadGen infers, searches with
    /// beams, as only libtorch does here.
    pub fn of(benchmark: &Benchmark) -> Self {
        match (benchmark.form, benchmark.token_latencies) {
            (SampleForm::Waveform, _) => Self::Python,
            (_, Some(TokenLatencies::Measured)) => Self::Openai,
            (_, Some(TokenLatencies::Inferred) | None) => Self::Torch,
        }
    }
}

/// Values that the templates of the settings files need.
#[derive(Debug, Clone)]
pub struct TemplateValues<'a> {
    /// Benchmark of the submission.
    pub benchmark: &'a Benchmark,
    /// Round of the submission.
    pub round: &'a Round,
    /// Scenario in `run.toml`.
    pub scenario: Scenario,
    /// Division: network, closed or open.
    pub division: Division,
    /// Addresses of the nodes, in the form of the option `--nodes`.
    pub nodes: &'a [String],
    /// Port of the nodes that `nodes` names without a port; `None` if it was not set.
    pub nodes_port: Option<u16>,
    /// Port that nodes listen on.
    pub port: u16,
    /// True if all nodes run on the machine of the LoadGen node. They then need no TLS.
    pub is_local: bool,
    /// Samples per second that all nodes together are expected to reach; `None` leaves a
    /// placeholder.
    pub rate: Option<f64>,
    /// Engine in `node.toml`.
    pub engine: Engine,
}

impl TemplateValues<'_> {
    /// Returns the address on which a node listens.
    pub fn listen(&self) -> String {
        let host = if self.is_local { "127.0.0.1" } else { "0.0.0.0" };
        format!("{host}:{}", self.port)
    }

    /// Returns true if a run computes the accuracy from labels. Otherwise an official script
    /// computes it.
    pub fn has_labels(&self) -> bool {
        self.benchmark.quality.iter().any(|quality| quality.metric == "acc")
    }

    /// Returns the path of the folder with a scenario's runs, relative to the folder of the
    /// settings files.
    fn runs(scenario: Scenario) -> String {
        format!("runs/{scenario}")
    }

    /// Returns the path of the folder of a run, relative to the folder of the settings files.
    pub fn folder(scenario: Scenario, run: &str) -> String {
        format!("{}/{run}", Self::runs(scenario))
    }
}

/// Names of the settings files, each with its template.
const FILES: [(&str, &str); 4] = [
    (RUN, include_str!("run.toml.j2")),
    (NODE, include_str!("node.toml.j2")),
    (USER_CONF, include_str!("user.conf.j2")),
    (SUBMISSION, include_str!("submission.toml.j2")),
];

/// Maximum length of a line of a comment, in bytes.
const WIDTH: usize = 110;

/// Maximum length of a sample that a node accepts by default, in bytes: `--max-payload-bytes` of
/// `sut-node`.
const MAX_PAYLOAD_BYTES: u64 = 64 << 20;

/// Required fields of nodes with accelerators that no evidence contains (docs/SUBMISSION.md). For
/// other nodes, the evidence fills them in.
const ACCELERATOR_FIELDS: [&str; 2] =
    ["accelerator_interconnect", "accelerator_memory_configuration"];

/// Returns the name and the text of each settings file.
///
/// # Errors
///
/// Fails if a template cannot be rendered.
pub fn files(template: &TemplateValues<'_>) -> Result<[(&'static str, String); 4], Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    let sources = template.benchmark.sources.clone();
    // Returns the source of a figure of the benchmark, in brackets.
    environment.add_function("source", move |figure: &str| {
        sources.get(figure).map(|source| format!(" [{source}]")).unwrap_or_default()
    });
    let values = values(template);
    let mut files = FILES.map(|(name, _)| (name, String::new()));
    for ((_, text), (_, template)) in files.iter_mut().zip(FILES) {
        *text = folded(&environment.render_str(template, &values)?);
    }
    Ok(files)
}

/// Wraps the comments in a text into lines of at most [`WIDTH`] bytes.
fn folded(text: &str) -> String {
    let mut folded = String::new();
    for line in text.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            folded += &format!("{line}\n");
            continue;
        };
        let mut line = String::from("#");
        for word in comment.split_whitespace() {
            if line.len() + 1 + word.len() > WIDTH {
                folded += &format!("{line}\n");
                line = "#".into();
            }
            line += &format!(" {word}");
        }
        folded += &format!("{line}\n");
    }
    folded
}

/// Returns the form of a benchmark's data set, and the name of its file in the placeholder.
fn dataset_form(benchmark: &Benchmark) -> (&'static str, String) {
    let is_varied = benchmark.bandwidth.iter().any(|bandwidth| bandwidth.mean);
    match benchmark.form {
        SampleForm::Prompt if benchmark.own_performance_set => (
            "a .toml file that lists the part of each mode, from deploy/data/prepare",
            format!("{}.toml", benchmark.family()),
        ),
        SampleForm::Prompt => (
            "an .ids file of token ids, from deploy/data/prepare or loadgen-node ids",
            "prompts.ids".into(),
        ),
        SampleForm::Waveform => {
            ("a folder of int16 waveforms at 16 kHz, from deploy/data/prepare", "dataset".into())
        }
        // One array has no room for samples of different sizes.
        _ if is_varied => {
            ("a folder with a file for each sample, or several joined by +", "dataset".into())
        }
        _ => ("a .npy file, a folder, or several joined by +", "dataset.npy".into()),
    }
}

fn values(template: &TemplateValues<'_>) -> Value {
    let TemplateValues { benchmark, round, scenario, division, nodes, nodes_port, .. } = template;
    let figure = |figure: Option<f64>| figure.map(|figure| figure.to_string());
    let of_scenario = |scenario: &Scenario| {
        context! {
            word => scenario.word(),
            official => scenario.official_name(),
            folder => TemplateValues::runs(*scenario),
        }
    };
    let scenarios: Vec<_> = benchmark.scenarios.iter().map(of_scenario).collect();
    let longest = benchmark.bandwidth.iter().map(Bandwidth::ingress_bytes).max();
    let longest = longest.unwrap_or(0);
    let tests: Vec<_> = benchmark.compliance.iter().map(|test| test.name()).collect();
    let input_types: Vec<_> = benchmark.input_types.iter().map(|one| one.word()).collect();
    // Without a topology, no evidence contains the connections of the nodes.
    let is_closed = *division == Division::Closed;
    let is_untold = |field: &&SystemField| {
        UNRECORDED_FIELDS.contains(&field.name)
            || (is_closed && field.name == "host_networking_topology")
    };
    let is_of_accelerators = |field: &&SystemField| ACCELERATOR_FIELDS.contains(&field.name);
    let named = |field: &SystemField| context! { name => field.name, example => field.example };
    let untold: Vec<_> = FIELDS.iter().filter(is_untold).map(named).collect();
    let of_accelerators: Vec<_> = FIELDS.iter().filter(is_of_accelerators).map(named).collect();
    let is_asked = |field: &&SystemField| !is_closed || field.kind != FieldRequirement::Network;
    let others = |is_free: bool| {
        let fields = FIELDS.iter().filter(is_asked);
        let fields = fields.filter(|field| !is_untold(field) && !is_of_accelerators(field));
        let fields = fields.filter(|field| !is_fixed_field(field.name));
        let names = fields.filter(|field| (field.kind == FieldRequirement::Free) == is_free);
        names.map(|field| field.name).collect::<Vec<_>>().join(", ")
    };
    let (form, file) = dataset_form(benchmark);
    let of_benchmark = context! {
        name => benchmark.name,
        task => benchmark.task,
        model => benchmark.model,
        loadgen_model => benchmark.loadgen_model,
        required_scenarios => benchmark.required_scenarios(),
        dataset => benchmark.dataset,
        dataset_samples => benchmark.dataset_samples,
        dataset_form => form,
        dataset_name => file,
        inputs => if benchmark.inputs.is_empty() { String::new() } else { benchmark.inputs(" or ") },
        input_types => input_types.join(" or "),
        has_labels => template.has_labels(),
        qsl_size => benchmark.qsl_size,
        has_two_sets => benchmark.own_performance_set,
        is_sampled => benchmark.sampled,
        allows_compression => benchmark.compression != Compression::None,
        is_of_prompts => benchmark.form == SampleForm::Prompt,
        max_payload => (longest > MAX_PAYLOAD_BYTES).then(|| longest.next_power_of_two()),
        longest_sample => longest,
        server_latency_ms => figure(benchmark.server_latency_ms),
        ttft_ms => figure(benchmark.ttft_ms),
        tpot_ms => figure(benchmark.tpot_ms),
        offline_samples => benchmark.offline_samples,
        tests => tests.join(" and "),
    };
    context! {
        todo => TODO,
        round => round.name.to_string(),
        min_duration_ms => round.min_duration_ms,
        scenario => scenario.word(),
        scenarios,
        division => division.to_string(),
        is_closed,
        is_open => *division == Division::Open,
        nodes => toml::Value::from(nodes.to_vec()).to_string(),
        nodes_port,
        listen => template.listen(),
        is_local => template.is_local,
        rate => template.rate.map(|rate| rate.to_string()),
        engine => template.engine.to_string(),
        engines => Engine::VARIANTS.iter().map(Engine::to_string).collect::<Vec<_>>().join(", "),
        untold,
        of_accelerators,
        told_by_evidence => others(false),
        optional_fields => others(true),
        ..of_benchmark
    }
}
