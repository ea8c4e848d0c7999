//! Engine plug-ins: one in C++ (`tests/plugin/doubler.cc`), built here as a submitter would build
//! it, and plug-ins that a node must refuse.

use std::process::Command;

use e2e::{LoadGen, SutNode, npy, plugin};
use loadgen_node::official_log::read_responses;

const MANIFEST: &str = include_str!("../plugin/doubler.toml");

/// A folder with the plug-in, a manifest and a model.
struct Toy(tempfile::TempDir);

impl Toy {
    fn new(macros: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let toy = Self(folder);
        plugin::build("doubler.cc", macros, &toy.path("libdoubler.so"));
        toy.write("toy.toml", MANIFEST);
        toy.write("fixed.toml", &MANIFEST.replace("[\"n\"]", "[2]"));
        toy.write("factor.txt", include_str!("../plugin/factor.txt"));
        toy
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a path in UTF-8").into()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a writable path");
    }

    /// Starts a node on the first device, unless the arguments name another.
    fn start(&self, manifest: &str, args: &[&str]) -> Result<SutNode, String> {
        let (plugin, manifest) = (self.path("libdoubler.so"), self.path(manifest));
        let device: &[&str] =
            if args.contains(&"--devices") { &[] } else { &["--devices", "toy:0"] };
        let model = ["--engine", &plugin, "--model", &manifest];
        SutNode::try_start("a", &[&model, args, device].concat())
    }

    fn node(&self, manifest: &str, args: &[&str]) -> SutNode {
        self.start(manifest, args).unwrap_or_else(|log| panic!("{log}"))
    }
}

/// Asserts that a node doubles 200 samples of two numbers.
fn assert_doubles(node: &SutNode) {
    let run = LoadGen::new(&[&node.address], "offline");
    let numbers: Vec<f32> = (0..400_u16).map(f32::from).collect();
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let samples = run.file("numbers.npy", npy("<f4", "(200, 2)", bytes));
    let run = run.args(&["--benchmark", "x", "--dataset", &samples, "--mode", "accuracy"]);
    let outcome = run.run().expect(0);
    let responses = read_responses(&outcome.path("mlperf_log_accuracy.json")).expect("a log");
    assert_eq!(responses.len(), 200);
    for response in responses {
        let got: Vec<_> =
            response.data.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        let first = (response.qsl_idx * 2) as f32;
        assert_eq!(got, [first * 2.0, (first + 1.0) * 2.0], "sample {}", response.qsl_idx);
    }
}

#[test]
fn a_plugin_in_cpp_serves_samples() {
    let toy = Toy::new(&[]);
    assert_doubles(&toy.node("toy.toml", &["--max-batch", "7"]));
    assert_doubles(&toy.node("fixed.toml", &["--instances", "3", "--devices", "toy:0,toy:0"]));
    assert_doubles(&toy.node("fixed.toml", &["--batch-sizes", "4,16", "--max-batch", "13"]));
}

/// A node ignores the bytes at which later versions of the ABI have the functions for language
/// models.
#[test]
fn a_plugin_of_the_first_abi_still_serves_samples() {
    let size = "-DSIZE=__builtin_offsetof(netdiv_engine, wait)";
    let toy = Toy::new(&["-DABI=1", size, "-DTOKENS=(const netdiv_token_engine*)1"]);
    assert_doubles(&toy.node("toy.toml", &[]));
}

#[test]
fn a_batch_that_does_not_fit_is_run_again_in_parts() {
    // Without known lengths there is no warm-up that could detect it.
    let toy = Toy::new(&[]);
    let mut node = toy.node("toy.toml", &["--devices", "toy:small", "--max-batch", "16"]);
    assert_doubles(&node);
    node.signal("-TERM");
    let (_, log) = node.wait();
    assert!(log.contains("run again in halves") && log.contains("room for 3 rows"), "{log}");
}

/// Creates a folder with samples of one to three numbers, one per file.
fn mixed_samples(run: &LoadGen, count: usize, number: impl Fn(usize) -> f32) -> String {
    let folder = run.file("x", "").replace("/x", "/mixed");
    std::fs::create_dir(&folder).expect("a writable path");
    for n in 0..count {
        let length = n % 3 + 1;
        let bytes = number(n).to_le_bytes().repeat(length);
        let file = npy("<f4", &format!("({length},)"), bytes);
        std::fs::write(format!("{folder}/{n:03}.npy"), file).expect("a writable path");
    }
    folder
}

/// Each shape is a separate pass, and passes of two batches are in progress together.
#[test]
fn parts_of_a_batch_do_not_take_the_answers_of_others() {
    let toy = Toy::new(&[]);
    for device in ["toy:small", "toy:0"] {
        let node = toy.node("toy.toml", &["--devices", device, "--max-batch", "16"]);
        let run = LoadGen::new(&[&node.address], "offline");
        let samples = mixed_samples(&run, 200, |n| n as f32);
        let run = run.args(&["--benchmark", "x", "--dataset", &samples, "--mode", "accuracy"]);
        let outcome = run.run().expect(0);
        let responses = read_responses(&outcome.path("mlperf_log_accuracy.json")).expect("a log");
        assert_eq!(responses.len(), 200);
        for response in responses {
            let n = response.qsl_idx;
            let want = (n as f32 * 2.0).to_le_bytes().repeat(n % 3 + 1);
            assert_eq!(response.data, want, "sample {n}");
        }
    }
}

