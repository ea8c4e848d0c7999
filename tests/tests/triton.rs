//! The engine `kserve` in front of a real Triton, with our own models (`tests/engines/triton`):
//! tensors, and tokens as they arrive.

use std::fs;

use e2e::{LoadGen, Outcome, SutNode, Triton, npy, triton::folder};
use loadgen_node::official_log::read_responses;
use netdiv_transport::security::make_certificates;
use serde_json::Value;

/// Starts a node in front of Triton, with a model's description.
fn try_node(triton: &Triton, model: &str, args: &[&str]) -> Result<SutNode, String> {
    let model = folder().join(model).display().to_string();
    let engine = ["--engine", "kserve", "--url", &triton.address, "--model", &model];
    SutNode::try_start("a", &[&engine, args].concat())
}

fn node(triton: &Triton, model: &str, args: &[&str]) -> SutNode {
    try_node(triton, model, args).unwrap_or_else(|log| panic!("{log}"))
}

/// Returns a pseudo-random byte.
fn byte(number: usize) -> u8 {
    (number.wrapping_mul(2_654_435_761) >> 13) as u8
}

#[test]
fn images_get_the_labels_that_the_model_gives_them() {
    let triton = Triton::start();
    for (scenario, args) in [
        ("offline", &["--max-batch", "32"][..]),
        ("server", &["--instances", "2", "--max-batch", "3"]),
    ] {
        let node = node(&triton, "scores.toml", args);
        let run = LoadGen::new(&[&node.address], scenario).short(500, 500);
        let bytes: Vec<_> = (0..300 * 64).map(byte).collect();
        let images = run.file("images.npy", npy("|u1", "(300, 1, 8, 8)", bytes.clone()));
        let run = run.args(&["--benchmark", "x", "--dataset", &images, "--mode", "accuracy"]);
        let outcome = run.run().expect(0);
        let framework = &outcome.result()["evidence"]["nodes"]["a"]["framework"];
        assert_eq!(framework, "triton 2.51.0");
        let answers = read_responses(&outcome.path("mlperf_log_accuracy.json")).expect("a log");
        assert_eq!(answers.len(), 300);
        for answer in answers {
            let image = bytes.chunks(64).nth(answer.qsl_idx).expect("an image");
            let label = image.iter().map(|byte| i32::from(*byte)).sum::<i32>() % 10;
            assert_eq!(answer.data, label.to_le_bytes(), "sample {}", answer.qsl_idx);
        }
    }
}

#[test]
fn tensors_of_any_length_come_back() {
    let triton = Triton::start();
    let node = node(&triton, "echo.toml", &[]);
    let run = LoadGen::new(&[&node.address], "offline");
    let folder = run.file("x", "").replace("/x", "/mixed");
    fs::create_dir(&folder).expect("a writable path");
    let numbers = |sample: usize| {
        let numbers = (0..sample * 100 + 1).map(move |place| (sample << 20 | place) as i32);
        numbers.flat_map(i32::to_le_bytes).collect::<Vec<_>>()
    };
    for sample in 0..50 {
        let file = npy("<i4", &format!("({},)", sample * 100 + 1), numbers(sample));
        fs::write(format!("{folder}/{sample:03}.npy"), file).expect("a writable path");
    }
    let run = run.args(&["--benchmark", "x", "--dataset", &folder, "--mode", "accuracy"]);
    let outcome = run.run().expect(0);
    let answers = read_responses(&outcome.path("mlperf_log_accuracy.json")).expect("a log");
    assert_eq!(answers.len(), 50);
    for answer in answers {
        assert!(answer.data == numbers(answer.qsl_idx), "sample {}", answer.qsl_idx);
    }
}

