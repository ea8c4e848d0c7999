//! `loadgen-node model`: the file of a language model, from a checkpoint.

use std::{fs, path::Path, process::Command};

use e2e::process::program;
use serde_json::json;

/// Runs a program in a folder. Returns the exit code, standard output and standard error.
fn ended(folder: &Path, name: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(program(name)).current_dir(folder).args(args).output();
    let output = output.expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Writes a checkpoint with the files that a language model has on Hugging Face.
fn checkpoint(folder: &Path) {
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).expect("a writable path");
    };
    let config =
        json!({"vocab_size": 128_256, "eos_token_id": 1, "max_position_embeddings": 131_072});
    write("config.json", config.to_string());
    let ends = json!({"eos_token_id": [128_001, 128_008, 128_009]});
    write("generation_config.json", ends.to_string());
    let tokenizer = json!({
        "added_tokens": [{"id": 128_255, "content": "<|last|>"}],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}},
    });
    write("tokenizer.json", tokenizer.to_string());
    write("model-00002-of-00002.safetensors", "second".into());
    write("model-00001-of-00002.safetensors", "first".into());
}

#[test]
fn a_checkpoint_becomes_a_file_that_a_node_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let weights = folder.path().join("Llama-3.1-8B-Instruct");
    fs::create_dir(&weights).expect("a writable folder");
    checkpoint(&weights);
    let make = ["model", "Llama-3.1-8B-Instruct", "--benchmark", "llama3.1-8b"];
    let (code, said, stderr) = ended(folder.path(), "loadgen-node", &make);
    assert_eq!((code, &said[..]), (Some(0), "wrote llama3.1-8b.toml\n"), "{stderr}");
    let text = fs::read_to_string(folder.path().join("llama3.1-8b.toml")).expect("a file");
    let file: toml::Table = text.parse().expect("TOML");
    let sha256 = netdiv_node_common::resources::files::sha256_of([&b"first"[..], b"second"]);
    assert_eq!(file["name"].as_str(), Some("Llama-3.1-8B-Instruct"));
    assert_eq!(file["sha256"].as_str(), Some(&sha256[..]));
    assert_eq!(file["vocabulary"].as_integer(), Some(128_256));
    assert_eq!(file["max_tokens"].as_integer(), Some(128));
    let ends = toml::Value::from(vec![128_001, 128_008, 128_009]);
    assert_eq!(file["eos"], ends);
    // The base of the OpenAI API is accepted as an address.
    let url = "http://127.0.0.1:1/v1";
    let node =
        ["--engine", "openai", "--url", url, "--model", "llama3.1-8b.toml", "--print-config"];
    let (code, _, stderr) = ended(folder.path(), "sut-node", &node);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, stderr) = ended(folder.path(), "loadgen-node", &make);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("llama3.1-8b.toml: it exists already"), "{stderr}");
}

#[test]
fn what_a_checkpoint_lacks_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path();
    let replace = |name: &str, text: &str| fs::write(own.join(name), text).expect("writable");
    let config = r#"{"vocab_size": 128256, "eos_token_id": 1}"#;
    type Change<'a> = &'a dyn Fn();
    let rows: [(Change<'_>, &[&str], &str); 10] = [
        (
            &|| fs::remove_file(own.join("config.json")).expect("a file"),
            &[],
            "give the folder of a checkpoint",
        ),
        (&|| replace("config.json", "{"), &[], "config.json: not JSON"),
        (&|| replace("config.json", "{}"), &[], "give --vocabulary N"),
        (
            &|| replace("config.json", r#"{"vocab_size": 7}"#),
            &[],
            "tokenizer.json has the id 128255",
        ),
        (
            &|| replace("generation_config.json", "{}"),
            &["--vocabulary", "1"],
            "the end-of-text id 1 is beyond",
        ),
        (
            &|| {
                replace("generation_config.json", "{}");
                replace("config.json", r#"{"vocab_size": 128256}"#);
            },
            &[],
            "give --eos IDS",
        ),
        (
            &|| {
                for number in 1..=2 {
                    let name = format!("model-0000{number}-of-00002.safetensors");
                    fs::remove_file(own.join(name)).expect("a file");
                }
            },
            &[],
            "give --sha256 HEX",
        ),
        (&|| replace("config.json", config), &["--sha256", "abc"], "write 64 digits"),
        (
            &|| replace("config.json", config),
            &["--benchmark", "resnet50"],
            "its outputs are not tokens",
        ),
        (
            &|| replace("config.json", config),
            &["--benchmark", "llama"],
            "there is no benchmark llama",
        ),
    ];
    for (change, args, words) in rows {
        checkpoint(own);
        change();
        let benchmark = ["--benchmark", "llama3.1-8b"];
        let benchmark = if args.contains(&"--benchmark") { &[][..] } else { &benchmark };
        let args = [&["model", ".", "--output", "m.toml"], benchmark, args].concat();
        let (code, _, stderr) = ended(own, "loadgen-node", &args);
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{words}: {stderr}");
        assert!(!own.join("m.toml").exists());
    }
    // A smaller model is for practice.
    replace("config.json", r#"{"vocab_size": 512, "max_position_embeddings": 64}"#);
    replace("tokenizer.json", "{}");
    let args = ["model", ".", "--benchmark", "llama3.1-8b", "--eos", "2", "--output", "m.toml"];
    let (code, said, stderr) = ended(own, "loadgen-node", &args);
    assert_eq!(code, Some(0), "{stderr}");
    for words in ["a submission needs the benchmark's model", "has room for 64 tokens"] {
        assert!(said.contains(words), "{said}");
    }
}
