//! Engines in Python: batches and outputs, faults of the engine's file, and the end of the worker.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use e2e::{
    Folder, LoadGen, SutNode, assert_refused,
    process::{
        Ended, built_file, children, command, command_after, send_signal, sut_node, wait_until,
    },
    python_engine::{PythonEngine, try_node},
};

/// An engine that adds up the bytes of samples.
const SUM: &str = "
import numpy as np
from netdiv_engine import Tensor

class Sum:
    inputs = [Tensor('sample', 'uint8', (64,))]
    outputs = [Tensor('sum', 'int64', ())]
    max_batch = 16

    def infer(self, batch):
        return batch['sample'].sum(axis=1, dtype=np.int64)
";

/// Returns an accuracy run of a data set, Offline.
fn accuracy_run(node: &SutNode, dataset: &str) -> LoadGen {
    let run = LoadGen::new(&[&node.address], "offline");
    run.data("x", dataset).accuracy()
}

/// Returns [`SUM`] with `statements` before the response. The batches that are tried at the start are
/// zeros, for which they do not run.
fn sum_with(statements: &str) -> String {
    let guarded =
        format!("if batch['sample'].any():\n            {statements}\n        return batch");
    SUM.replace("return batch", &guarded)
}

/// Runs a node to completion, after shell commands.
fn ended(engine: &PythonEngine, commands: &str, args: &[&str]) -> Ended {
    let (file, python) = (engine.path("engine.py"), built_file("engine/bin/python"));
    let mut node = command_after(commands, "sut-node");
    node.args(["--name", "a", "--listen", "127.0.0.1:0", "--engine", "python", "--model", &file]);
    Ended::of(node.arg("--python").arg(python).args(args))
}

fn exists(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

#[test]
fn the_example_answers_like_the_engine_onnx() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/onnxruntime_digits.py");
    let node = try_node(&file.display().to_string(), &[]).unwrap_or_else(|log| panic!("{log}"));
    let run = LoadGen::new(&[&node.address], "offline").accuracy();
    let result = run.args(&["--benchmark", "digits"]).run().expect(0).result();
    let onnx = SutNode::start("b", &["--engine", "onnx", "--model", "digits"]);
    let run = LoadGen::new(&[&onnx.address], "offline").accuracy();
    let expected = run.args(&["--benchmark", "digits"]).run().expect(0).result();
    assert_eq!(result["accuracy"], expected["accuracy"]);
    let framework = result["evidence"]["nodes"]["a"]["framework"].as_str().expect("a framework");
    for package in ["CPython 3.", "numpy 2.", "onnxruntime 1."] {
        assert!(framework.contains(package), "{framework}");
    }
}

#[test]
fn batches_are_arrays_and_lists_of_different_lengths() {
    let engine = PythonEngine::new(
        "
import numpy as np
from netdiv_engine import Tensor

class Reverse:
    inputs = [Tensor('ids', 'int32', ('tokens',))]
    outputs = [Tensor('ids', 'int32', ('tokens',))]
    max_lengths = {'tokens': 64}

    def infer(self, batch):
        return [row[::-1] for row in batch['ids']]
",
    );
    let node = engine.node(&["--instances", "2"]);
    // A sample that does not fit fails alone, also as the first one.
    let long = accuracy_run(&node, "synthetic-ids:4x65");
    long.run().expect_failure("has a length of 65; the engine takes 64");
    let run = accuracy_run(&node, "synthetic-ids:600x1-64");
    let outcome = run.run().expect(0);
    assert_eq!(outcome.result()["samples"]["completed"], 600, "{outcome:#?}");
}