/// Writes a data set of these prompts.
fn prompts(run: &LoadGen, prompts: &[Vec<i32>]) -> String {
    let mut file = b"NDIDS001".to_vec();
    file.extend((prompts.len() as u64).to_le_bytes());
    let mut begin = 0_u64;
    file.extend(begin.to_le_bytes());
    for prompt in prompts {
        begin += prompt.len() as u64;
        file.extend(begin.to_le_bytes());
    }
    file.extend(prompts.iter().flatten().flat_map(|id| id.to_le_bytes()));
    run.file("prompts.ids", file)
}

/// Creates a run of prompts, in which LoadGen counts first tokens.
fn run_of(node: &SutNode, scenario: &str, mode: &str, given: &[Vec<i32>]) -> LoadGen {
    let run = LoadGen::new(&[&node.address], scenario);
    let dataset = prompts(&run, given);
    run.args(&["--benchmark", "chat", "--dataset", &dataset, "--mode", mode])
        .short(1000, 200)
        .args(&["--setting", "use_token_latencies=true"])
        .args(&["--setting", "server_ttft_latency=20000000000"])
        .args(&["--setting", "server_tpot_latency=20000000000"])
}

/// Returns the model's output to a prompt (`Speak` in `backend.cc`), of at most 12 tokens.
fn output(prompt: &[i32]) -> Vec<i32> {
    let sum: i32 = prompt.iter().sum();
    let stops = prompt[0] == STOPS;
    let id = |place: i32| match (sum + 7 * place) % 990 {
        2 => 3,
        id => id,
    };
    let mut ids: Vec<_> = (0..if stops { 5 } else { 12 }).map(id).collect();
    if stops {
        ids[4] = 2;
    }
    ids
}

// Behaviours that the first id of a prompt selects.
const FAILS: i32 = 990;
const NEVER_ENDS: i32 = 991;
const ENDS_WITH_TOKENS: i32 = 992;
const STOPS: i32 = 993;
const BREAKS_OFF: i32 = 994;

/// Returns the entries of LoadGen's accuracy log.
fn accuracy_log(outcome: &Outcome) -> Vec<Value> {
    serde_json::from_str(&outcome.read("mlperf_log_accuracy.json")).expect("a list")
}

fn hex(ids: &[i32]) -> String {
    ids.iter().flat_map(|id| id.to_le_bytes()).map(|byte| format!("{byte:02X}")).collect()
}

#[test]
fn tokens_come_as_the_model_gives_them() {
    let triton = Triton::start();
    let node = node(&triton, "tokens.toml", &["--instances", "2", "--max-batch", "16"]);
    let first = |n: usize| match n % 4 {
        0 => ENDS_WITH_TOKENS,
        1 => STOPS,
        _ => (n * 13 % 980) as i32,
    };
    let prompt = |n: usize| std::iter::once(first(n)).chain(0..(n % 60) as i32).collect();
    let given: Vec<Vec<i32>> = (0..200).map(prompt).collect();
    for scenario in ["offline", "server"] {
        let outcome = run_of(&node, scenario, "accuracy", &given).run().expect(0);
        let entries = accuracy_log(&outcome);
        assert_eq!(entries.len(), 200);
        for entry in entries {
            let want = output(&given[entry["qsl_idx"].as_u64().expect("an index") as usize]);
            assert_eq!(entry["data"], hex(&want), "{entry}");
            if scenario == "server" {
                assert_eq!(entry["token_data"], hex(&want[..1]), "{entry}");
            }
        }
    }
    let run = run_of(&node, "server", "performance", &given).args(&["--digests"]);
    let result = run.args(&["--setting", "min_query_count=700"]).run().expect(0).result();
    assert_eq!(result["digests"]["responses"]["differences"], 0, "{result:#}");
    let settings = result["evidence"]["nodes"]["a"]["settings"].as_str().expect("a text");
    assert!(settings.contains("prefix_caching = \"cannot-tell\""), "{settings}");
}

