//! `loadgen-node init`: the programs read its files, for every benchmark, round and scenario.

use std::{fs, path::Path};

use e2e::{
    FakeEngine, Folder, SutNode,
    fake_engine::MODEL,
    npy,
    ports::free_address,
    process::{Ended, command},
    round::table_of_v5_0,
};
use loadgen_node::RunArgs;
use netdiv_node_common::process::read_settings;
use netdiv_rules::{
    book::{SampleForm, Table, Test},
    submission, user_conf,
};
use serde_json::Value;

const FILES: [&str; 4] = ["run.toml", "node.toml", "user.conf", "submission.toml"];

fn loadgen_node(folder: &Path, args: &[&str]) -> Ended {
    let mut command = command("loadgen-node");
    // ResNet50 left the suite after v5.0.
    command.env("NETDIV_BENCHMARKS", table_of_v5_0());
    Ended::of(command.args(args).current_dir(folder))
}

fn sut_node(folder: &Path, args: &[&str]) -> Ended {
    Ended::of(command("sut-node").args(args).current_dir(folder))
}

fn init(folder: &Path, args: &[&str]) -> Ended {
    loadgen_node(folder, &[&["init"], args].concat())
}

#[test]
fn the_programs_read_what_is_written_for_every_benchmark_round_and_scenario() {
    let folder = Folder::create();
    let at = |name: &str| folder.root().join(name);
    // Certificates of the printed commands, created once for all benchmarks.
    let hosts = ["certificates", "--hosts", "rack1,rack2"];
    loadgen_node(folder.root(), &hosts).expect(0);
    let table = Table::builtin().expect("the table");
    let mut tried = 0;
    for benchmark in table.benchmarks.iter().filter(|one| one.cannot_run.is_none()) {
        for round in &benchmark.rounds {
            for scenario in &benchmark.scenarios {
                let (round, word) = (round.to_string(), scenario.to_string());
                let args = ["--round", &round, "--scenario", &word, "--nodes", "rack[1-2]"];
                init(
                    folder.root(),
                    &[&[benchmark.name.as_str()], &args[..], &["--output", "."]].concat(),
                )
                .expect(0);
                ["run.toml", "node.toml"].iter().for_each(|name| fill(&at(name), "done"));
                fill(&at("user.conf"), "7");
                let read = ["run", "--config", "run.toml", "--print-config"];
                let said = loadgen_node(folder.root(), &read).said();
                // The table's v5.0 has the seeds of the program's LoadGen.
                let expected = if round == "v5.0" { "done" } else { "make LOADGEN=" };
                assert!(said.contains(expected), "{} {args:?}: {said}", benchmark.name);
                let args = read_settings::<sut_node::Args>(&at("node.toml"));
                assert!(args.expect("a node's settings").engine.shared.model.is_some());
                whole(&at("whole.toml"), &at("node.toml"), |path| {
                    read_settings::<sut_node::Args>(path).map(drop)
                });
                whole(&at("whole.toml"), &at("run.toml"), |path| {
                    read_settings::<RunArgs>(path).map(drop)
                });
                let settings = submission::SubmissionSettings::read(&at("submission.toml"));
                assert_eq!(
                    settings.expect("a submission's").results.len(),
                    benchmark.scenarios.len()
                );
                let model = &benchmark.loadgen_model;
                let checked = user_conf::check(&at("user.conf"), model, scenario.official_name());
                assert_eq!(checked.map(|read| read.warnings), Ok(Vec::new()));
                FILES.iter().for_each(|name| fs::remove_file(at(name)).expect("a writable file"));
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "{tried}");
}

/// Replaces each placeholder in a file by a value.
fn fill(file: &Path, value: &str) {
    let text = fs::read_to_string(file).expect("a file");
    fs::write(file, text.replace("TODO", value)).expect("a writable file");
}

/// Checks a file with its suggested keys enabled: keys behind a `#` must be keys of the program
/// too.
fn whole<E: std::fmt::Debug>(whole: &Path, file: &Path, read: impl Fn(&Path) -> Result<(), E>) {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(key) if key.starts_with(|c: char| c.is_ascii_lowercase()) => key.to_owned(),
        _ => line.to_owned(),
    };
    let text = fs::read_to_string(file).expect("a file");
    fs::write(whole, text.lines().map(|one| line(one) + "\n").collect::<String>())
        .expect("a writable path");
    read(whole).unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
}

/// Creates the files for these nodes, at a rate at which a test is short. Returns the folder and
/// the output.
fn new_folder(nodes: &str) -> (Folder, String) {
    new_folder_with(nodes, &["--rate", "2000"])
}

fn new_folder_with(nodes: &str, options: &[&str]) -> (Folder, String) {
    let folder = Folder::create();
    let args = ["resnet50", "--scenario", "server", "--nodes", nodes];
    let steps = init(folder.root(), &[&args, options].concat()).expect(0).stdout;
    (folder, steps)
}

/// Writes two samples of resnet50 and their labels.
fn write_images_and_labels(folder: &Path) {
    let images = npy("|u1", "(2, 3, 224, 224)", [0; 2 * 3 * 224 * 224]);
    fs::write(folder.join("dataset.npy"), images).expect("a writable path");
    fs::write(folder.join("labels.npy"), npy("<i8", "(2,)", [0; 16])).expect("a writable path");
}

#[test]
fn what_is_still_to_be_written_is_named_by_the_program_that_needs_it() {
    let (folder, _) = new_folder("127.0.0.1:50051");
    let own = folder.root().join("resnet50");
    let line = |file: &str, key: &str| {
        let text = fs::read_to_string(own.join(file)).expect("a file");
        let line = text.lines().position(|line| line.starts_with(&format!("{key} = \"TODO")));
        format!("line {}: {key} is still TODO: write it. ", 1 + line.expect("a placeholder"))
    };
    let model = format!("node.toml, {}The model", line("node.toml", "model"));
    for command in [&[][..], &["doctor"], &["bench", "--dataset", "digits"]] {
        sut_node(&own, &[command, &["--config", "node.toml"]].concat()).expect_text(2, &model);
    }
    let data = ["dataset", "labels"].map(|key| format!("run.toml, {}", line("run.toml", key)));
    for command in [&["run", "--rehearsal"][..], &["probe"], &["doctor"]] {
        let output = loadgen_node(&own, &[command, &["--config", "run.toml"]].concat());
        data.iter().fold(output, |output, named| output.expect_text(2, named));
    }
    // A setting on the command line replaces the line in the file.
    write_images_and_labels(&own);
    let given =
        ["--dataset", "dataset.npy", "--labels", "labels.npy", "--performance-samples", "2"];
    let print = ["run", "--rehearsal", "--print-config", "--config", "run.toml"];
    loadgen_node(&own, &[&print[..], &given].concat()).expect(0);
    let text = loadgen_node(&own, &["submission"]).expect(2).said();
    let (submitter, cooling) =
        (line("submission.toml", "submitter"), line("submission.toml", "cooling"));
    for named in [
        "  submission.toml\n",
        &format!("    {submitter}Your organization"),
        &format!("    {cooling}Such as: air, liquid."),
        "Such as: Acme Rack 1.",
        "[system] has 29 other fields, such as number_of_nodes, which the runs' evidence fills in",
        "  calibration.md\n    calibration: No such file",
        "  runs/offline/digests\n",
    ] {
        assert!(text.contains(named), "{named}: {text}");
    }
    assert_eq!(text.matches("[system]").count(), 1, "{text}");
    assert!(text.trim_end().ends_with(" things to do"), "{text}");
}

#[test]
fn a_missing_rate_is_not_invented() {
    let (folder, steps) = new_folder_with("127.0.0.1:50051", &[]);
    assert!(steps.contains("\n# N4 forbids nodes over loopback: "), "{steps}");
    for scenario in ["server", "offline"] {
        let plan = format!("loadgen-node plan resnet50 --scenario {scenario} --rate RATE    # ");
        assert!(steps.contains(&plan), "{plan}: {steps}");
    }
    let own = folder.root().join("resnet50");
    let todo = "target_qps is still TODO: write the queries per second that your nodes sustain";
    let text = loadgen_node(&own, &["run", "--config", "run.toml"]).said();
    for part in ["dataset is still TODO", "labels is still TODO", todo] {
        assert!(text.contains(part), "all at once: {part}: {text}");
    }
    fs::write(own.join("labels.npy"), e2e::npy("<i4", "(1100,)", vec![0; 4 * 1100]))
        .expect("a writable path");
    let args = [
        ["--config", "run.toml"],
        ["--dataset", "synthetic:1100x64"],
        ["--labels", "labels.npy"],
        ["--connect-timeout", "300ms"],
    ];
    let args = args.concat();
    for (command, code) in [(&["run", "--rehearsal"][..], 2), (&["doctor"], 1)] {
        let text = loadgen_node(&own, &[command, &args].concat()).expect(code).said();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("user.conf, line ") && text.contains(todo), "{text}");
    }
}

