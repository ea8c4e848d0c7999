//! Command lines of both programs: sources of settings, units, help, completions and man pages.

use std::{fs, process::Command};

use e2e::{
    Folder, LoadGen, SutNode, npy,
    process::{Ended, command, loadgen_node, program},
};

/// Runs a program with environment variables.
fn ended(name: &str, args: &[&str], variables: &[(&str, &str)]) -> Ended {
    Ended::of(command(name).args(args).envs(variables.iter().copied()))
}

fn printed(name: &str, args: &[&str]) -> String {
    ended(name, args, &[]).expect(0).stdout
}

fn refused(name: &str, args: &[&str], words: &[&str]) {
    refused_with(name, args, &[], words);
}

fn refused_with(name: &str, args: &[&str], variables: &[(&str, &str)], words: &[&str]) {
    let Ended { code, stderr, .. } = ended(name, args, variables);
    assert_eq!(code, Some(2), "{args:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{args:?} {variables:?}: `{word}` in\n{stderr}");
    }
}

#[test]
fn both_programs_state_the_revision_of_their_sources() {
    let revision = |name| {
        let text = printed(name, &["--version"]);
        let version = format!("{name} {} (", env!("CARGO_PKG_VERSION"));
        let rest = text.strip_prefix(&version).unwrap_or_else(|| panic!("{version} in {text}"));
        let (revision, _) = rest.split_once(")\n").expect("a revision");
        assert_eq!(text.contains("\nLoadGen "), name == "loadgen-node", "{text}");
        revision.trim_end_matches(" with changes").to_owned()
    };
    assert_eq!(revision("sut-node"), revision("loadgen-node"));
}

#[test]
fn messages_and_help_have_the_paths_of_installed_pages() {
    // Beside the programs, so that they can be linked.
    let beside = program("sut-node");
    let folder = tempfile::tempdir_in(beside.parent().expect("a folder")).expect("a folder");
    let pages = folder.path().join("share/doc/netdiv/docs");
    for new in [&pages, &folder.path().join("bin")] {
        fs::create_dir_all(new).expect("a folder");
    }
    let pages = pages.canonicalize().expect("a path");
    for page in ["ENGINES.md", "OPERATING.md", "SUBMISSION.md"] {
        fs::write(pages.join(page), "").expect("a page");
    }
    for (name, args, page) in [
        ("sut-node", &["--engine", "openai"][..], "ENGINES.md"),
        ("sut-node", &["--help-all"], "SUBMISSION.md#describe-the-machines"),
        ("loadgen-node", &["run", "--help"], "OPERATING.md#name-the-nodes"),
    ] {
        let installed = folder.path().join("bin").join(name);
        if !installed.exists() {
            fs::hard_link(program(name), &installed).expect("a link");
        }
        let text = Ended::of(Command::new(&installed).args(args)).said();
        let path = format!("{}/{page}", pages.display());
        assert!(text.contains(&path), "{path} in\n{text}");
        let text = ended(name, args, &[]).said();
        assert!(text.contains(&format!("docs/{page}")) && !text.contains(&path), "{text}");
    }
}

const RUN: [&str; 8] = [
    "run",
    "--print-config",
    "--nodes",
    "127.0.0.1:1",
    "--scenario",
    "offline",
    "--benchmark",
    "digits",
];

/// Asserts that a text has these lines.
fn assert_lines<'a>(text: &str, lines: impl IntoIterator<Item = &'a str>) {
    for line in lines {
        assert!(text.lines().any(|one| one == line), "`{line}` in\n{text}");
    }
}

#[test]
fn each_setting_says_where_it_comes_from_and_can_be_read_back() {
    let folder = Folder::create();
    let text =
        "encoding = 'lz4'\nsample_timeout = '7s'\nconnect_timeout = '9s'\nwindow_bytes = '1MiB'\n";
    let path = folder.write("settings.toml", text);
    let args = [&RUN[..], &["--config", &path, "--connect-timeout", "11s"]].concat();
    let variables =
        [("NETDIV_CONNECT_TIMEOUT", "10s"), ("NETDIV_ENCODING", "zstd"), ("NETDIV_STREAMS", "")];
    let text = ended("loadgen-node", &args, &variables).expect(0).stdout;
    assert_lines(
        &text,
        [
            "connect_timeout = \"11s\"  # command line",
            "encoding = \"zstd\"  # environment, NETDIV_ENCODING",
            &format!("sample_timeout = \"7s\"  # {path}, line 2"),
            &format!("window_bytes = 1048576  # {path}, line 4"),
            "# keepalive_timeout: 3s (default)",
            "# streams: 1 (default)",
            "# tls_ca: not set",
            "# Network",
        ],
    );
    let again = folder.write("settings.toml", &text);
    let again = printed("loadgen-node", &["run", "--print-config", "--config", &again]);
    let is_set = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let setting = |line: &str| line.split("  # ").next().map(ToOwned::to_owned);
    let settings = |text: &str| text.lines().filter(is_set).filter_map(setting).collect::<Vec<_>>();
    assert_eq!(settings(&again), settings(&text));
}