#[test]
fn a_stream_that_goes_wrong_fails_the_run_by_name() {
    let triton = Triton::start();
    let node = node(&triton, "tokens.toml", &["--url-timeout", "2s"]);
    for (first, words) in [
        (FAILS, "after 1 token: the server failed: injected failure"),
        (
            BREAKS_OFF,
            "after 5 tokens: the output was cut off after 5 tokens, before max_tokens = 12",
        ),
        (NEVER_ENDS, "after 12 tokens: no progress within --url-timeout"),
    ] {
        run_of(&node, "server", "accuracy", &[vec![7, 8], vec![first, 8]])
            .run()
            .expect_failure(words);
    }
    triton.wait_for_log("tokens: cancelled");
}

#[test]
fn requests_of_a_client_that_leaves_are_cancelled() {
    let triton = Triton::start();
    let node = node(&triton, "tokens.toml", &[]);
    let running = run_of(&node, "offline", "accuracy", &[vec![NEVER_ENDS]]).start();
    running.wait_for_test();
    triton.wait_for_log("tokens: asked for no end");
    assert!(!triton.log().contains("tokens: cancelled"));
    drop(running);
    triton.wait_for_log("tokens: cancelled");
}

#[test]
fn a_triton_that_is_killed_fails_the_run_and_serves_the_next_when_it_is_back() {
    let triton = Triton::start();
    let (port, address) = (triton.port(), triton.address.clone());
    let node = node(&triton, "tokens.toml", &[]);
    let running = run_of(&node, "server", "accuracy", &[vec![NEVER_ENDS]]).start();
    triton.wait_for_log("tokens: asked for no end");
    drop(triton);
    running.wait().expect_failure(&address);
    // Without Triton a run fails; once another one is there, the node works without a restart.
    run_of(&node, "server", "accuracy", &[vec![7]]).run().expect_failure("tried 4 times");
    let _triton = Triton::start_at(port, &[]).expect("the port is free again");
    run_of(&node, "server", "accuracy", &[vec![7]]).run().expect(0);
}

#[test]
fn what_does_not_fit_is_refused_at_the_start() {
    let triton = Triton::start();
    let own = tempfile::tempdir().expect("a temporary folder");
    for (file, from, to, words) in [
        ("scores.toml", "\"scores\"", "\"scored\"", "the model is not ready"),
        ("scores.toml", "[1, 8, 8]", "[8, 8, 3]", "its input \"image\" is UINT8[-1, 1, 8, 8]"),
        ("scores.toml", "float32", "int64", "scores must be float32"),
        (
            "echo.toml",
            "\"int32\"",
            "\"int64\"",
            "its input \"x\" is INT32[-1], but the manifest states",
        ),
        ("echo.toml", "\"y\"", "\"z\"", "it has no output \"z\""),
        (
            "echo.toml",
            "\"x\"",
            "\"z\"",
            "it has the input \"x\", which is missing from the manifest",
        ),
        ("tokens.toml", "output_ids", "ids", "it has no output \"ids\""),
        ("tokens.toml", "input_ids =", "prompt =", "it has no input \"prompt\""),
        ("tokens.toml", "\"max_tokens\"\n", "1.5\n", "which cannot hold Float(1.5)"),
        ("tokens.toml", "max_tokens = \"max_tokens\"\n", "", "the server failed: "),
        ("tokens.toml", "\"prompt\"", "\"prompts\"", "give a number, true, false"),
    ] {
        let text = fs::read_to_string(folder().join(file)).expect("a file of the tests");
        assert!(text.contains(from), "{from}");
        let weights = folder().join("models").display().to_string();
        let text = text.replacen(from, to, 1).replace("\"models", &format!("\"{weights}"));
        let path = own.path().join(file);
        fs::write(&path, text).expect("a writable path");
        let path = path.display().to_string();
        let log = try_node(&triton, &path, &[]).expect_err("must be refused");
        assert!(log.contains(words), "{words}: {log}");
    }
    for (args, words) in [
        (["--openai-dialect", "sglang"], "--openai-dialect belongs to the engine openai"),
        (["--scenario", "server"], "--scenario belongs to the engine torch, a plug-in"),
        (["--buckets", "5"], "--buckets belongs to the engine torch, a plug-in"),
    ] {
        let log = try_node(&triton, "tokens.toml", &args).expect_err("must be refused");
        assert!(log.contains(words), "{words}: {log}");
    }
    let model = folder().join("tokens.toml").display().to_string();
    let log = SutNode::try_start("a", &["--engine", "kserve", "--model", &model]);
    assert!(log.expect_err("no address").contains("need --url"));
    let address = triton.address.clone();
    drop(triton);
    let args = ["--engine", "kserve", "--url", &address, "--model", &model];
    let log = SutNode::try_start("a", &args).expect_err("no server");
    assert!(log.contains(&address) && log.contains("refused"), "{log}");
}