/// Paths in a settings file are relative to the file, from any folder and for all commands.
#[test]
fn every_command_takes_run_toml_from_any_folder() {
    let (own, _) = new_folder("127.0.0.1:50051");
    let folder = own.root().canonicalize().expect("a folder");
    let own = folder.join("resnet50");
    let text = fs::read_to_string(own.join("run.toml")).expect("a file");
    let small = text.replace("TODO-", "").replace("samples = 1024", "samples = 2");
    fs::write(own.join("run.toml"), small + "rehearsal = true\n").expect("a writable path");
    write_images_and_labels(&own);
    fs::create_dir(folder.join("elsewhere")).expect("a writable path");
    let print = |folder: &Path, command: &str, config: &str| {
        loadgen_node(folder, &[command, "--config", config, "--print-config"]).expect(0).stdout
    };
    let set = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split("  # ").next()).map(str::to_owned).collect::<Vec<_>>()
    };
    for command in ["run", "probe", "doctor", "nodes", "fabric"] {
        let text = print(&folder, command, "resnet50/run.toml");
        assert!(
            text.contains("nodes = [\"127.0.0.1:50051\"]  # resnet50/run.toml, line "),
            "{text}"
        );
        let has_data = text.contains(&format!("dataset = \"{}/dataset.npy\"", own.display()));
        assert_eq!(has_data, !["nodes", "fabric"].contains(&command), "{command}: {text}");
        // The printed settings mean the same in every folder.
        fs::write(folder.join("printed.toml"), &text).expect("a writable path");
        let again = print(&folder.join("elsewhere"), command, "../printed.toml");
        assert_eq!(set(&again), set(&text));
    }
    // A file in the current folder is another one.
    fs::remove_file(own.join("dataset.npy")).expect("a writable path");
    fs::write(folder.join("dataset.npy"), "").expect("a writable path");
    loadgen_node(&folder, &["run", "--config", "resnet50/run.toml"])
        .expect_text(2, "resnet50/dataset.npy");
    fs::write(own.join("node.toml"), "name = 'a'\nmodel = 'digits'\nready_file = 'ready.json'\n")
        .expect("a writable path");
    let output = sut_node(&folder, &["--config", "resnet50/node.toml", "--print-config"]);
    for line in ["model = \"digits\"", &format!("ready_file = \"{}/ready.json\"", own.display())] {
        assert!(output.said().contains(line), "{line}: {}", output.said());
    }
}