#[test]
fn a_sample_that_the_model_cannot_take_fails_alone() {
    let toy = Toy::new(&[]);
    let mut node = toy.node("toy.toml", &["--devices", "toy:picky", "--max-batch", "16"]);
    let run = LoadGen::new(&[&node.address], "offline");
    let samples = mixed_samples(&run, 48, |n| if n == 20 { -1.0 } else { n as f32 });
    run.args(&["--benchmark", "x", "--dataset", &samples, "--mode", "accuracy"])
        .run()
        .expect_failure("the model failed: a negative number");
    assert_doubles(&node);
    node.signal("-TERM");
    let (_, log) = node.wait();
    assert!(log.contains("run again in halves") && !log.contains("panic"), "{log}");
}

#[test]
fn a_batch_size_that_cannot_fit_is_refused_with_one_that_does() {
    let toy = Toy::new(&[]);
    let log = toy.start("fixed.toml", &["--devices", "toy:small", "--max-batch", "16"]);
    let log = log.expect_err("too large");
    assert!(log.contains("a batch of 16 does not fit") && log.contains("--max-batch 2"), "{log}");
    assert_doubles(&toy.node("fixed.toml", &["--devices", "toy:small", "--max-batch", "2"]));
}

#[test]
fn a_plugin_says_no_in_its_own_words() {
    let toy = Toy::new(&[]);
    let log = toy.start("toy.toml", &["--devices", "shelf"]).expect_err("no such device");
    assert!(
        log.contains("there is no device shelf; there is toy:0, toy:small and toy:picky"),
        "{log}"
    );
    toy.write("factor.txt", "two");
    let log = toy.start("toy.toml", &[]).expect_err("not a model");
    assert!(log.contains("the model file must hold one number"), "{log}");
}

#[test]
fn libraries_that_are_no_plugins_of_this_node_are_refused() {
    for (macros, want) in [
        (&["-DNO_ENTRY"][..], "does not export netdiv_engine_plugin"),
        (&["-DABI=0"], "has the plug-in ABI 0, but this node has 3; rebuild the plug-in"),
        (&["-DABI=4"], "has the plug-in ABI 4, but this node has 3; rebuild the node"),
        (&["-DSIZE=8"], "its table has 8 bytes"),
        (&["-DFINISH=nullptr"], "its `finish` is null"),
    ] {
        let log = Toy::new(macros).start("toy.toml", &[]).expect_err("must be refused");
        assert!(log.contains(want), "{log}");
    }
    let toy = Toy::new(&[]);
    toy.write("libdoubler.so", "not a library");
    let log = toy.start("toy.toml", &[]).expect_err("not a library");
    assert!(log.contains("cannot load") && log.contains("libdoubler.so"), "{log}");
    std::fs::remove_file(toy.path("libdoubler.so")).expect("a writable path");
    let log = toy.start("toy.toml", &[]).expect_err("no file");
    assert!(log.contains("cannot load"), "{log}");
}

#[test]
fn batch_settings_of_a_manifest_are_checked_and_used() {
    let toy = Toy::new(&[]);
    toy.write("batching.toml", &format!("{MANIFEST}\n[batching.server]\nmax_batch = 5\n"));
    let node = toy.node("batching.toml", &["--scenario", "server"]);
    let described = e2e::nodes(&[&node.address], std::time::Duration::from_secs(5));
    let text = String::from_utf8_lossy(&described.stdout).into_owned();
    assert!(text.contains("batches of up to 5"), "{text}");
    for (table, args, want) in [
        ("[batching.server]\nmax_bach = 5", &[][..], "`max_bach`: there is no such setting"),
        ("[batching.night]\nmax_batch = 5", &[], "choose one of offline, server"),
        ("[batching.ofline]\nmax_batch = 5", &[], "(did you mean offline?)"),
        ("", &["--scenario", "offline"], "has no table [batching.offline]"),
        ("", &["--buckets", "5"], "samples of tensors have no length"),
    ] {
        toy.write("bad.toml", &format!("{MANIFEST}\n{table}\n"));
        let log = toy.start("bad.toml", args).expect_err("must be refused");
        assert!(log.contains(want), "{log}");
    }
}

#[test]
fn the_engines_can_be_fed_without_a_network() {
    let toy = Toy::new(&[]);
    let numbers = toy.path("numbers.npy");
    std::fs::write(&numbers, npy("<f4", "(10, 2)", [0; 80])).expect("a writable path");
    let bench = |args: &[&str]| {
        let ran = Command::new(e2e::process::program("sut-node"))
            .args(["bench", "--seconds", "0.2", "--name", "x"])
            .args(args)
            .output()
            .expect("sut-node starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (ran.status.success(), text(ran.stdout), text(ran.stderr))
    };
    let (plugin, manifest) = (toy.path("libdoubler.so"), toy.path("fixed.toml"));
    let engine = ["--engine", &plugin, "--model", &manifest, "--devices", "toy:0"];
    let (well, stdout, stderr) = bench(&[&engine[..], &["--dataset", &numbers]].concat());
    assert!(well && stdout.contains("samples per second"), "{stdout}{stderr}");
    let (well, _, stderr) = bench(&[&engine[..], &["--dataset", "digits"]].concat());
    assert!(!well && stderr.contains("the data set holds uint8[1, 8, 8]"), "{stderr}");
    let (well, _, stderr) = bench(&["--engine", "none", "--dataset", "digits"]);
    assert!(!well && stderr.contains("cannot run without a network; use echo"), "{stderr}");
}

#[test]
fn devices_of_a_plugin_are_shown() {
    let toy = Toy::new(&[]);
    let ran = Command::new(e2e::process::program("sut-node"))
        .args(["devices", "--engine", &toy.path("libdoubler.so")])
        .output()
        .expect("sut-node starts");
    let text = String::from_utf8(ran.stdout).expect("text");
    assert!(text.contains("toy:0") && text.contains("not usable: not plugged in"), "{text}");
}