#[test]
fn a_node_takes_settings_from_the_environment_too() {
    let variables = [("NETDIV_ENGINE", "echo"), ("NETDIV_ECHO_BATCH", "5ms"), ("NETDIV_NAME", "a")];
    let node = ended("sut-node", &["--print-config", "--echo-batch", "250us"], &variables);
    assert_lines(
        &node.expect(0).stdout,
        [
            "echo_batch = \"250us\"  # command line",
            "engine = \"echo\"  # environment, NETDIV_ENGINE",
            "# drain_timeout: 5s (default)",
        ],
    );
}

#[test]
fn what_is_wrong_in_the_environment_is_named() {
    for (program, args, variable, value, words) in [
        ("loadgen-node", &RUN[..], "NETDIV_TRANSPORT", "tcp", "possible values: grpc, quic"),
        ("loadgen-node", &RUN, "NETDIV_CONNECT_TIMEOUT", "5 parsecs", "`5 parsecs` is not a time"),
        ("loadgen-node", &RUN, "NETDIV_WINDOW_BYTES", "-1", "`-1` is not a number of bytes"),
        ("sut-node", &["--print-config"], "NETDIV_MAX_BATCH", "many", "invalid digit"),
    ] {
        let named = format!("environment variable {variable}");
        refused_with(program, args, &[(variable, value)], &[words, &named]);
    }
}