#[test]
fn nothing_is_written_over_what_is_there() {
    let (folder, _) = new_folder("127.0.0.1:50051");
    let args = ["resnet50", "--scenario", "server", "--nodes", "127.0.0.1:50051"];
    for name in FILES {
        let own = folder.root().join("resnet50");
        FILES.iter().filter(|other| **other != name).for_each(|other| {
            let _ = fs::remove_file(own.join(other));
        });
        fs::write(own.join(name), "mine").expect("a writable folder");
        init(folder.root(), &args).expect_text(2, &format!("{name} exists already"));
        assert_eq!(fs::read_to_string(own.join(name)).expect("a file"), "mine");
        assert_eq!(own.read_dir().expect("a folder").count(), 1, "no other file is written");
        fs::remove_file(own.join(name)).expect("a writable file");
    }
}

#[test]
fn a_file_that_cannot_be_written_leaves_none() {
    let (folder, _) = new_folder("127.0.0.1:50051");
    let args = ["resnet50", "--scenario", "server", "--nodes", "127.0.0.1:50051"];
    let own = folder.root().join("resnet50");
    let last = FILES[FILES.len() - 1];
    FILES.iter().for_each(|name| fs::remove_file(own.join(name)).expect("a writable file"));
    // A file is written under a temporary name first.
    let obstacle = own.join(format!("{last}.part"));
    fs::create_dir(&obstacle).expect("a writable folder");
    init(folder.root(), &args).expect_text(3, last);
    assert_eq!(own.read_dir().expect("a folder").count(), 1, "only the obstacle is left");
    fs::remove_dir(obstacle).expect("a writable path");
    init(folder.root(), &args).expect(0);
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::create();
    let speech =
        ["whisper", "--scenario", "offline", "--nodes", "127.0.0.1:1", "--engine", "openai"];
    init(folder.root(), &speech).expect_text(2, "samples of whisper are waveforms; give python");
    let server = ["--scenario", "server", "--nodes", "127.0.0.1:1"];
    for (args, want) in [
        (&["resnet51"][..], "there is no benchmark resnet51 (did you mean resnet50?)"),
        (&["llama2-70b"], "(did you mean llama2-70b-99 or llama2-70b-99.9?)"),
        (&["dlrm-v3"], "dlrm-v3 cannot be run"),
        (
            &["gpt-oss-120b", "--engine", "kserve"],
            "--engine kserve: outputs of gpt-oss-120b are sampled; give openai or python",
        ),
        (&["bert-99"], "belongs to the edge suite only, which netdiv does not support"),
        (&["3d-unet-99"], "--scenario server: the suite has 3d-unet-99 in offline"),
        (&["resnet50", "--round", "v6.0"], "--round v6.0: resnet50 belongs to v5.0"),
        (&["resnet50", "--round", "five"], "is not the name of a round"),
        (&["resnet50", "--division", "exploratory"], "give network, closed or open"),
        (&["resnet50", "--rate", "0"], "--rate 0: must be from 0.000001 to 100000000"),
        (&["resnet50", "--nodes", "n[1"], "a bracket is opened and not closed"),
    ] {
        init(folder.root(), &[args, &server[..]].concat()).expect_text(2, want);
    }
    assert_eq!(folder.root().read_dir().expect("a folder").count(), 0);
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason_before_anything_else() {
    let folder = Folder::create();
    let table = Table::builtin().expect("the table");
    for benchmark in &table.benchmarks {
        let (name, Some(why)) = (benchmark.name.as_str(), &benchmark.cannot_run) else { continue };
        let refused = format!("{name} cannot be run: {why}");
        for args in [
            &["init", name, "--nodes", "127.0.0.1:1"][..],
            &["run", "--benchmark", name, "--nodes", "127.0.0.1:1"],
            &["plan", name, "--rate", "1"],
        ] {
            let args = [args, &["--scenario", "offline"]].concat();
            loadgen_node(folder.root(), &args).expect_text(2, &refused);
        }
    }
    assert_eq!(folder.root().read_dir().expect("a folder").count(), 0);
}

#[test]
fn node_toml_suits_its_engine() {
    let folder = Folder::create();
    for engine in ["torch", "onnx", "decoder", "openai", "kserve", "python"] {
        let args = ["llama2-70b-99", "--scenario", "server", "--nodes", "127.0.0.1:1"];
        let args = [&args[..], &["--engine", engine, "--output", engine]].concat();
        init(folder.root(), &args).expect(0);
        let file = folder.root().join(engine).join("node.toml");
        if engine == "openai" {
            starts_once_it_is_filled(&file);
        }
        fill(&file, "done");
        let args = read_settings::<sut_node::Args>(&file);
        let args = args.expect("a node's settings").engine;
        assert_eq!(args.engine.map(String::from).as_deref(), Some(engine));
        assert_eq!(args.shared.servers.url.is_some(), ["openai", "kserve"].contains(&engine));
        // Each key applies to the engine; only the model is missing.
        let args = ["--config", "node.toml", "--print-config"];
        let text = sut_node(&folder.root().join(engine), &args).expect_text(2, "done-").said();
        assert!(!text.contains("belongs to the engine"), "{engine}: {text}");
    }
}

/// Completes a file for the engine `openai`, starts a node with it, and restores the file.
fn starts_once_it_is_filled(file: &Path) {
    let text = fs::read_to_string(file).expect("a file");
    let folder = file.parent().expect("a folder");
    let engine = FakeEngine::start(None);
    let url = "http://127.0.0.1:8000";
    assert!(text.contains(&format!("url = [\"{url}\"]")), "{text}");
    fs::write(file, text.replace("TODO-", "").replace(url, &engine.url)).expect("a writable file");
    fs::write(folder.join("model.toml"), MODEL).expect("a writable path");
    let node =
        SutNode::try_start_in(folder, "127.0.0.1:0", &["--config", "node.toml", "--name", "a"]);
    node.unwrap_or_else(|log| panic!("{log}"));
    fs::write(file, text).expect("a writable file");
}

#[test]
fn the_steps_suit_the_engine_and_explain_their_words() {
    let prepared = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/SUBMISSION.md");
    let prepared = fs::read_to_string(prepared).expect("the page");
    let table = Table::builtin().expect("the table");
    for benchmark in table.benchmarks.iter().filter(|one| one.cannot_run.is_none()) {
        if benchmark.rounds.is_empty() {
            continue;
        }
        let folder = Folder::create();
        let scenario = benchmark.scenarios[0].to_string();
        let args = [benchmark.name.as_str(), "--scenario", &scenario, "--nodes", "rack[1-2]"];
        let steps = init(folder.root(), &args).expect(0).said();
        let commands = steps.lines().filter(|line| !line.starts_with('#'));
        let commands = commands.filter_map(|line| line.split("    #").next());
        let capitals = commands.flat_map(|line| line.split(|c: char| !c.is_ascii_uppercase()));
        for word in capitals.filter(|word| word.len() > 1 && !["TODO", "OLDPWD"].contains(word)) {
            assert!(steps.contains(&format!("\n# {word} is ")), "{word}: {steps}");
        }
        let (_, set) = steps.split_once("deploy/data/prepare ").expect("a data set");
        let listed = format!("`{}`", set.split(' ').next().unwrap_or_default());
        assert!(prepared.contains(&listed), "{listed}");
        let node = fs::read_to_string(folder.root().join(&benchmark.name).join("node.toml"));
        let is_served = benchmark.tokens().is_some() && !benchmark.name.starts_with("gptj");
        let is_speech = benchmark.form == SampleForm::Waveform;
        let engine = match (is_served, is_speech) {
            (true, _) => "openai",
            (_, true) => "python",
            _ => "torch",
        };
        let outside = "# N25: section 6.2.4 and Appendix B have no row for ";
        assert_eq!(steps.contains(outside), is_speech, "{steps}");
        assert!(node.expect("a file").contains(&format!("engine = \"{engine}\"\n")), "{steps}");
        for command in [
            "\nloadgen-node model CHECKPOINT ",
            "\nvllm serve CHECKPOINT ",
            " --max-num-seqs 256 ",
            "\nloadgen-node probe --config run.toml --connect-timeout 10m ",
        ] {
            assert_eq!(steps.contains(command), is_served, "{steps}");
        }
        assert_eq!(steps.contains("deploy/models/README.md"), engine == "torch", "{steps}");
        let of_test07 = "submit.sh . --test07-reference-data FILE --reference ";
        let has_test07 = benchmark.compliance.contains(&Test::Test07);
        assert_eq!(steps.contains(of_test07), has_test07, "{steps}");
    }
}

#[test]
fn the_demo_s_benchmarks_are_for_practice() {
    for (benchmark, scenario) in [("digits", "offline"), ("sorting", "server")] {
        let folder = Folder::create();
        let nodes = free_address();
        let args = [benchmark, "--scenario", scenario, "--nodes", &nodes];
        let steps = init(folder.root(), &args).expect(0).stdout;
        let own = folder.root().join(benchmark);
        let _node = SutNode::try_start_in(&own, &nodes, &["--config", "node.toml", "--name", "a"])
            .unwrap_or_else(|log| panic!("{log}"));
        for command in steps.lines().filter(|line| line.starts_with("loadgen-node ")) {
            let args: Vec<_> = command
                .split("    #")
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .skip(1)
                .collect();
            let output = loadgen_node(&own, &args);
            // Short runs on a busy machine may be INVALID, and `check` finds that it is practice.
            let allowed = if args[0] == "probe" || args[0] == "report" { 0 } else { 1 };
            assert!(output.code.is_some_and(|code| code <= allowed), "{command}: {output:#?}");
        }
    }
    let folder = Folder::create();
    for (args, want) in [
        (&["--nodes", "127.0.0.1:1", "--rate", "5"][..], "leave --rate out"),
        (&["--nodes", "127.0.0.1:1", "--division", "closed"], "leave --division out"),
        (&["--nodes", "rack1"], "is for practice on this machine"),
    ] {
        init(folder.root(), &[&["digits", "--scenario", "server"], args].concat())
            .expect_text(2, want);
    }
}

/// Printed commands that the test does not run: the beginning of each, and the reason.
const NOT_RUN: [(&str, &str); 10] = [
    ("cd ", "all commands run in that folder"),
    ("grep -n TODO ", "the test completes the files"),
    ("NETDIV/deploy/data/prepare ", "it needs ImageNet; tests/data tests it"),
    ("sut-node ", "the nodes of the test listen on free ports"),
    ("NETDIV/deploy/submit.sh ", "`make rehearsal` runs it"),
    ("loadgen-node run ", "a performance run lasts ten minutes, and one with digests a minute"),
    ("loadgen-node audit ", "it needs a performance run"),
    ("loadgen-node submission ", "it needs all runs; rules.rs makes submissions"),
    ("loadgen-node check ", "it needs a submission"),
    ("(cd INFERENCE/", "the official checker is in another repository; `make rehearsal` runs it"),
];

/// Completes the files, then runs the commands that `init` printed: a measurement of the network, a
/// probe, and the runs of a rehearsal.
#[test]
fn the_printed_commands_work_once_the_files_are_whole() {
    let (folder, steps) = new_folder("127.0.0.1:50051");
    let own = folder.root().join("resnet50");
    let node = SutNode::echo("a", &["--echo-answer-bytes", "4"]);
    let far = SutNode::start("far", &["--engine", "none"]);
    let file = |name: &str, changes: &[(&str, &str)]| {
        let text = fs::read_to_string(own.join(name)).expect("a file");
        let changed = changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{from}: {text}");
            text.replace(from, to)
        });
        fs::write(own.join(name), changed).expect("a writable file");
    };
    let labels = e2e::npy("<i4", "(1100,)", vec![0; 4 * 1100]);
    fs::write(own.join("labels.npy"), labels).expect("a writable folder");
    file(
        "run.toml",
        &[
            ("127.0.0.1:50051", node.address.as_str()),
            ("TODO-dataset.npy", "synthetic:1100x64"),
            ("TODO-labels.npy", "labels.npy"),
        ],
    );
    let short = ["--sizes", "64", "--duration", "100ms", "--warm-up", "0s", "--rounds", "1"];
    let to_far = [&["--nodes", far.address.as_str()][..], &short].concat();
    let accuracy = "loadgen-node run --config run.toml --scenario";
    let [server, offline] =
        ["server", "offline"].map(|one| format!("{accuracy} {one} --mode accuracy "));
    // Each command with the options that the test adds.
    let to_run: [(&str, &[&str]); 5] = [
        ("loadgen-node fabric ", &to_far),
        ("loadgen-node probe ", &[]),
        ("loadgen-node plan ", &[]),
        (&server, &["--rehearsal"]),
        (&offline, &["--rehearsal"]),
    ];
    // The first line is no command, and comments begin with `#`.
    let lines = steps.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands: Vec<_> = lines.filter_map(|line| line.split("    #").next()).collect();
    let starts =
        to_run.iter().map(|(start, _)| start).chain(NOT_RUN.iter().map(|(start, _)| start));
    for start in starts {
        assert!(commands.iter().any(|command| command.starts_with(*start)), "{start}: {steps}");
    }
    for command in commands {
        let Some((_, more)) = to_run.iter().find(|(start, _)| command.starts_with(*start)) else {
            let is_known = NOT_RUN.iter().any(|(start, _)| command.starts_with(*start));
            assert!(is_known, "{command}: run it here, or state why not");
            continue;
        };
        // `init` prints shell commands: `loadgen-node` is on the path of such a shell.
        let args: Vec<_> = command.split(' ').skip(1).chain(more.iter().copied()).collect();
        loadgen_node(&own, &args).expect(0);
    }
    assert!(own.join("fabric/fabric.json").exists());
    // LoadGen's own reader accepted the file and applied its values.
    for (scenario, field, want) in [
        ("server", "server_target_qps", "2000"),
        ("server", "min_duration_ms", "600000"),
        ("server", "server_target_latency_ns", "15000000"),
        ("offline", "offline_expected_qps", "2000"),
        ("offline", "min_query_count", "24576"),
    ] {
        let path = own.join(format!("runs/{scenario}/accuracy/result.json"));
        let text = fs::read_to_string(path).expect("a result");
        let result: Value = serde_json::from_str(&text).expect("JSON");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let said = result["test_settings"][field].as_str().expect("a setting");
        assert_eq!(number(said), number(want), "{field}");
    }
}

