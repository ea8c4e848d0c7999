//! A device that computes asynchronously, like a GPU (`tests/plugin/device.cc`): the start of its
//! batches, its allocations, and its loss.

use e2e::{LoadGen, SutNode, assert_refused, npy, plugin::Plugin, process::wait_until};

const MANIFEST: &str = r#"
name = "device"
model = "device.txt"
workload = "tensors"
precision = "fp32"

[[inputs]]
name = "numbers"
data_type = "float32"
shape = [2]

[[outputs]]
name = "numbers"
data_type = "float32"
shape = [2]
"#;

/// Name of the manifest.
const TOML: &str = "device.toml";

fn device(model: &str, macros: &[&str]) -> Plugin {
    Plugin::build("device", macros, &[(TOML, MANIFEST), ("device.txt", model)])
}

/// Returns the calls to the device, in order.
fn trace(device: &Plugin) -> Vec<String> {
    device.folder.read("trace").lines().map(ToOwned::to_owned).collect()
}

/// Creates a run of samples of two numbers.
fn run(node: &SutNode, scenario: &str) -> LoadGen {
    let run = LoadGen::new(&[&node.address], scenario);
    let samples = run.file("numbers.npy", npy("<f4", "(100, 2)", [0; 800]));
    run.data("x", &samples)
}

#[test]
fn a_batch_is_begun_while_the_one_before_it_computes() {
    let device = device("ms 1 company", &[]);
    let node = device.node(TOML, &["--max-batch", "1"]);
    run(&node, "server").short(500, 100).accuracy().run().expect(0);
    let trace = trace(&device);
    assert!(trace.contains(&"in company".to_owned()), "{trace:?}");
}

#[test]
fn every_slot_has_its_memory_before_the_node_is_ready() {
    let device = device("ms 1", &[]);
    let mut node = device.node(TOML, &["--max-batch", "8"]);
    run(&node, "offline").accuracy().run().expect(0);
    let (_, log) = node.stop();
    // An unusable device is reported.
    assert!(log.contains("missing is not used: no driver"), "{log}");
    let trace = trace(&device);
    let begun = trace.iter().position(|line| line.starts_with("begin")).expect("batches");
    let (before, after) = trace.split_at(begun);
    assert!(after.contains(&"begin 1 of 8".to_owned()), "both slots are used: {after:?}");
    // Inputs and outputs of the largest batch, for two slots; no buffer is outgrown.
    let asked = |lines: &[String]| {
        lines.iter().filter(|line| line.starts_with("allocate")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(asked(before), vec!["allocate 64"; 4]);
    assert_eq!(asked(after), Vec::<String>::new());
}

#[test]
fn models_are_loaded_onto_several_devices_at_the_same_time_if_the_plugin_allows_it() {
    for (flags, expected) in [
        ("-DFLAGS=NETDIV_USABLE|NETDIV_PARALLEL_LOADS", "loaded together"),
        ("-DFLAGS=NETDIV_USABLE", "loaded alone"),
    ] {
        let together = device("ms 1 together", &[flags]);
        together.node(TOML, &["--devices", "device:0,device:0"]);
        let mut loads = trace(&together);
        loads.retain(|line| line.starts_with("loaded"));
        assert_eq!(loads, [expected; 2], "{flags}");
        let broken = device("ms 1 unknown", &[flags]);
        let refused = broken.try_node(TOML, &["--devices", "device:0,device:1"]);
        assert_refused(refused, "device:0: the model");
    }
}

#[test]
fn on_a_device_where_new_sizes_stall_batches_are_filled_up_to_powers_of_two() {
    let all = ["warm_up 6", "warm_up 4", "warm_up 2", "warm_up 1"];
    for (flags, args, expected, published) in [
        (
            "-DFLAGS=NETDIV_USABLE|NETDIV_NEW_SIZES_STALL",
            &["--max-batch", "6"][..],
            &all[..],
            "[1, 2, 4, 6]",
        ),
        (
            "-DFLAGS=NETDIV_USABLE|NETDIV_NEW_SIZES_STALL",
            &["--max-batch", "6", "--batch-sizes", "3"],
            &["warm_up 6", "warm_up 3"],
            "[3, 6]",
        ),
        ("-DFLAGS=NETDIV_USABLE", &["--max-batch", "6"], &["warm_up 6", "warm_up 1"], "[]"),
    ] {
        let device = device("ms 1", &[flags]);
        let mut node = device.node(TOML, &[args, &["--devices", "device:0"]].concat());
        let result = run(&node, "offline").accuracy().run().expect(0).result();
        let settings = result["evidence"]["nodes"]["a"]["settings"].as_str().expect("a text");
        assert!(settings.contains(&format!("batch_sizes = {published}\n")), "{settings}");
        let (_, log) = node.stop();
        let trace = trace(&device);
        let warm: Vec<_> = trace.iter().filter(|line| line.starts_with("warm_up")).collect();
        assert_eq!(warm, expected, "{log}");
        assert_eq!(log.contains("choose others with --batch-sizes"), expected == all, "{log}");
        let is_warm = |line: &String| {
            let size = line.rsplit(' ').next().unwrap_or_default();
            expected.contains(&format!("warm_up {size}").as_str())
        };
        let begun: Vec<_> = trace.iter().filter(|line| line.starts_with("begin")).collect();
        assert!(!begun.is_empty());
        assert!(flags == "-DFLAGS=NETDIV_USABLE" || begun.into_iter().all(is_warm), "{trace:?}");
    }
}

#[test]
fn a_lost_device_ends_the_run_and_the_node_with_its_reason() {
    let lost = "the device is lost: an illegal memory access was encountered";
    for (model, scenario, args) in [
        ("ms 2 lost 9", "offline", &["--max-batch", "4"][..]),
        ("ms 2 lost 3", "server", &["--max-batch", "1"]),
        ("ms 2 lost 5", "offline", &["--max-batch", "2", "--instances", "2"]),
    ] {
        let device = device(model, &[]);
        let mut node = device.node(TOML, args);
        run(&node, scenario).short(2000, 400).run().expect_failure(lost);
        let (code, log) = node.wait();
        assert_eq!(code, Some(1), "{log}");
        assert!(log.contains(lost) && log.contains("Restart the node"), "{log}");
        assert!(!log.contains("run again in halves") && !log.contains("on a lost device"), "{log}");
    }
}

#[test]
fn a_device_that_is_lost_during_a_drain_is_the_end_of_the_node() {
    let lost = "the device is lost: an illegal memory access was encountered";
    let device = device("ms 0 held lost 1", &[]);
    let mut node = device.node(TOML, &["--max-batch", "4"]);
    let running = run(&node, "offline").short(2000, 400).start();
    wait_until("a batch is begun", || trace(&device).iter().any(|line| line.starts_with("begin")));
    node.signal("-TERM");
    node.wait_for_log("asked to end");
    device.folder.write("go", "");
    running.wait().expect_failure(lost);
    let (code, log) = node.wait();
    assert_eq!(code, Some(1), "a drained node's code is 0: {log}");
    assert!(log.contains(lost) && log.contains("Restart the node"), "{log}");
}

#[test]
fn a_node_without_a_usable_device_does_not_start() {
    for (devices, words) in [(0, "it finds none"), (1, "missing is not usable (no driver)")] {
        let device = device("ms 1", &[&format!("-DDEVICES={devices}")]);
        let words = format!("the plug-in device has no device to run on: {words}");
        assert_refused(device.try_node(TOML, &[]), &words);
        // A device that the operator names is used, like a device that the plug-in finds.
        device.node(TOML, &["--devices", "device:0"]);
    }
}
