//! The engine `kserve` in front of a real Triton, with our own models (`tests/engines/triton`):
//! tensors, and tokens as they arrive.

use std::fs;

use e2e::{Folder, LoadGen, SutNode, Triton, assert_refused, npy, triton::folder};
use netdiv_dataset::write_ids;
use netdiv_transport::security::make_certificates;

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
        let run = run.data("x", &images).accuracy();
        let outcome = run.run().expect(0);
        let framework = &outcome.result()["evidence"]["nodes"]["a"]["framework"];
        assert_eq!(framework, "triton 2.51.0");
        let answers = outcome.responses();
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
    let numbers = |sample: usize| {
        let numbers = (0..sample * 100 + 1).map(move |place| (sample << 20 | place) as i32);
        numbers.flat_map(i32::to_le_bytes).collect::<Vec<_>>()
    };
    for sample in 0..50 {
        let file = npy("<i4", &format!("({},)", sample * 100 + 1), numbers(sample));
        run.file(&format!("mixed/{sample:03}.npy"), file);
    }
    let folder = run.folder().join("mixed").display().to_string();
    let run = run.data("x", &folder).accuracy();
    let answers = run.run().expect(0).responses();
    assert_eq!(answers.len(), 50);
    for answer in answers {
        assert!(answer.data == numbers(answer.qsl_idx), "sample {}", answer.qsl_idx);
    }
}

/// Creates a run of prompts, in which LoadGen counts first tokens.
fn run_of(node: &SutNode, scenario: &str, mode: &str, given: &[Vec<i32>]) -> LoadGen {
    let run = LoadGen::new(&[&node.address], scenario);
    let mut prompts = Vec::new();
    write_ids(&mut prompts, given).expect("writes to memory");
    let dataset = run.file("prompts.ids", prompts);
    run.data("chat", &dataset).args(&["--mode", mode]).short(1000, 200).patient()
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
        let entries = outcome.accuracy_log();
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
    let result = run.set("min_query_count=700").run().expect(0).result();
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
    let own = Folder::create();
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
        assert_refused(try_node(&triton, &own.write(file, text), &[]), words);
    }
    for (args, words) in [
        (["--openai-dialect", "sglang"], "--openai-dialect belongs to the engine openai"),
        (["--scenario", "server"], "--scenario belongs to the engine torch, a plug-in"),
        (["--buckets", "5"], "--buckets belongs to the engine torch, a plug-in"),
    ] {
        assert_refused(try_node(&triton, "tokens.toml", &args), words);
    }
    let model = folder().join("tokens.toml").display().to_string();
    let started = SutNode::try_start("a", &["--engine", "kserve", "--model", &model]);
    assert_refused(started, "need --url");
    let address = triton.address.clone();
    drop(triton);
    let args = ["--engine", "kserve", "--url", &address, "--model", &model];
    let log = SutNode::try_start("a", &args).expect_err("no server");
    assert!(log.contains(&address) && log.contains("refused"), "{log}");
}

#[test]
fn a_decoupled_model_that_is_taken_for_another_is_refused() {
    let triton = Triton::start();
    let own = Folder::create();
    let weights = folder().join("models/tokens/1/weights");
    let manifest = format!(
        "name = \"tokens\"\nmodel = {weights:?}\nworkload = \"tensors\"\nprecision = \"fp32\"\n\
         [[inputs]]\nname = \"input_ids\"\ndata_type = \"int32\"\nshape = [4]\n\
         [[inputs]]\nname = \"max_tokens\"\ndata_type = \"int32\"\nshape = [1]\n\
         [[outputs]]\nname = \"output_ids\"\ndata_type = \"int32\"\nshape = [4]\n"
    );
    let started = try_node(&triton, &own.write("tokens.toml", manifest), &[]);
    let log = started.expect_err("must be refused");
    assert!(log.contains("Unimplemented: ") && log.contains("decoupled"), "{log}");
}

#[test]
fn servers_are_reached_over_tls() {
    let (own, other) = (certificates(), certificates());
    let (certificate, key) = (own.path("localhost.pem"), own.path("localhost.key"));
    let tls = ["--grpc-use-ssl", "true", "--grpc-server-cert", &certificate];
    let triton = Triton::start_with(&[&tls[..], &["--grpc-server-key", &key]].concat());
    let url = format!("https://localhost:{}", triton.port());
    let model = folder().join("tokens.toml").display().to_string();
    let node = |url: &str, ca: &str| {
        let engine = ["--engine", "kserve", "--url", url, "--model", &model, "--url-ca", ca];
        SutNode::try_start("a", &engine)
    };
    let node_with = node(&url, &own.path("ca.pem")).unwrap_or_else(|log| panic!("{log}"));
    let outcome = run_of(&node_with, "server", "accuracy", &[vec![7, 8]]).run().expect(0);
    assert_eq!(outcome.accuracy_log()[0]["data"], hex(&output(&[7, 8])));
    assert_refused(node(&url, &other.path("ca.pem")), "invalid peer certificate");
    // Triton does not serve without TLS.
    assert_refused(node(&triton.address, &own.path("ca.pem")), &triton.address);
}

/// Creates a folder with certificates of a new authority.
fn certificates() -> Folder {
    let folder = Folder::create();
    make_certificates(folder.root(), &["localhost".into()]).expect("certificates");
    folder
}

#[test]
fn a_response_cache_is_found() {
    let triton = Triton::start();
    let own = Folder::create();
    let text = fs::read_to_string(folder().join("echo.toml")).expect("a file of the tests");
    let models = folder().join("models").display().to_string();
    let text = text.replace("name = \"echo\"", "name = \"cached\"");
    let path = own.write("cached.toml", text.replace("\"models", &format!("\"{models}")));
    let mut node = node(&triton, &path, &[]);
    let (_, log) = node.stop();
    assert!(log.contains("the server caches responses"), "{log}");
}
