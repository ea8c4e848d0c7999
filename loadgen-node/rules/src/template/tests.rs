use std::{collections::BTreeSet, path::Path};

use netdiv_node_common::words::{TODO, todos};

use super::*;
use crate::{
    Division, Scenario,
    book::{SampleForm, Table},
    placeholder::is_placeholder,
    submission::SubmissionSettings,
    user_conf,
};

/// Calls `with` for every benchmark of the suite, in every required scenario, of every round that
/// has it.
fn for_all(mut with: impl FnMut(&TemplateValues<'_>, &[(&str, String); 4])) {
    let table = Table::builtin().unwrap();
    let nodes = ["rack[1-8]:50051".to_owned()];
    let mut tried = 0;
    for benchmark in table.benchmarks.iter().filter(|one| one.cannot_run.is_none()) {
        for round in table.rounds.iter().filter(|round| benchmark.rounds.contains(&round.name)) {
            for scenario in &benchmark.scenarios {
                for (division, is_local) in
                    [(Division::Network, false), (Division::Closed, false), (Division::Open, true)]
                {
                    let template = TemplateValues {
                        benchmark,
                        round,
                        scenario: *scenario,
                        division,
                        nodes: &nodes,
                        nodes_port: is_local.then_some(50_052),
                        port: 50_051,
                        is_local,
                        rate: None,
                        engine: Engine::of(benchmark),
                    };
                    with(&template, &files(&template).unwrap());
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Enables every key that a text contains as a comment: removes each `#` without a space after it.
fn uncommented(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.starts_with(' ') && !rest.is_empty() => rest.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|one| line(one) + "\n").collect()
}

#[test]
fn every_key_is_under_a_comment_and_each_placeholder_has_its_own() {
    for_all(|_, files| {
        for (name, text) in files {
            let lines: Vec<_> = text.lines().collect();
            for two in lines.windows(2) {
                let is_key = |line: &str| line.contains(" = ") && !line.starts_with("# ");
                let is_headed =
                    is_key(two[0]) || two[0].starts_with("# ") || two[0].starts_with("#[");
                assert!(!is_key(two[1]) || is_headed, "{name}: {two:?}");
            }
            let todos = todos(text);
            assert!(todos.iter().all(|todo| todo.to_string().contains("write it. ")), "{todos:?}");
            assert!(lines.iter().all(|line| !line.ends_with(' ') && line.len() < 200), "{text}");
        }
    });
}

#[test]
fn a_submission_is_read_and_has_every_key_that_the_reader_knows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("submission.toml");
    for_all(|template, files| {
        let text = &files[3].1;
        for (text, is_all) in [(text.clone(), false), (uncommented(text), true)] {
            std::fs::write(&path, &text).unwrap();
            let settings = SubmissionSettings::read(&path).unwrap();
            assert_eq!(settings.round, Some(template.round.name));
            assert_eq!(settings.division, Some(template.division));
            let scenarios: Vec<_> = settings.results.iter().map(|one| one.scenario).collect();
            let wanted: Vec<_> = template.benchmark.scenarios.iter().copied().map(Some).collect();
            assert_eq!(scenarios, wanted);
            if is_all {
                assert_eq!(settings.topology.links.len(), 1);
                assert_eq!(unset(&toml::from_str(&text).unwrap()), BTreeSet::new());
            }
        }
    });
}

/// Returns the keys that the reader knows and a file lacks.
fn unset(file: &toml::Table) -> BTreeSet<String> {
    let first = |key: &str| file[key].as_array().unwrap()[0].as_table().unwrap();
    let of = |key: &str| file[key].as_table().unwrap();
    let inner = |key: &str| of("topology")[key].as_array().unwrap()[0].as_table().unwrap();
    let wrong = "an_unknown_key = 1";
    let tables = [
        (wrong.to_owned(), file),
        (format!("[topology]\n{wrong}"), of("topology")),
        (format!("[[topology.switch]]\n{wrong}"), inner("switch")),
        (format!("[[topology.link]]\n{wrong}"), inner("link")),
        (format!("[architecture]\n{wrong}"), of("architecture")),
        (format!("[[result]]\n{wrong}"), first("result")),
        (format!("[power]\n{wrong}"), of("power")),
        (format!("[retraining]\n{wrong}"), of("retraining")),
    ];
    let mut unset = BTreeSet::new();
    for (wrong, table) in tables {
        // The error lists all keys that the reader accepts.
        let error = toml::from_str::<SubmissionSettings>(&wrong).unwrap_err().message().to_owned();
        let (_, expected) = error.split_once("expected ").unwrap();
        let known: BTreeSet<_> = expected.split('`').skip(1).step_by(2).collect();
        assert!(known.len() > 1, "{error}");
        unset.extend(known.into_iter().filter(|key| !table.contains_key(*key)).map(str::to_owned));
    }
    unset
}

#[test]
fn what_has_to_be_written_comes_first_in_each_table_of_a_submission() {
    for_all(|template, files| {
        let text = &files[3].1;
        let todos: BTreeSet<_> = todos(text).into_iter().map(|todo| todo.line).collect();
        let mut is_first = true;
        for (line, number) in text.lines().zip(1..) {
            let is_set = line.contains(" = ") && !line.starts_with('#');
            is_first = line.starts_with('[') || is_first && (!is_set || todos.contains(&number));
            assert!(is_first || !todos.contains(&number), "line {number}: {text}");
        }
        let results = template.benchmark.scenarios.len();
        assert_eq!(todos.len(), 9 + 4 * results + usize::from(template.division == Division::Open));
        assert!(text.lines().count() < 90 + 25 * results, "{text}");
    });
}

#[test]
fn what_cannot_be_known_is_a_placeholder() {
    assert!(is_placeholder(TODO) && is_placeholder(&format!("{TODO}-dataset.npy")));
    for_all(|template, files| {
        let submission: toml::Table = toml::from_str(&files[3].1).unwrap();
        for key in ["id", "system_name", "cooling"] {
            assert_eq!(submission["system"][key].as_str(), Some(TODO), "{key}");
        }
        let (own, name) = (&files[3].1, &template.benchmark.name);
        assert!(own.contains(&format!("DATE_{name}\"")) && !own.contains("resnet50_v1"), "{own}");
        let run: toml::Table = toml::from_str(&files[0].1).unwrap();
        assert!(run["dataset"].as_str().is_some_and(is_placeholder));
        let ends =
            |ending: &str| run["dataset"].as_str().is_some_and(|path| path.ends_with(ending));
        let Benchmark { form, own_performance_set: has_parts, .. } = template.benchmark;
        assert_eq!(ends(".ids"), *form == SampleForm::Prompt && !has_parts);
        assert_eq!(ends("TODO-gpt-oss-120b.toml"), *has_parts);
    });
}

#[test]
fn figures_are_those_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("user.conf");
    for_all(|template, files| {
        let benchmark = template.benchmark;
        let run: toml::Table = toml::from_str(&files[0].1).unwrap();
        assert_eq!(run["performance_samples"].as_integer(), Some(benchmark.qsl_size as i64));
        let conf = &files[2].1;
        std::fs::write(&path, conf).unwrap();
        for scenario in &benchmark.scenarios {
            let name = scenario.official_name();
            let check = || user_conf::check(&path, &benchmark.loadgen_model, name);
            let refused = check().unwrap_err();
            assert_eq!(refused.lines().count(), benchmark.scenarios.len(), "{refused}");
            assert!(refused.contains("target_qps is still TODO: write the queries"), "{refused}");
            std::fs::write(&path, conf.replace(TODO, "7")).unwrap();
            assert_eq!(check().map(|read| read.warnings), Ok(Vec::new()), "{conf}");
            std::fs::write(&path, conf).unwrap();
            let model = format!("{}.{name}", benchmark.loadgen_model);
            let duration = template.round.min_duration_ms;
            assert!(conf.contains(&format!("{model}.min_duration = {duration}\n")), "{conf}");
            assert!(conf.contains(&format!("{model}.target_qps = TODO\n")), "{conf}");
            let known = TemplateValues { rate: Some(1.5), ..template.clone() };
            let conf = &super::files(&known).unwrap()[2].1;
            assert!(conf.contains(&format!("{model}.target_qps = 1.5\n")), "{conf}");
            assert!(
                conf.replace("\n#", "").contains("The figure comes from loadgen-node init --rate.")
            );
        }
        for bound in [benchmark.server_latency_ms, benchmark.ttft_ms, benchmark.tpot_ms] {
            let is_bound = benchmark.scenarios.contains(&Scenario::Server);
            if let Some(ms) = bound.filter(|_| is_bound) {
                assert!(conf.replace("\n#", "").contains(&format!(" {ms} ms")), "{conf}");
            }
        }
    });
}

/// Formats names as a list in a sentence of a document.
fn listed(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let (last, others) = names.split_last().unwrap();
    format!("{} and {last}", others.join(", "))
}

#[test]
fn fields_of_a_system_are_listed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/SUBMISSION.md");
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let unrecorded = [&["id"][..], &UNRECORDED_FIELDS].concat();
    let free = FIELDS.iter().filter(|field| field.kind == FieldRequirement::Free);
    let free: Vec<_> = free.map(|field| field.name).collect();
    for names in [&unrecorded[..], &ACCELERATOR_FIELDS[..], &free[..]] {
        let names = listed(names);
        assert!(text.contains(&names), "docs/SUBMISSION.md has to have: {names}");
    }
}
