//! `submission.toml`: what a submitter has to say.

use netdiv_words::TODO;

use super::{known::Template, text::Text};
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
        "Settings of loadgen-node submission, for {}: what no machine knows, and where the runs are. In each table, first comes \
         what is {TODO}: write it. The rest may stay; docs/SUBMISSION.md explains all keys. Lines with # in front of a key may be \
         set. Paths are relative to this file.",
        benchmark.name
    ))
    .line("")
    .key("submitter", TODO, "Your organization: the name of your folder, without spaces.");
    if *division == Division::Open {
        text.key("reason", TODO, "Why the submission is in the Open division.");
    }
    text.key(
        "calibration",
        "calibration.md",
        "How quantization was calibrated, a Markdown file that you write; if nothing was quantized, it says so [2.3].",
    )
    .comment("The division of the runs; whether others can have the system: available, preview or rdi [2.1]; the round.")
    .set("division", division.to_string())
    .set("status", "available")
    .set("round", round.name.to_string())
    .maybe(
        "compression_approval",
        "NAME, DATE, where to find it",
        "Who approved the compression of samples; needed with an encoding [6.2.4].",
    );
    if *division != Division::Open {
        text.maybe("reason", "pruned weights", "Needed in the Open division alone.");
    }
    system(&mut text);
    topology(&mut text);
    for scenario in &benchmark.scenarios {
        result(template, *scenario, &mut text);
    }
    optional_tables(&mut text);
    text.finish()
}

fn system(text: &mut Text) {
    text.line("").comment("The system description.").line("[system]").key(
        "id",
        TODO,
        "Name of the system's folder, without spaces, such as rack1.",
    );
    let is_untold = |field: &&Field| UNTOLD.contains(&field.name);
    for Field { name, example, .. } in FIELDS.iter().filter(is_untold) {
        text.key(name, TODO, &format!("Such as: {example}."));
    }
    let others = |is_free: bool| {
        let fields =
            FIELDS.iter().filter(|field| !is_untold(field) && !is_said_elsewhere(field.name));
        let names = fields.filter(|field| (field.kind == Kind::Free) == is_free);
        names.map(|field| field.name).collect::<Vec<_>>().join(", ")
    };
    text.comment(&format!(
        "The evidence of the runs fills in the following; loadgen-node submission asks for what it lacks [6.2.2]: {}.",
        others(false)
    ))
    .comment(&format!("Optional: {}.", others(true)));
}

fn topology(text: &mut Text) {
    text.line("")
        .comment("What is between the machines [6.2.3].")
        .line("[topology]")
        .key("text", TODO, "What the system diagram shows, such as: Two nodes and the LoadGen node on one switch.")
        .comment("Each switch, and each link that samples cross. The LoadGen node is loadgen, nodes have their names.")
        .line("#[[topology.switch]]")
        .suggest("name", "leaf1")
        .suggest("model", "SN5600")
        .suggest("ports", 64)
        .suggest("speed", "800 Gb/s")
        .line("#[[topology.link]]")
        .suggest("from", "loadgen:eth2")
        .suggest("to", "leaf1:1")
        .suggest("media", "copper DAC")
        .suggest("rate", "400 Gb/s")
        .suggest("length", "2 m")
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
        .key(
            "starting_weights_filename",
            TODO,
            "The file with the weights that the model was made of, such as resnet50_v1.pth.",
        )
        .key("weight_data_types", TODO, "Data types of the weights, such as fp16.")
        .key(
            "weight_transformations",
            TODO,
            "What was done to the weights, such as: fp16 conversion; or none.",
        )
        .key("input_data_types", TODO, &inputs(template));
    let tests: Vec<_> = benchmark.compliance.iter().map(|test| test.name()).collect();
    let compliance = match tests.as_slice() {
        [] => String::new(),
        tests => {
            format!(
                "; that of loadgen-node audit has {}{}",
                tests.join(" and "),
                template.source("compliance")
            )
        }
    };
    text.comment(&format!("The folders of the runs, as loadgen-node init named them{compliance}."))
        .set("benchmark", benchmark.name.as_str())
        .set("scenario", scenario.to_string())
        .set("performance", folder("performance"))
        .set("accuracy", folder("accuracy"))
        .set("digests", folder("digests"));
    if !tests.is_empty() {
        text.set("compliance", folder("compliance"));
    }
    text.comment("Optional.")
        .suggest("accuracy_txt", format!("{}/accuracy.txt", folder("accuracy")))
        .suggest("power", "power-runs/DATE_resnet50")
        .suggest("retraining", "Yes")
        .suggest("readme", "how-to.md");
    if tests.is_empty() {
        text.suggest("compliance", folder("compliance"));
    }
}

fn inputs(template: &Template<'_>) -> String {
    let types: Vec<_> = template.benchmark.input_types.iter().map(|one| one.word()).collect();
    format!("Data types of the inputs: {}{}.", types.join(" or "), template.source("inputs"))
}

fn optional_tables(text: &mut Text) {
    text.line("")
        .comment("Optional: how power was measured; and a model that was retrained by the restricted rules, in the Open division.")
        .line("#[power]")
        .suggest("text", "The setup.")
        .suggest("analyzer_table", "analyzer.csv")
        .suggest("power_settings", "power_settings.md")
        .line("#[retraining]")
        .suggest("retraining_data_fraction", 0.1)
        .suggest("retraining_epoch_fraction", 0.1)
        .suggest("non_zero_parameters", 25_000_000)
        .suggest("model_size_bytes", 50_000_000)
        .suggest("numerics", "int8")
        .suggest("quantization", "How it was quantized, so that others can do the same.");
}