#[test]
fn units_are_asked_for() {
    let run = |more: &[&'static str]| [&RUN[..], more].concat();
    for (more, words) in [
        (&["--connect-timeout", "250"][..], "`250` has no unit; write a time as 10s"),
        (&["--connect-timeout", ""], "is not a time"),
        (&["--connect-timeout", "NaN"], "is not a time"),
        (&["--connect-timeout", "0s"], "--connect-timeout 0s: must be at least 1ms"),
        (
            &["--receive-window-bytes", "8EiB"],
            "--receive-window-bytes 9223372036854775808: must be from",
        ),
        (&["--min-free-bytes", "5 parsecs"], "`5 parsecs` is not a number of bytes"),
    ] {
        refused("loadgen-node", &run(more), &[words]);
    }
    for (args, words) in [
        (
            &["--engine-timeout", "1500us"][..],
            "--engine-timeout 1500us: must be whole milliseconds",
        ),
        (&["--engine-timeout", "2days"], "--engine-timeout 48h: must be from 1ms to 24h"),
        (&["--max-payload-bytes", "0"], "--max-payload-bytes 0: must be from 1"),
    ] {
        refused("sut-node", &[&["--engine", "echo"], args].concat(), &[words]);
    }
}

#[test]
fn settings_are_printed_without_a_look_into_the_dns() {
    let args = ["--print-config", "--nodes", "dns:nowhere.invalid:5,10.0.0.1", "--insecure"];
    let more = ["--nodes-expected", "3", "--connect-timeout", "24h"];
    for command in [
        &["run", "--scenario", "offline", "--benchmark", "digits"][..],
        &["probe", "--benchmark", "digits"],
        &["fabric"],
        &["nodes"],
    ] {
        let text = printed("loadgen-node", &[command, &args, &more].concat());
        assert_lines(&text, ["nodes = [\"dns:nowhere.invalid:5,10.0.0.1\"]  # command line"]);
        let wrong = [command, &["--print-config", "--nodes", "dns:nowhere.invalid:many"]].concat();
        refused("loadgen-node", &wrong, &["the port is not a number"]);
    }
}

#[test]
fn printed_settings_are_those_of_a_run_that_would_begin() {
    let folder = Folder::create();
    let labels = folder.write("labels.npy", npy("<i4", "(3,)", vec![0; 12]));
    let text = "*.Offline.target_qps = 10\n*.Offline.target_qps = fast\n";
    let user_conf = folder.write("user.conf", text);
    let evidence = folder.write("evidence.toml", "kernel = 'Plan 9'\n");
    for (option, path, words) in [
        ("--dataset", "/nowhere", "cannot read /nowhere"),
        ("--labels", &labels, "3 labels for 500 samples"),
        ("--user-conf", &user_conf, "line 2: `fast` is not a number"),
        ("--audit-config", "/dev/zero", "it is a device"),
        ("--evidence", &evidence, "measured as"),
        ("--setting", "nonsense=1", "nonsense"),
        ("--division", "network", "the rules of the Network division"),
    ] {
        let [_, _, run @ ..] = RUN;
        for command in [&["run"][..], &["run", "--print-config"], &["doctor", "--print-config"]] {
            refused("loadgen-node", &[command, &run, &[option, path]].concat(), &[words]);
        }
    }
    let probe = ["probe", "--nodes", "127.0.0.1:1", "--dataset", "/nowhere"];
    for command in [&probe[..], &[&probe[..], &["--print-config"]].concat()] {
        refused("loadgen-node", command, &["cannot read /nowhere"]);
    }
    for (args, words) in [
        (&["--model", "/nowhere.onnx"][..], "cannot read the model /nowhere.onnx"),
        (&["--model", "/dev/zero"], "it is a device"),
        (&["--engine", "none", "--evidence", &evidence], "measured as"),
    ] {
        for command in [&[][..], &["--print-config"], &["doctor"]] {
            refused("sut-node", &[command, args].concat(), &[words]);
        }
    }
}

#[test]
fn a_missing_rate_is_reported() {
    for (args, is_reported) in [
        (&["--benchmark", "digits", "--scenario", "server"][..], true),
        (&["--benchmark", "digits", "--scenario", "offline"], true),
        (&["--benchmark", "digits", "--scenario", "single-stream"], false),
        (&["--benchmark", "digits", "--scenario", "offline", "--mode", "accuracy"], false),
        (
            &["--benchmark", "digits", "--scenario", "server", "--setting", "server_target_qps=9"],
            false,
        ),
        (&["--scenario", "server", "--benchmark", "sorting"], false),
    ] {
        let run = [&["run", "--print-config", "--nodes", "127.0.0.1:1"], args].concat();
        let stderr = loadgen_node(&run).expect(0).stderr;
        let is_there = stderr.contains("without it LoadGen issues 1 query per second");
        assert_eq!(is_there, is_reported, "{args:?}: {stderr}");
    }
}

#[test]
fn the_words_of_an_engine_are_in_help_and_completions_and_a_file_is_one_too() {
    let words = "onnx, decoder, torch, none, echo, tokens, openai, kserve, python";
    let help = printed("sut-node", &["--help"]);
    assert!(help.contains(&format!("possible values: {words}")), "{help}");
    let all = printed("sut-node", &["--help-all"]);
    let completion = printed("sut-node", &["completions", "bash"]);
    for word in words.split(", ") {
        assert!(all.contains(&format!("- {word}:")), "{word} in\n{all}");
        assert!(completion.contains(word), "{word}");
    }
    refused("sut-node", &["--engine", "onxn"], &["or the file of a plug-in", "--engine"]);
    refused("sut-node", &["--engine", "./nowhere.so"], &["torch and plug-ins need --model"]);
}

#[test]
fn an_unknown_word_is_refused_with_a_suggestion() {
    let folder = Folder::create();
    for (program, args, text, want) in [
        ("loadgen-node", &RUN[..], "encoding = 'lz5'", "a similar value exists: 'lz4'"),
        ("loadgen-node", &RUN, "window_sample = 5", "(did you mean window_samples?)"),
        ("sut-node", &[], "engine = 'vllm'", "(vLLM: openai)"),
        ("sut-node", &[], "response_encoding = 'zst'", "a similar value exists: 'zstd'"),
    ] {
        let path = folder.write("settings.toml", text);
        let args = [args, &["--config", &path]].concat();
        refused(program, &args, &["settings.toml, line 1: ", want]);
    }
    let plan = ["plan", "resnt50", "--scenario", "server", "--rate", "5"];
    let with = |option, value| [&RUN[..6], &[option, value]].concat();
    for (program, args, want) in [
        (
            "sut-node",
            &["--engine", "tensorrt-llm"][..],
            "(TensorRT-LLM: openai with --openai-dialect trtllm)",
        ),
        ("sut-node", &["devices", "--engine", "onnx"], "it has no devices to list; write torch"),
        ("loadgen-node", &["rn"], "a similar subcommand exists: 'run'"),
        ("loadgen-node", &["benchmarks", "llama2-70b"], "(did you mean llama2-70b-99 or "),
        ("loadgen-node", &plan, "there is no benchmark resnt50 (did you mean resnet50?)"),
        ("loadgen-node", &with("--benchmark", "resnt50"), "for resnt50 (did you mean resnet50?)"),
        ("loadgen-node", &["fabric", "--nodes=a:1", "--target=gpt=5"], "(did you mean gptj?)"),
    ] {
        refused(program, args, &[want]);
    }
}

#[test]
fn nothing_is_chosen_that_was_forgotten() {
    for (program, args, words) in [
        ("loadgen-node", &["probe"][..], "no nodes; give --nodes"),
        ("loadgen-node", &RUN[..6], "no benchmark; give --benchmark NAME"),
        ("sut-node", &[], "no model; give --model FILE, or --model digits"),
        ("sut-node", &["--engine", "decoder"], "or --model sorting for the demo's model"),
        ("sut-node", &["--model", "resnet50"], "the only model with a name is digits"),
        ("sut-node", &["--model", "resnet50"], "./resnet50"),
        ("sut-node", &["--model", "./digits"], "cannot read the model ./digits"),
    ] {
        refused(program, args, &[words]);
    }
}

#[test]
fn an_audit_config_that_lies_about_is_named_and_not_used() {
    let node = SutNode::echo("a", &[]);
    let run = LoadGen::new(&[&node.address], "offline");
    run.file("audit.config", "*.*.mode = 2\n*.*.accuracy_log_sampling_target = 10\n");
    let args = ["--benchmark", "fabric", "--dataset", "synthetic:64x100"];
    let outcome = run.args(&args).short(0, 1).run().expect(0);
    assert!(
        outcome.stderr.contains("audit.config in this folder is not used"),
        "{}",
        outcome.stderr
    );
    let log = outcome.read("mlperf_log_accuracy.json");
    assert!(!log.contains("qsl_idx"), "performance mode logs no response by itself: {log}");
}

#[test]
fn help_is_short_unless_all_of_it_is_asked_for() {
    for (program, args, rare) in [
        ("loadgen-node", &["run"][..], "--receive-window-bytes"),
        ("sut-node", &[], "--echo-sample"),
    ] {
        let help = |option| printed(program, &[args, &[option]].concat());
        let (short, long) = (help("--help"), help("--help-all"));
        assert_eq!(short, help("-h"));
        assert!(!short.contains(rare) && short.contains("--help-all shows all options"), "{short}");
        assert!(long.contains(rare), "{long}");
        assert!(short.contains("possible values: grpc, quic"), "{short}");
    }
    let run = printed("loadgen-node", &["run", "--help"]);
    let run = run.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in ["an .ids file of token ids", "synthetic-ids:COUNTxMIN-MAX", "a name of your own"] {
        assert!(run.contains(text), "{text}: {run}");
    }
}

/// Returns the long options that `--help-all` shows.
fn options(program: &str, command: &[&str]) -> Vec<String> {
    let help = printed(program, &[command, &["--help-all"]].concat());
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("-h, ").or_else(|| line.strip_prefix("-V, ")).unwrap_or(line);
        line.starts_with("--").then(|| line.split([' ', '=', '[']).next()).flatten()
    });
    words.map(ToOwned::to_owned).collect()
}

