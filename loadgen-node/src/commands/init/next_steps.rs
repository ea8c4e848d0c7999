//! Commands that follow `loadgen-node init`, in the order in which a user runs them.

use std::path::Path;

use netdiv_node_common::{sanitise::shell_word, words::TODO};
use netdiv_rules::{
    Division, Scenario,
    book::{Formats, Table, Test},
    eligibility::outside_network_division,
    template::{Engine, NODE, RUN, SUBMISSION, TemplateValues, USER_CONF},
};

use crate::{
    own_loadgen,
    run::outcome::accuracy::{self, OfficialScript},
};

/// File of a language model, which `loadgen-node model` writes.
const MODEL: &str = "model.toml";

/// Returns the next commands. A line that begins with `#` explains those below it, or a word in
/// capitals.
pub(super) fn next_steps(
    template: &TemplateValues<'_>,
    folder: &Path,
    hosts: &[(String, u16)],
    table: &Table,
) -> String {
    let script = official_script(template);
    let reference = Formats::reference(template.round.name).unwrap_or("the round's tag");
    let commands = commands(template, folder, hosts, table, reference, script).join("\n");
    let mut lines = vec![
        format!(
            "{RUN}, {NODE}, {USER_CONF} and {SUBMISSION} are in {}. Next steps:",
            folder.display()
        ),
        String::new(),
    ];
    let is_used = |word: &str| {
        commands.split(|c: char| !c.is_ascii_uppercase()).any(|capitals| capitals == word)
    };
    let used = words(reference, script).into_iter().filter(|(word, _)| is_used(word));
    lines.extend(used.map(|(word, meaning)| format!("# {word} is {meaning}.")));
    if template.is_local && template.division == Division::Network {
        lines.push("# N4 forbids nodes over loopback: name other machines, or give run --rehearsal, for practice.".into());
    }
    let outside = outside_network_division(template.benchmark);
    lines.extend(outside.filter(|_| template.division == Division::Network).map(|why| {
        format!("# N25: {why}, with --division, or give run --rehearsal, for practice.")
    }));
    lines.extend([String::new(), commands]);
    lines.join("\n")
}

