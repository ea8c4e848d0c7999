//! Engine plug-ins: one in C++ (`tests/plugin/doubler.cc`), built here as a submitter would build
//! it, and plug-ins that a node must refuse.

use e2e::{
    LoadGen, SutNode, assert_refused, npy,
    plugin::Plugin,
    process::{Ended, sut_node},
};

const MANIFEST: &str = include_str!("../plugin/doubler.toml");

/// The plug-in with two manifests and a model.
struct Toy(Plugin);

impl Toy {
    fn new(macros: &[&str]) -> Self {
        let fixed = MANIFEST.replace("[\"n\"]", "[2]");
        let factor = include_str!("../plugin/factor.txt");
        let files = [("toy.toml", MANIFEST), ("fixed.toml", &fixed), ("factor.txt", factor)];
        Self(Plugin::build("doubler", macros, &files))
    }

    fn write(&self, name: &str, text: &str) {
        self.0.folder.write(name, text);
    }

    /// Starts a node on the first device, unless the arguments name another.
    fn start(&self, manifest: &str, args: &[&str]) -> Result<SutNode, String> {
        let device: &[&str] =
            if args.contains(&"--devices") { &[] } else { &["--devices", "toy:0"] };
        self.0.try_node(manifest, &[args, device].concat())
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
    let run = run.data("x", &samples).accuracy();
    let responses = run.run().expect(0).responses();
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

#[test]
fn a_batch_that_does_not_fit_is_run_again_in_parts() {
    // Without known lengths there is no warm-up that could detect it.
    let toy = Toy::new(&[]);
    let mut node = toy.node("toy.toml", &["--devices", "toy:small", "--max-batch", "16"]);
    assert_doubles(&node);
    let (_, log) = node.stop();
    assert!(log.contains("run again in halves") && log.contains("room for 3 rows"), "{log}");
}

/// Creates a folder with samples of one to three numbers, one per file.
fn mixed_samples(run: &LoadGen, count: usize, number: impl Fn(usize) -> f32) -> String {
    for n in 0..count {
        let length = n % 3 + 1;
        let bytes = number(n).to_le_bytes().repeat(length);
        run.file(&format!("mixed/{n:03}.npy"), npy("<f4", &format!("({length},)"), bytes));
    }
    run.folder().join("mixed").display().to_string()
}

/// Each shape is a separate pass, and passes of two batches are in progress together.
#[test]
fn parts_of_a_batch_do_not_take_the_answers_of_others() {
    let toy = Toy::new(&[]);
    for device in ["toy:small", "toy:0"] {
        let node = toy.node("toy.toml", &["--devices", device, "--max-batch", "16"]);
        let run = LoadGen::new(&[&node.address], "offline");
        let samples = mixed_samples(&run, 200, |n| n as f32);
        let run = run.data("x", &samples).accuracy();
        let responses = run.run().expect(0).responses();
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
    run.data("x", &samples).accuracy().run().expect_failure("the model failed: a negative number");
    assert_doubles(&node);
    let (_, log) = node.stop();
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
    let words = "there is no device shelf; there is toy:0, toy:small and toy:picky";
    assert_refused(toy.start("toy.toml", &["--devices", "shelf"]), words);
    toy.write("factor.txt", "two");
    assert_refused(toy.start("toy.toml", &[]), "the model file must hold one number");
}

#[test]
fn libraries_that_are_no_plugins_of_this_node_are_refused() {
    for (macros, want) in [
        (&["-DNO_ENTRY"][..], "does not export netdiv_engine_plugin"),
        (&["-DABI=0"], "has the plug-in ABI 0, but this node has 3; rebuild the plug-in"),
    ] {
        assert_refused(Toy::new(macros).start("toy.toml", &[]), want);
    }
    let toy = Toy::new(&[]);
    toy.write("libdoubler.so", "not a library");
    let log = toy.start("toy.toml", &[]).expect_err("not a library");
    assert!(log.contains("cannot load") && log.contains("libdoubler.so"), "{log}");
    std::fs::remove_file(&toy.0.library).expect("a writable path");
    assert_refused(toy.start("toy.toml", &[]), "cannot load");
}

#[test]
fn batch_settings_of_a_manifest_are_checked_and_used() {
    let toy = Toy::new(&[]);
    toy.write("batching.toml", &format!("{MANIFEST}\n[batching.server]\nmax_batch = 5\n"));
    let node = toy.node("batching.toml", &["--scenario", "server"]);
    let described = e2e::nodes(&[&node.address], std::time::Duration::from_secs(5));
    assert!(described.stdout.contains("batches of up to 5"), "{described:#?}");
    for (table, args, want) in [
        ("[batching.server]\nmax_bach = 5", &[][..], "`max_bach`: there is no such setting"),
        ("[batching.night]\nmax_batch = 5", &[], "choose one of offline, server"),
        ("[batching.ofline]\nmax_batch = 5", &[], "(did you mean offline?)"),
        ("", &["--scenario", "offline"], "has no table [batching.offline]"),
        ("", &["--buckets", "5"], "samples of tensors have no length"),
    ] {
        toy.write("bad.toml", &format!("{MANIFEST}\n{table}\n"));
        assert_refused(toy.start("bad.toml", args), want);
    }
}

#[test]
fn the_engines_can_be_fed_without_a_network() {
    let toy = Toy::new(&[]);
    let numbers = toy.0.folder.write("numbers.npy", npy("<f4", "(10, 2)", [0; 80]));
    let bench = |args: &[&str]| -> Ended {
        sut_node(&[&["bench", "--seconds", "0.2", "--name", "x"], args].concat())
    };
    let (plugin, manifest) = (&toy.0.library, toy.0.folder.path("fixed.toml"));
    let engine = ["--engine", plugin, "--model", &manifest, "--devices", "toy:0"];
    bench(&[&engine[..], &["--dataset", &numbers]].concat()).expect_text(0, "samples per second");
    for (args, words) in [
        ([&engine[..], &["--dataset", "digits"]].concat(), "the data set holds uint8[1, 8, 8]"),
        (vec!["--engine", "none", "--dataset", "digits"], "cannot run without a network; use echo"),
    ] {
        let refused = bench(&args);
        assert!(refused.code != Some(0) && refused.stderr.contains(words), "{refused:#?}");
    }
    let text = sut_node(&["devices", "--engine", plugin]).expect(0).stdout;
    assert!(text.contains("toy:0") && text.contains("not usable: not plugged in"), "{text}");
}
