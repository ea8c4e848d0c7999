//! `submission.toml`: what a submitter has to say.

use super::{
    known::{TODO, Template, USER_CONF},
    text::Text,
};
use crate::{
    Division, Scenario,
    book::system_fields::{FIELDS, Field, Kind},
    submission::is_said_elsewhere,
};

/// Fields that must be written and that no evidence tells (docs/SUBMISSION.md).
const UNTOLD: [&str; 5] = [
    "system_name",
    "host_storage_capacity",
    "host_storage_type",
    "host_memory_configuration",
    "cooling",
];

pub(super) fn text(template: &Template<'_>) -> String {
    let Template { benchmark, round, division, .. } = template;
    let mut text = Text::default();
    text.comment(&format!(
        "Settings of loadgen-node submission, for {}: what no machine knows, and where the runs are. Paths are relative to this \
         file. Lines with # in front of a key may be set; write what says {TODO}.",
        benchmark.name
    ))
    .line("")
    .key("submitter", TODO, "Your organization: the name of your folder, without spaces.")
    .key("division", division.to_string(), "network or open, as the runs were made.")
    .key("status", "available", "available, preview or rdi: whether others can have the system [2.1].")
    .key("round", round.name.to_string(), "The round: it decides the layout of the submission.")
    .key(
        "calibration",
        "calibration.md",
        "How quantization was calibrated, a Markdown file; if nothing was quantized, it says so [2.3].",
    )
    .maybe(
        "compression_approval",
        TODO,
        "Who approved the compression of samples, when, and how to find that; needed with an encoding [6.2.4].",
    );
    let why = "Why the submission is in the Open division; needed there.";
    match division {
        Division::Open => text.key("reason", TODO, why),
        Division::Network | Division::Exploratory => text.maybe("reason", TODO, why),
    };
    system(&mut text);
    topology(&mut text);
    for scenario in &benchmark.scenarios {
        result(template, *scenario, &mut text);
    }
    optional_tables(&mut text);
    text.finish()
}

fn system(text: &mut Text) {
    text.line("")
        .comment("The system description. What is left out is filled from the evidence of the runs [6.2.2].")
        .line("[system]")
        .key("id", TODO, "Name of the system's folder, without spaces, such as rack1.");
    for Field { name, kind, example } in &FIELDS {
        if is_said_elsewhere(name) {
            continue;
        }
        match kind {
            Kind::Filled if UNTOLD.contains(name) => {
                text.key(name, TODO, &format!("Such as: {example}."));
            }
            Kind::Filled | Kind::Network => {
                text.maybe(
                    name,
                    *example,
                    "Filled from the evidence where that tells it; else write it, such as:",
                );
            }
            Kind::Free => {
                text.maybe(name, "", "May stay empty.");
            }
        }
    }
}

fn topology(text: &mut Text) {
    text.line("")
        .comment("What is between the machines [6.2.3].")
        .line("[topology]")
        .key("text", TODO, "What the system diagram shows, such as: Two nodes and the LoadGen node on one switch.")
        .line("")
        .comment("Each switch.")
        .line("#[[topology.switch]]")
        .maybe("name", "leaf1", "Its name in this file.")
        .maybe("model", "SN5600", "Vendor and model.")
        .maybe("ports", 64, "Number of its ports.")
        .maybe("speed", "800 Gb/s", "What a port can do.")
        .line("")
        .comment("Each link that samples cross: every interface on a route has one.")
        .line("#[[topology.link]]")
        .maybe("from", "loadgen:eth2", "One end, MACHINE:INTERFACE or SWITCH:PORT. The LoadGen node is loadgen, nodes have their names.")
        .maybe("to", "leaf1:1", "The other end.")
        .maybe("media", "copper DAC", "What it is made of.")
        .maybe("rate", "400 Gb/s", "What it carries.")
        .maybe("length", "2 m", "Its length.")
        .line("")
        .comment("The way from the network to the accelerators (N28) [5.1].")
        .line("[architecture]")
        .key("data_path", TODO, "The way from the NIC to the accelerators, with the bandwidth of each part, such as: NIC to host memory over PCIe 5.0 x16, then to the GPU over PCIe 5.0 x16.")
        .key("measurement", "fabric/fabric.json", "What shows that it carries this: fabric.json of loadgen-node fabric --output fabric, or a text.");
}

fn result(template: &Template<'_>, scenario: Scenario, text: &mut Text) {
    let benchmark = template.benchmark;
    let folder = |run| Template::folder(scenario, run);
    text.line("")
        .comment(&format!("The result of {} in {}.", benchmark.name, scenario.official_name()))
        .line("[[result]]")
        .key("benchmark", benchmark.name.as_str(), "The benchmark.")
        .key("scenario", scenario.to_string(), "The scenario.")
        .key("performance", folder("performance"), "Folder of the performance run.")
        .key("accuracy", folder("accuracy"), "Folder of the accuracy run.")
        .maybe(
            "accuracy_txt",
            format!("{}/accuracy.txt", folder("accuracy")),
            "What the official accuracy script printed, where that is another file than the one that loadgen-node accuracy wrote.",
        );
    let tests: Vec<_> = benchmark.compliance.iter().map(|test| test.name()).collect();
    let compliance = "Folder that loadgen-node audit made";
    if tests.is_empty() {
        let comment = format!("{compliance}; the benchmark demands no compliance test.");
        text.maybe("compliance", folder("compliance"), &comment);
    } else {
        let source = template.source("compliance");
        let comment = format!("{compliance}, with {}{source}.", tests.join(" and "));
        text.key("compliance", folder("compliance"), &comment);
    }
    text.key("digests", folder("digests"), "Folder of a run with --digests, which proves that every byte arrived (N7 to N10).")
        .maybe("power", "power-runs/DATE_resnet50", "Folder that the measurement client of power-dev made, with the table [power].")
        .key("starting_weights_filename", TODO, "The file with the weights that the model was made of, such as resnet50_v1.pth.")
        .key("weight_data_types", TODO, "Data types of the weights, such as fp16.")
        .key("weight_transformations", TODO, "What was done to the weights, such as: fp16 conversion; or none.")
        .key("input_data_types", TODO, &inputs(template))
        .maybe("retraining", "Yes", "Whether the model was retrained, in the Open division, with the table [retraining].")
        .maybe("readme", "how-to.md", &format!("How to do it again, a Markdown file or a text; commands and {USER_CONF} are put there without it."));
}

fn inputs(template: &Template<'_>) -> String {
    let types: Vec<_> = template.benchmark.input_types.iter().map(|one| one.word()).collect();
    format!("Data types of the inputs: {}{}.", types.join(" or "), template.source("inputs"))
}

fn optional_tables(text: &mut Text) {
    text.line("")
        .comment("How power was measured, where it was.")
        .line("#[power]")
        .maybe("text", TODO, "The setup.")
        .maybe("analyzer_table", "analyzer.csv", "The analyzers: a file.")
        .maybe("power_settings", "power_settings.md", "Settings that bear on power: a file.")
        .line("")
        .comment("A model that was retrained by the restricted rules, in the Open division.")
        .line("#[retraining]")
        .maybe("retraining_data_fraction", 0.1, "Share of the training data that was used.")
        .maybe("retraining_epoch_fraction", 0.1, "Share of the epochs of the original training.")
        .maybe("non_zero_parameters", 25_000_000, "Parameters that are not zero.")
        .maybe("model_size_bytes", 50_000_000, "Size of the model, in bytes.")
        .maybe("numerics", "int8", "Its number formats.")
        .maybe("quantization", TODO, "How it was quantized, so that others can do the same.");
}