/// Returns the words in capitals that the commands may contain, each with its meaning.
fn words(reference: &str, script: Option<&OfficialScript>) -> [(&'static str, String); 9] {
    let of_script = |what: &str| {
        let file = script.map_or("the script", |script| script.file);
        format!("the {what} that its option names; INFERENCE/{file} describes the option")
    };
    [
        ("NETDIV", "the folder of netdiv's sources, or share/netdiv of a release".into()),
        ("INFERENCE", format!("a checkout of mlcommons/inference at {reference}")),
        ("SET", "the folder of the published data set; docs/SUBMISSION.md lists its files".into()),
        ("TOKENIZER", "the folder of the model's tokenizer".into()),
        ("CHECKPOINT", "the model's folder, as it is downloaded from Hugging Face".into()),
        ("HOST", "the host of each node in turn".into()),
        ("RATE", format!("the target_qps that you write into {USER_CONF}")),
        ("DIR", of_script("folder")),
        ("FILE", of_script("file")),
    ]
}

fn commands(
    template: &TemplateValues<'_>,
    folder: &Path,
    hosts: &[(String, u16)],
    table: &Table,
    reference: &str,
    script: Option<&OfficialScript>,
) -> Vec<String> {
    let mut lines = Vec::new();
    if own_loadgen::round(table).is_none_or(|round| round.name != template.round.name) {
        lines.push(other_loadgen(template, table));
    }
    lines.push(format!("cd {}", shell_word(&folder.to_string_lossy())));
    lines.extend(data_and_model(template));
    let files = format!("{RUN} {NODE} {USER_CONF} {SUBMISSION}");
    lines.push(format!(
        "grep -n {TODO} {files}    # write each value that is still {TODO}, and calibration.md"
    ));
    lines.extend(nodes(template, hosts));
    let options = script.map(OfficialScript::arguments);
    let has_test07 = template.benchmark.compliance.contains(&Test::Test07);
    let of_test07 = if has_test07 { "--test07-reference-data FILE " } else { "" };
    lines.extend([
        String::new(),
        "# This command runs all the commands below it:".into(),
        format!(
            "NETDIV/deploy/submit.sh . {of_test07}{}",
            options.as_deref().unwrap_or("--reference INFERENCE")
        ),
    ]);
    for scenario in &template.benchmark.scenarios {
        lines.push(String::new());
        lines.extend(runs(template, *scenario, options.as_deref()));
    }
    // The checker is a file in tags, and a package on the main branch.
    let checker = match reference.starts_with('v') {
        true => "submission_checker.py",
        false => "-m submission_checker.main",
    };
    lines.extend([
        String::new(),
        format!("loadgen-node submission --settings {SUBMISSION} --output tree"),
        "loadgen-node check tree".into(),
        format!(
            "(cd INFERENCE/tools/submission && python3 {checker} --input \"$OLDPWD/tree\" --version {})    # the official checker",
            template.round.name
        ),
    ]);
    lines
}

/// Returns the commands that prepare the data set and the model.
fn data_and_model(template: &TemplateValues<'_>) -> Vec<String> {
    let benchmark = template.benchmark;
    // The data set has the name of the family of benchmarks.
    let family = benchmark.family();
    let needs_tokenizer = ["gptj", "stable-diffusion-xl"].contains(&family);
    let tokenizer = if needs_tokenizer { " --tokenizer TOKENIZER" } else { "" };
    let name = &benchmark.name;
    vec![
        format!(
            "NETDIV/deploy/data/prepare {family} --from SET{tokenizer} --output data    # its last line names the dataset of {RUN}"
        ),
        match template.engine {
            Engine::Openai => format!(
                "loadgen-node model CHECKPOINT --benchmark {name} --name {name} --output {MODEL}    # the model of {NODE}"
            ),
            Engine::Torch => format!(
                "# Export the model as NETDIV/deploy/models/README.md describes. The model of {NODE} is its manifest."
            ),
            engine => {
                format!("# docs/ENGINES.md describes the model of {NODE} for the engine {engine}.")
            }
        },
    ]
}

/// Returns the command that starts the serving engine on each node; `None` for other engines than
/// `openai`.
fn serving_engine(template: &TemplateValues<'_>) -> Option<String> {
    let context = template.benchmark.context_tokens();
    let context = context.filter(|_| template.engine == Engine::Openai)?;
    Some(format!(
        "vllm serve CHECKPOINT --served-model-name {} --host 127.0.0.1 --port 8000 --max-num-seqs 256 --max-model-len {context} \
         --no-enable-prefix-caching --generation-config vllm --enable-prompt-tokens-details    # on each node; docs/ENGINES.md has other engines",
        template.benchmark.name
    ))
}

/// Returns the advice for a round that the program's LoadGen does not belong to.
fn other_loadgen(template: &TemplateValues<'_>, table: &Table) -> String {
    let (round, built) = (template.round, loadgen_sys::version());
    let build = table.build_for(round);
    format!("# This program has LoadGen {built}, which is not of round {}: {build}", round.name)
}

/// Returns the commands that measure the network, start the nodes and send each a sample.
fn nodes(template: &TemplateValues<'_>, hosts: &[(String, u16)]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut node = format!("sut-node --config {NODE}");
    let mut empty = format!("sut-node --engine none --listen {}", template.listen());
    if !template.is_local {
        let names: Vec<_> = hosts.iter().map(|(host, _)| format_host(host)).collect();
        let names = shell_word(&names.join(","));
        let (certificate, key) = ("certificates/HOST.pem", "certificates/HOST.key");
        let model =
            if template.engine == Engine::Openai { format!(" {MODEL}") } else { String::new() };
        lines.extend([
            format!("loadgen-node certificates --hosts {names}"),
            String::new(),
            "# Install sut-node and the model on each node, too. Start nodes in the folder that rsync writes.".into(),
            format!(
                "rsync -R {NODE}{model} certificates/ca.pem {certificate} {key} HOST:{}/",
                template.benchmark.name
            ),
        ]);
        let tls = format!(" --tls-certificate {certificate} --tls-key {key}");
        empty += &format!(" --tls-client-ca certificates/ca.pem{tls}");
        node += &tls;
    }
    lines.extend([
        String::new(),
        format!("{empty}    # on each node, until the next command has ended"),
        format!("loadgen-node fabric --config {RUN} --thorough --output fabric    # measures the network"),
        String::new(),
    ]);
    // A node listens once its serving engine is ready.
    let is_served = [Engine::Openai, Engine::Kserve].contains(&template.engine);
    let patience = if is_served { " --connect-timeout 10m" } else { "" };
    lines.extend(serving_engine(template));
    lines.extend([
        format!("{node}    # on each node"),
        format!("loadgen-node probe --config {RUN}{patience}    # one sample to every node"),
    ]);
    lines
}

/// Formats a host for an address with a port: an IPv6 address gets brackets.
pub(super) fn format_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.into() }
}

/// Returns the benchmark's official accuracy script; `None` if runs compute the accuracy from
/// labels.
fn official_script(template: &TemplateValues<'_>) -> Option<&'static OfficialScript> {
    if template.has_labels() { None } else { accuracy::script(&template.benchmark.name) }
}

/// Returns the commands for the runs of a scenario. `script` contains the arguments of `loadgen-node
/// accuracy`, if the benchmark needs its official script.
fn runs(template: &TemplateValues<'_>, scenario: Scenario, script: Option<&str>) -> Vec<String> {
    let benchmark = &template.benchmark.name;
    let rate = template.rate.map_or("RATE".into(), |rate| rate.to_string());
    let division = match template.division {
        Division::Closed => " --division closed",
        _ => "",
    };
    let run = format!("loadgen-node run --config {RUN} --scenario {scenario}");
    let output = |kind| TemplateValues::folder(scenario, kind);
    let mut lines = vec![
        format!(
            "loadgen-node plan {benchmark} --scenario {scenario}{division} --rate {rate}    # how long it takes at that target_qps"
        ),
        format!("{run} --mode accuracy --output {}", output("accuracy")),
    ];
    lines.extend(
        script.map(|arguments| format!("loadgen-node accuracy {} {arguments}", output("accuracy"))),
    );
    lines.push(format!("{run} --output {}", output("performance")));
    // Digests are evidence for rules of the Network division.
    if template.division != Division::Closed {
        let digests = output("digests");
        lines.push(format!("{run} --digests --setting min_duration_ms=60000 --output {digests}"));
    }
    if !template.benchmark.compliance.is_empty() {
        let needs_script = template.benchmark.compliance.iter().any(|test| test.needs_script());
        let script = official_script(template).filter(|_| needs_script);
        let script =
            script.map(|script| format!(" {}    # FILE of TEST07", script.audit_arguments()));
        lines.push(format!(
            "loadgen-node audit --performance {} --accuracy {} --output {}{}",
            output("performance"),
            output("accuracy"),
            output("compliance"),
            script.unwrap_or_default()
        ));
    }
    lines
}