#[test]
fn a_decoupled_model_that_is_taken_for_another_is_refused() {
    let triton = Triton::start();
    let own = tempfile::tempdir().expect("a temporary folder");
    let weights = folder().join("models/tokens/1/weights");
    let manifest = format!(
        "name = \"tokens\"\nmodel = {weights:?}\nworkload = \"tensors\"\nprecision = \"fp32\"\n\
         [[inputs]]\nname = \"input_ids\"\ndata_type = \"int32\"\nshape = [4]\n\
         [[inputs]]\nname = \"max_tokens\"\ndata_type = \"int32\"\nshape = [1]\n\
         [[outputs]]\nname = \"output_ids\"\ndata_type = \"int32\"\nshape = [4]\n"
    );
    let path = own.path().join("tokens.toml");
    fs::write(&path, manifest).expect("a writable path");
    let log = try_node(&triton, &path.display().to_string(), &[]).expect_err("must be refused");
    assert!(log.contains("Unimplemented: ") && log.contains("decoupled"), "{log}");
}

#[test]
fn servers_are_reached_over_tls() {
    let (own, other) = (certificates(), certificates());
    let of =
        |folder: &tempfile::TempDir, name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (of(&own, "localhost.pem"), of(&own, "localhost.key"));
    let tls = ["--grpc-use-ssl", "true", "--grpc-server-cert", &certificate];
    let triton = Triton::start_with(&[&tls[..], &["--grpc-server-key", &key]].concat());
    let url = format!("https://localhost:{}", triton.port());
    let model = folder().join("tokens.toml").display().to_string();
    let node = |url: &str, ca: &str| {
        let engine = ["--engine", "kserve", "--url", url, "--model", &model, "--url-ca", ca];
        SutNode::try_start("a", &engine)
    };
    let node_with = node(&url, &of(&own, "ca.pem")).unwrap_or_else(|log| panic!("{log}"));
    let outcome = run_of(&node_with, "server", "accuracy", &[vec![7, 8]]).run().expect(0);
    assert_eq!(accuracy_log(&outcome)[0]["data"], hex(&output(&[7, 8])));
    let log = node(&url, &of(&other, "ca.pem")).expect_err("another authority");
    assert!(log.contains("invalid peer certificate"), "{log}");
    let log = node(&triton.address, &of(&own, "ca.pem")).expect_err("no TLS");
    assert!(log.contains(&triton.address), "{log}");
}

/// Creates a folder with certificates of a new authority.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    make_certificates(folder.path(), &["localhost".into()]).expect("certificates");
    folder
}

#[test]
fn a_response_cache_is_found() {
    let triton = Triton::start();
    let own = tempfile::tempdir().expect("a temporary folder");
    let text = fs::read_to_string(folder().join("echo.toml")).expect("a file of the tests");
    let models = folder().join("models").display().to_string();
    let text = text.replace("name = \"echo\"", "name = \"cached\"");
    let path = own.path().join("cached.toml");
    fs::write(&path, text.replace("\"models", &format!("\"{models}"))).expect("a writable path");
    let mut node = node(&triton, &path.display().to_string(), &[]);
    node.signal("-TERM");
    let (_, log) = node.wait();
    assert!(log.contains("the server caches responses"), "{log}");
}
