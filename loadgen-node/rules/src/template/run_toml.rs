//! `run.toml`: settings of `loadgen-node run`.

use netdiv_words::TODO;

use super::{
    known::{Template, USER_CONF},
    text::Text,
};
use crate::{Division, book::Compression};

pub(super) fn text(template: &Template<'_>) -> String {
    let Template { benchmark, round, scenario, division, .. } = template;
    let name = &benchmark.name;
    let mut text = Text::default();
    text.comment(&format!(
        "Settings of loadgen-node run --config run.toml, for {name}: {}, round {}. In brackets is where a figure comes from: a \
         section of the MLPerf Inference rules, or another place in words. The command line wins over this file. All commands of \
         loadgen-node with --config take it. Paths are relative to it.",
        benchmark.task, round.name
    ))
    .line("")
    .key("benchmark", name.as_str(), "The benchmark. loadgen-node benchmarks NAME shows all that the rules ask of it.")
    .key(
        "division",
        division.to_string(),
        match division {
            Division::Network => "The division: a run that breaks one of its rules is refused [6.2]. --rehearsal only notes them, for practice.",
            Division::Open | Division::Exploratory => "The division: everything is allowed, and the submission says why it is open.",
        },
    )
    .key(
        "scenario",
        scenario.to_string(),
        &format!(
            "The scenario; the suite requires {}{}. --scenario on the command line takes another one.",
            benchmark.required_scenarios(),
            template.source("scenarios")
        ),
    )
    .key(
        "nodes",
        template.nodes.to_vec(),
        "The SUT nodes, such as rack[1-8]:50051: docs/OPERATING.md#name-the-nodes says what else they may be.",
    );
    let port = "Port of nodes that are named without one.";
    match template.nodes_port {
        Some(given) => text.key("nodes_port", i64::from(given), port),
        None => text.maybe("nodes_port", 50_051, port),
    };
    text.maybe(
        "nodes_expected",
        8,
        "How many nodes there have to be: another number is refused, and names in the DNS are waited for.",
    );
    data(template, &mut text);
    network(template, &mut text);
    text.maybe(
        "evidence",
        "loadgen-evidence.toml",
        "Facts about this machine that cannot be read from it, where loadgen-node check misses some [6.2.2].",
    );
    text.finish()
}

fn data(template: &Template<'_>, text: &mut Text) {
    let benchmark = template.benchmark;
    let inputs = match benchmark.inputs.as_slice() {
        [] => String::new(),
        _ => format!(" A sample holds {}{}.", benchmark.inputs(" or "), template.source("inputs")),
    };
    text.key(
        "dataset",
        format!("{TODO}-dataset.npy"),
        &format!(
            "The data set, {}: a .npy file, a folder, or several joined by +, with {} samples{}.{inputs} Write its path.",
            benchmark.dataset,
            benchmark.dataset_samples,
            template.source("dataset_samples")
        ),
    );
    if benchmark.quality.iter().any(|quality| quality.metric == "acc") {
        text.key(
            "labels",
            format!("{TODO}-labels.npy"),
            "The class of each sample, in a .npy file: accuracy is computed from it. Write its path.",
        );
    }
    text.key(
        "performance_samples",
        i64::try_from(benchmark.qsl_size).unwrap_or(i64::MAX),
        &format!(
            "Samples that performance mode uses, at least so many{}.",
            template.source("qsl_size")
        ),
    )
    .key("user_conf", USER_CONF, "LoadGen's own settings: the rate that it aims at.");
    let why = format!("How samples are encoded on the network{}: ", template.source("compression"));
    match benchmark.compression {
        Compression::None => text.key("encoding", "none", &format!("{why}the benchmark allows no compression.")),
        Compression::Lossless | Compression::LosslessOrOriginal => text.maybe(
            "encoding",
            "lz4",
            &format!("{why}none, or with an approval lz4 or zstd (compression_approval in submission.toml)."),
        ),
    };
}

fn network(template: &Template<'_>, text: &mut Text) {
    let tls = [
        (
            "tls_ca",
            "certificates/ca.pem",
            "The authority that signed the nodes' certificates: turns TLS on.",
        ),
        (
            "tls_certificate",
            "certificates/client.pem",
            "This machine's certificate, for nodes that ask for one.",
        ),
        ("tls_key", "certificates/client.key", "The key of that certificate."),
    ];
    for (key, value, comment) in tls {
        match template.is_local {
            true => text.maybe(key, value, &format!("{comment} Not needed on one machine.")),
            false => text.key(key, value, comment),
        };
    }
    text.maybe(
        "transport",
        "grpc",
        "How messages travel: grpc or quic. loadgen-node fabric measures both.",
    )
    .maybe(
        "connections",
        1,
        "Connections to each node. Raise it where one connection fills one core.",
    )
    .maybe("io_threads", 1, "Threads that serve the connections: at most as many as connections.")
    .maybe(
        "cluster_name",
        "netdiv",
        "Name of the cluster, the first part of the SUT's name [6.2.1].",
    );
}