#[test]
fn completions_and_man_pages_have_every_command_and_option() {
    let all: [(&str, &[&str]); 2] = [
        ("sut-node", &["bench", "devices"]),
        (
            "loadgen-node",
            &["run", "fabric", "nodes", "audit", "check", "submission", "plan", "ids"],
        ),
    ];
    for (name, commands) in all {
        let folder = Folder::create();
        printed(name, &["man", &folder.path("")]);
        let bash = printed(name, &["completions", "bash"]);
        for command in commands.iter().map(|command| vec![*command]).chain([vec![]]) {
            let options = options(name, &command);
            let page = [&[name][..], &command[..]].concat().join("-") + ".1";
            let text = folder.read(&page).replace("\\-", "-");
            assert!(options.len() > 1, "{command:?}");
            let lines: Vec<_> = text.lines().collect();
            let is_bare = |pair: &&[&str]| pair[0].starts_with("\\fB--") && pair[1].is_empty();
            assert_eq!(lines.windows(2).find(is_bare), None, "{page}");
            for option in options {
                assert!(text.contains(&option), "{option} in {page}");
                assert!(bash.contains(&option), "{option} in the completion");
            }
        }
        for shell in ["zsh", "fish"] {
            assert!(printed(name, &["completions", shell]).contains("tls"), "{shell}");
        }
        for command in commands {
            let script = format!(
                "{bash}\nCOMP_WORDS=({name} {command} --he); COMP_CWORD=2; _{} {name} --he {command}\n\
                 echo ${{COMPREPLY[@]}}",
                name.replace('-', "__"),
            );
            let file = folder.path("completion");
            fs::write(&file, script).expect("a script");
            let bash = Command::new("bash").arg(&file).output().expect("bash");
            assert!(bash.status.success(), "bash cannot read the completion: {bash:?}");
            let completed = String::from_utf8_lossy(&bash.stdout);
            assert!(completed.contains("--help"), "{name} {command} --he: {completed:?}");
        }
    }
    refused("loadgen-node", &["man", "/nowhere/at/all"], &["/nowhere/at/all"]);
}