#[test]
fn nodes_on_other_machines_get_certificates() {
    let (_folder, steps) = new_folder("rack[1-2]-a,dns:nodes.lab:50051");
    for line in [
        "cd resnet50",
        "loadgen-node certificates --hosts rack1-a,rack2-a,nodes.lab",
        "rsync -R node.toml certificates/ca.pem certificates/HOST.pem certificates/HOST.key HOST:resnet50/",
        "loadgen-node submission --settings submission.toml --output tree",
    ] {
        assert!(steps.lines().any(|one| one == line), "{line}: {steps}");
    }
    assert!(!steps.contains("loopback"), "{steps}");
    // The program's LoadGen has one round; for another round the steps name the build.
    assert!(!steps.contains("make LOADGEN="), "{steps}");
    let folder = Folder::create();
    let args = ["--round", "v5.1", "--scenario", "server", "--nodes", "a", "--nodes-port", "7"];
    let steps = init(folder.root(), &[&["llama3.1-8b-interactive"], &args[..]].concat()).said();
    for part in [
        "`make LOADGEN=5.1.1`",
        "mlcommons/inference at v5.1.1.",
        "loadgen-node accuracy runs/server/accuracy --reference INFERENCE -- --model-name CHECKPOINT --dataset-file FILE\n",
        "python3 submission_checker.py --input",
    ] {
        assert!(steps.contains(part), "{part}: {steps}");
    }
    let run = fs::read_to_string(folder.root().join("llama3.1-8b-interactive/run.toml"));
    assert!(run.expect("a file").contains("\nnodes_port = 7\n"));
    let (_folder, steps) = new_folder("[::1]:50051");
    assert!(!steps.contains("certificates"), "{steps}");
    let (_folder, steps) = new_folder("[fd00::1]:50051");
    assert!(steps.contains("loadgen-node certificates --hosts '[fd00::1]'\n"), "{steps}");
}

#[test]
fn a_file_of_nodes_is_named_from_the_root() {
    let own = Folder::create();
    let folder = own.root().canonicalize().expect("a folder");
    own.write("nodes", "127.0.0.1");
    let args = ["resnet50", "--scenario", "server", "--nodes", "@nodes"];
    init(&folder, &args).expect(0);
    let run = own.read("resnet50/run.toml");
    assert!(run.contains(&format!("nodes = [\"@{}/nodes\"]", folder.display())), "{run}");
}