#[test]
fn faults_of_the_file_are_named_with_file_and_line() {
    let class = "from netdiv_engine import Tensor\nclass A:\n    inputs = outputs = [Tensor('a', 'uint8', (4,))]\n";
    let of_class = |rest: &str| format!("{class}    {rest}");
    let infer = "def infer(self, batch): pass";
    let tokens = |rest: &str| {
        format!(
            "class A:\n    vocabulary, max_input_tokens, max_tokens = 9, 8, 4\n    {rest}\n    def generate(self, request): pass"
        )
    };
    for (source, words) in [
        ("x = 1".to_owned(), "line 1: no class has infer(self, batch) or generate(self, request)"),
        ("\nimport nothing_of_this_name".into(), "line 2: ModuleNotFoundError"),
        ("def f(:".into(), "line 1: SyntaxError"),
        (
            format!("class A:\n  {infer}\nclass B:\n  {infer}"),
            "line 3: 2 classes have infer or generate: A (line 1), B (line 3)",
        ),
        (format!("class A:\n  {infer}"), "line 1: class A: inputs is missing"),
        (
            of_class("def infer(self, batch): pass\n    max_batch = 0"),
            "max_batch = 0: write a whole number from 1",
        ),
        (of_class("def infer(self, batch): pass\n    weights = ['w.bin']"), "w.bin: no such file"),
        (
            of_class("def infer(self, batch): pass\n    weight = ['w.bin']"),
            "write weights, or begin",
        ),
        (
            of_class(&format!(
                "def load(self, context):\n        raise ValueError('no device')\n    {infer}"
            )),
            "line 5: ValueError: no device",
        ),
        (of_class(&infer.replace("infer", "run")), "line 1: no class has infer"),
        (
            class.replace("uint8", "complex64") + "    " + infer,
            "dtype 'complex64': choose one of uint8",
        ),
        (
            class.replace("(4,)", "('n',)") + "    " + infer,
            "write the maximum of 'n' in max_lengths",
        ),
        (
            class.replace("(4,)", "(0,)") + "    " + infer,
            "length 0: write a number above 0, or a name",
        ),
        (
            "class A:\n    vocabulary = 9\n    def generate(self, request): pass".into(),
            "max_input_tokens is missing",
        ),
        (tokens("eos = [9]"), "eos has 9; ids go from 0 to 8"),
        (tokens("eos = [1] * 50_000"), "line 1: class A: eos has 150000 bytes in JSON, and all"),
        (tokens("min_tokens = 5"), "min_tokens = 5: write a whole number from 1 to 4"),
        ("import os\nos._exit(3)".into(), "its process ended, exit code 3"),
        (
            "import os, sys\nprint('the reason', file=sys.stderr)\nos.kill(os.getpid(), 11)".into(),
            "SIGSEGV); its last output: the reason",
        ),
        ("raise SystemExit(4)".into(), "line 1: SystemExit: 4"),
        (
            of_class(&format!(
                "def load(self, context):\n        import time; time.sleep(60)\n    {infer}"
            )),
            "not loaded within --engine-start-timeout, 2 s",
        ),
        (
            of_class("def infer(self, batch): import time; time.sleep(60)"),
            "its trial made no progress within --engine-timeout, 2.5 s; warm up in `load`",
        ),
        (
            tokens("x = 1").replace("pass", "import time; yield 1; time.sleep(60)"),
            "its trial made no progress within --engine-timeout, 2.5 s; warm up in `load`",
        ),
        // Each engine is tried before the node is ready.
        (
            of_class("def infer(self, batch): return batch['a'].astype(float)"),
            "line 4: the output has the dtype float64; a is declared as uint8",
        ),
        (of_class("def infer(self, batch): return batch['b']"), "line 4: KeyError: 'b'"),
        (of_class("def infer(batch): pass"), "line 4: TypeError"),
        (
            of_class(
                "def infer(self, batch):\n        assert len(batch['a']) != 31\n        return batch['a']",
            ),
            "line 5: AssertionError",
        ),
        (of_class("def infer(self, batch): raise KeyboardInterrupt"), "line 4: KeyboardInterrupt"),
        (
            class.replace("(4,)", "('n',)")
                + "    max_lengths = {'n': 4}\n    def infer(self, batch): return batch['a'].astype('uint8')",
            "line 5: AttributeError: 'list' object",
        ),
        (
            tokens("x = 1"),
            "line 4: generate returned None; expected ids: write `yield` for each id",
        ),
        (
            of_class(&format!("name = 'a\\nb'\n    {infer}")),
            "it contains `a\\nb`, which is not a short plain text",
        ),
        (
            class.replace("(4,)", "(1 << 30,)") + "    max_batch = 4096\n    " + infer,
            "17592186044416 bytes of shared memory: 17592186044416 bytes of memory are needed",
        ),
    ] {
        let engine = PythonEngine::new("");
        engine.write("engine.py", &source);
        let log =
            engine.try_node(&["--engine-start-timeout", "2s", "--engine-timeout", "2500ms"]).err();
        let log = log.unwrap_or_else(|| panic!("it starts: {source}"));
        assert!(log.contains("engine.py") && log.contains(words), "{words}: {log}");
    }
}

