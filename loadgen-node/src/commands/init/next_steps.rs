//! Commands that follow `loadgen-node init`, in the order in which a user runs them.

use std::path::Path;

use netdiv_node_common::{sanitise::shell_word, words::TODO};
use netdiv_rules::{
    Division, Scenario,
    book::{Formats, Table},
    template::{NODE, RUN, SUBMISSION, TemplateValues, USER_CONF},
};

use crate::{own_loadgen, run::outcome::accuracy};

/// Returns the next commands. A line that begins with `#` explains those below it.
pub(super) fn next_steps(
    template: &TemplateValues<'_>,
    folder: &Path,
    hosts: &[(String, u16)],
    table: &Table,
) -> String {
    let mut lines = vec![
        format!(
            "{RUN}, {NODE}, {USER_CONF} and {SUBMISSION} are in {}. Next steps:",
            folder.display()
        ),
        String::new(),
    ];
    if own_loadgen::round(table).is_none_or(|round| round.name != template.round.name) {
        lines.push(other_loadgen(template, table));
    }
    lines.push(format!("cd {}", shell_word(&folder.to_string_lossy())));
    let files = format!("{RUN} {NODE} {USER_CONF} {SUBMISSION}");
    lines.push(format!(
        "grep -n {TODO} {files}    # write each value that is still {TODO}, and calibration.md"
    ));
    lines.extend(nodes(template, hosts));
    let reference = Formats::reference(template.round.name).unwrap_or("the round's tag");
    let script = script_options(template);
    lines.extend([
        String::new(),
        format!(
            "# NETDIV is the folder of netdiv's sources, INFERENCE a checkout of mlcommons/inference at {reference}. \
             This command runs all the commands below it:"
        ),
        format!(
            "NETDIV/deploy/submit.sh . --reference INFERENCE{}",
            script.as_deref().unwrap_or_default()
        ),
    ]);
    for scenario in &template.benchmark.scenarios {
        lines.push(String::new());
        lines.extend(runs(template, *scenario, script.as_deref()));
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
    lines.join("\n")
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
        lines.extend([
            format!("loadgen-node certificates --hosts {names}"),
            String::new(),
            "# HOST is each of these hosts in turn. Copy sut-node and the model, too; start nodes in the copied folder.".into(),
            format!(
                "rsync -R {NODE} certificates/ca.pem {certificate} {key} HOST:{}/",
                template.benchmark.name
            ),
        ]);
        let tls = format!(" --tls-certificate {certificate} --tls-key {key}");
        empty += " --tls-client-ca certificates/ca.pem";
        empty += &tls;
        node += &tls;
    }
    lines.extend([
        String::new(),
        format!("{empty}    # on each node, until the next command has ended"),
        format!("loadgen-node fabric --config {RUN} --thorough --output fabric    # measures the network"),
        String::new(),
        format!("{node}    # on each node"),
        format!("loadgen-node probe --config {RUN}    # one sample to every node"),
    ]);
    lines
}

/// Formats a host for an address with a port: an IPv6 address gets brackets.
pub(super) fn format_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.into() }
}

/// Returns the options of the official accuracy script that the user has to set; `None` if runs
/// compute the accuracy from labels.
fn script_options(template: &TemplateValues<'_>) -> Option<String> {
    if template.has_labels() {
        return None;
    }
    let script = accuracy::script(&template.benchmark.name)?;
    let asked = script.asked.iter().map(|(option, takes)| format!(" {option} {takes}"));
    Some(format!(" --{}", asked.collect::<String>()))
}

/// Returns the commands for the runs of a scenario. `script` contains the options of the official
/// accuracy script, if the benchmark needs it.
fn runs(template: &TemplateValues<'_>, scenario: Scenario, script: Option<&str>) -> Vec<String> {
    let benchmark = &template.benchmark.name;
    let (rate, origin) = match template.rate {
        Some(rate) => (rate.to_string(), "the rate is that of --rate, as target_qps in"),
        None => ("RATE".into(), "RATE is the target_qps that you write into"),
    };
    let division = match template.division {
        Division::Closed => " --division closed",
        _ => "",
    };
    let run = format!("loadgen-node run --config {RUN} --scenario {scenario}");
    let output = |kind| TemplateValues::folder(scenario, kind);
    let mut lines = vec![
        format!(
            "loadgen-node plan {benchmark} --scenario {scenario}{division} --rate {rate}    # how long it takes; {origin} {USER_CONF}"
        ),
        format!("{run} --mode accuracy --output {}", output("accuracy")),
    ];
    lines.extend(script.map(|options| {
        format!("loadgen-node accuracy {} --reference INFERENCE{options}", output("accuracy"))
    }));
    lines.push(format!("{run} --output {}", output("performance")));
    // Digests are evidence for rules of the Network division.
    if template.division != Division::Closed {
        let digests = output("digests");
        lines.push(format!("{run} --digests --setting min_duration_ms=60000 --output {digests}"));
    }
    if !template.benchmark.compliance.is_empty() {
        lines.push(format!(
            "loadgen-node audit --performance {} --accuracy {} --output {}",
            output("performance"),
            output("accuracy"),
            output("compliance")
        ));
    }
    lines
}