#[test]
fn files_that_never_end_are_refused_by_their_kind() {
    let engine = PythonEngine::new(SUM);
    let (pipe, folder) = (engine.path("weights/pipe"), engine.path("weights"));
    fs::create_dir(&folder).expect("a writable folder");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("Linux has it").success());
    for (file, kind) in [(&*pipe, "a pipe"), ("/dev/zero", "a device"), (&*folder, "a folder")] {
        let words = format!("{file}: it is {kind}; name a regular file");
        assert_refused(try_node(file, &[]), &words);
    }
    // Also in a folder of weights.
    for (weights, file) in [(&*pipe, &*pipe), ("/dev/zero", "/dev/zero"), (&*folder, &*pipe)] {
        let text = SUM.replace("max_batch", &format!("weights = {weights:?}\n    max_batch"));
        engine.write("engine.py", text.trim_start());
        let words = format!("engine.py, line 4: class Sum: weights: {file}: it is a ");
        assert_refused(engine.try_node(&[]), &words);
    }
}

#[test]
fn interpreters_that_do_not_suit_are_named() {
    let engine = PythonEngine::new(SUM);
    let script = |name: &str, boot: &str| {
        let python = format!("python3 -S -c \"import sys\n{boot}\nexec(sys.argv[1])\" \"$2\"\n");
        let path = engine.write(name, &format!("#!/bin/sh\nexec {python}"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("a writable path");
        path
    };
    // An old interpreter, and one without NumPy.
    for (python, words) in [
        (
            script("old-python", "sys.version_info = (3, 8, 1)"),
            "is Python 3.8.1; expected 3.9 or later",
        ),
        (script("plain-python", ""), "-m pip install numpy"),
        ("/nowhere/python".into(), "cannot start /nowhere/python: No such file or directory"),
    ] {
        let file = engine.path("engine.py");
        let args = ["--engine", "python", "--model", &file, "--python", &python];
        // No interpreter starts for this.
        sut_node(&[&args[..], &["--print-config"]].concat()).expect(0);
        sut_node(&[&args[..], &["--check"]].concat()).expect_text(2, words);
    }
    let log = engine.try_node(&["--max-batch", "17"]).expect_err("more than the class declares");
    assert!(log.contains("--max-batch 17") && log.contains("declares max_batch = 16"), "{log}");
}

/// Manifest of [`SUM`].
const SUM_MANIFEST: &str = "
precision = 'fp16'
weights = 'ours'
encodings = ['zstd']

[batching.offline]
max_batch = 4
";

#[test]
fn a_manifest_beside_the_file_adds_what_the_class_does_not_state() {
    let engine = PythonEngine::new(SUM);
    let manifest = |text: &str| engine.write("engine.toml", text);
    // Without encodings in the manifest, the node accepts all of them.
    manifest("weights = 'ours'");
    let zstd = |node: &SutNode| accuracy_run(node, "synthetic:8x64").args(&["--encoding", "zstd"]);
    zstd(&engine.node(&[])).run().expect(0);
    manifest(SUM_MANIFEST);
    let node = engine.node(&["--scenario", "offline"]);
    let refused = accuracy_run(&node, "synthetic:8x64").run();
    refused.expect_refusal("does not decode none; it accepts zstd");
    let result = zstd(&node).run().expect(0).result();
    let settings = result["evidence"]["nodes"]["a"]["settings"].as_str().expect("settings");
    let settings: toml::Table = settings.parse().expect("TOML");
    assert_eq!(settings["max_batch"].as_integer(), Some(4));
    let model = &settings["engine"]["model"];
    assert_eq!(model["precision"].as_str(), Some("fp16"));
    assert_eq!(model["encodings"][0].as_str(), Some("zstd"));
    // The manifest is also found beside the file that a link leads to.
    let folder = Folder::create();
    let link = folder.path("linked.py");
    std::os::unix::fs::symlink(engine.path("engine.py"), &link).expect("a link");
    let linked = try_node(&link, &["--scenario", "offline"]);
    linked.unwrap_or_else(|log| panic!("{log}"));
}

#[test]
fn faults_of_a_manifest_are_named() {
    let engine = PythonEngine::new(SUM);
    for (text, words) in [
        ("inputs = []", "unknown field `inputs`"),
        ("precision = 'fp17'", "unknown value `fp17`"),
        ("encodings = []", "encodings must not be empty"),
        ("[batching.server]\nmax_batches = 4", "did you mean max_batch"),
        ("[batching.servers]\nmax_batch = 4", "[batching.servers]: choose one of"),
        // Also of a scenario that is not chosen.
        (
            "[batching.server]\nmax_batch = 17",
            "[batching.server]: max_batch = 17 is more than max_batch = 16 of the class",
        ),
        ("[batching.default]\nbuckets = [4]", "[batching.default]: max_batch_tokens, buckets"),
    ] {
        engine.write("engine.toml", text);
        let log = engine.try_node(&[]).err().unwrap_or_else(|| panic!("it starts: {text}"));
        let place = format!("{}: it is read as the manifest of ", engine.path("engine.toml"));
        assert!(log.contains(&place) && log.contains(words), "{words}: {log}");
    }
    let path = engine.write("engine.toml", SUM_MANIFEST);
    let of_server = || engine.try_node(&["--scenario", "server"]);
    assert_refused(of_server(), "engine.toml has no table [batching.server]");
    fs::remove_file(&path).expect("a file");
    assert_refused(of_server(), &format!("--scenario server: there is no manifest {path}"));
    std::os::unix::fs::symlink("nowhere", &path).expect("a link");
    assert_refused(engine.try_node(&[]), "engine.toml: cannot be read");
}

#[test]
fn faults_of_infer_fail_the_batch_and_the_engine_goes_on() {
    for (body, words) in [
        ("raise ValueError('overheated')", "line 11: ValueError: overheated"),
        ("raise KeyboardInterrupt", "line 11: KeyboardInterrupt"),
        (
            "import asyncio; raise asyncio.CancelledError",
            "line 11: asyncio.exceptions.CancelledError",
        ),
        ("return [0] * (len(batch['sample']) + 1)", "line 9: infer returned"),
        (
            "return batch['sample']",
            "line 9: the output has the dtype uint8; sum is declared as int64",
        ),
        (
            "return np.zeros((len(batch['sample']), 2), np.int64)",
            "the output has the shape [2]; sum is declared as []",
        ),
        ("return None", "line 9: infer returned one value; expected one for each sample"),
        ("return {'total': 0}", "line 9: infer returned ['total']; expected 'sum'"),
    ] {
        let engine = PythonEngine::new(&sum_with(body));
        let mut node = engine.node(&[]);
        for _ in 0..2 {
            let run = accuracy_run(&node, "synthetic:8x64");
            run.run().expect_failure(words);
        }
        let (_, log) = node.stop();
        assert!(log.contains(words) && !log.contains("a stream broke"), "{log}");
    }
}

#[test]
fn what_an_engine_prints_is_in_the_log() {
    let text = SUM.replace(
        "def infer",
        "def load(self, context):\n        print('loading', flush=True)\n\n    def infer",
    );
    let engine = PythonEngine::new(&text);
    let mut node = engine.node(&[]);
    accuracy_run(&node, "synthetic:8x64").run().expect(0);
    let (code, log) = node.stop();
    assert_eq!(code, Some(0), "{log}");
    for words in
        ["loading", "python-0", "a batch of 15 zeros: ", "reserved shared memory", "bytes=2304"]
    {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn instances_start_side_by_side_and_the_node_logs_that_they_are_loading() {
    // The import of an instance ends once the other one has begun. The first import asks for the
    // declaration.
    let wait = "
import glob, os, time

mark = __file__ + '.mark'
is_first = not glob.glob(mark + '*')
open(f'{mark}{os.getpid()}', 'w').close()
while not is_first and len(glob.glob(mark + '*')) < 3:
    time.sleep(0.01)
";
    let load = "def load(self, context):\n        time.sleep(11)\n\n    def infer";
    let engine = PythonEngine::new(&[wait, &SUM.replace("def infer", load)].concat());
    let mut node = engine.node(&["--instances", "2"]);
    let (_, log) = node.stop();
    assert!(log.contains("still loading: 10 s"), "{log}");
}

#[test]
fn a_limit_of_files_that_holds_for_shared_memory_is_named() {
    let refused = ended(&PythonEngine::new(SUM), "ulimit -f 1", &[]);
    refused.expect_text(2, "2304 bytes of shared memory").expect_text(2, "ulimit -f");
}

#[test]
fn a_check_tries_the_engine_and_does_not_serve() {
    let wrong = SUM.replace("'int64'", "'int32'");
    let hangs = SUM.replace("return", "import time; time.sleep(60)\n        return");
    for (source, code, words) in [
        (SUM, 0, "engine: python\nmodel: Sum\nsha256: "),
        (wrong.as_str(), 2, "line 9: the output has the dtype int64; sum is declared as int32"),
        (hangs.as_str(), 2, "its trial made no progress within --engine-timeout, 3 s"),
    ] {
        let args = ["--check", "--engine-timeout", "3s"];
        ended(&PythonEngine::new(source), "true", &args).expect_text(code, words);
    }
    // So do other engines. A name that LoadGen nodes refuse is refused here.
    let folder = Folder::create();
    let sorting = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/sorting/sorting.toml");
    let text = fs::read_to_string(&sorting).expect("a description");
    let model = folder.write("own.toml", text.replace("\"sorting\"", "\"a\\nb\""));
    fs::copy(sorting.with_extension("onnx"), folder.path("own.onnx")).expect("a model");
    for (args, code, words) in [
        (["--engine", "none"], 0, "engine: none\n"),
        (["--model", "digits"], 0, "engine: onnx\nmodel: digits\n"),
        (["--engine=decoder", &format!("--model={model}")], 2, "it contains `a\\nb`, which is not"),
    ] {
        sut_node(&[&["--check"], &args[..]].concat()).expect_text(code, words);
    }
}

#[test]
fn the_end_of_a_worker_ends_the_node_at_once() {
    let engine = PythonEngine::new(SUM);
    let mut node = engine.node(&[]);
    let [worker] = children(node.id())[..] else { panic!("{:?}", children(node.id())) };
    send_signal(worker, "-KILL");
    let (code, log) = node.wait();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("its process ended, killed by signal 9"), "{log}");
    for (body, words) in [
        ("import os; os._exit(7)", "its process ended, exit code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
    ] {
        let engine = PythonEngine::new(&sum_with(body));
        let mut node = engine.node(&[]);
        let run = accuracy_run(&node, "synthetic:8x64");
        run.run().expect_failure(words);
        assert_eq!(node.wait().0, Some(1));
    }
}

#[test]
fn a_signal_before_the_node_is_ready_is_no_success() {
    let load = "def load(self, context):\n        import pathlib, time\n        pathlib.Path(__file__).with_suffix('.loading').touch()\n        time.sleep(600)\n\n    def infer";
    let engine = PythonEngine::new(&SUM.replace("def infer", load));
    let node = command("sut-node")
        .args(["--listen", "127.0.0.1:0", "--name", "a", "--engine", "python", "--python"])
        .arg(built_file("engine/bin/python"))
        .args(["--model", &engine.path("engine.py")])
        .stderr(Stdio::piped())
        .spawn()
        .expect("sut-node starts");
    wait_until("the engine loads", || Path::new(&engine.path("engine.loading")).exists());
    let workers = children(node.id());
    send_signal(node.id(), "-TERM");
    Ended::from(node.wait_with_output().expect("a child process"))
        .expect_text(1, "asked to end (SIGTERM) while it loaded its model");
    wait_until("the worker has ended", || !workers.iter().any(|worker| exists(*worker)));
}

#[test]
fn nothing_is_left_when_a_node_is_killed() {
    let text = sum_with("import time; time.sleep(600)").replace(
        "def infer(self, batch):",
        "def load(self, context):\n        import os, subprocess, time\n        subprocess.Popen(['sleep', '600'])\n        subprocess.Popen(['sleep', '600'], start_new_session=True)\n        self.child = os.fork()\n        if self.child == 0:\n            time.sleep(600)\n\n    def infer(self, batch):",
    );
    let engine = PythonEngine::new(&text);
    let node = engine.node(&["--instances", "2"]);
    let workers = children(node.id());
    assert_eq!(workers.len(), 2);
    let started: Vec<_> = workers.iter().flat_map(|worker| children(*worker)).collect();
    // A guard, two processes of another program, one with its own session, and a copy of the worker.
    assert!(started.len() >= 8, "{started:?}");
    // The worker is in a long call of `infer`.
    let run = accuracy_run(&node, "synthetic:8x64");
    let running = run.start();
    std::thread::sleep(Duration::from_millis(500));
    node.signal("-KILL");
    drop(running.wait());
    wait_until("workers and their children have ended", || {
        !workers.iter().chain(&started).any(|process| exists(*process))
    });
}

#[test]
fn a_worker_that_hangs_is_named_by_the_watchdog() {
    let engine = PythonEngine::new(&sum_with("import time; time.sleep(600)"));
    let mut node = engine.node(&["--engine-timeout", "1s"]);
    let run = accuracy_run(&node, "synthetic:8x64");
    run.run().expect_failure("longer than --engine-timeout allows");
    let worker = children(node.id())[0];
    node.stop();
    wait_until("the worker has ended", || !exists(worker));
}
