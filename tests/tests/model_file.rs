//! `loadgen-node model`: the file of a language model, from a checkpoint.

use std::fs;

use e2e::{
    Folder,
    process::{Ended, command},
};
use serde_json::json;

/// Runs a program in a folder.
fn ended(folder: &Folder, name: &str, args: &[&str]) -> Ended {
    Ended::of(command(name).current_dir(folder.root()).args(args))
}

/// Writes a checkpoint with the files that a language model has on Hugging Face.
fn checkpoint(folder: &Folder, name: &str) {
    let write = |file: &str, text: String| folder.write(&format!("{name}/{file}"), text);
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
    let folder = Folder::create();
    checkpoint(&folder, "Llama-3.1-8B-Instruct");
    let make = ["model", "Llama-3.1-8B-Instruct", "--benchmark", "llama3.1-8b"];
    let made = ended(&folder, "loadgen-node", &make).expect(0);
    assert_eq!(made.stdout, "wrote llama3.1-8b.toml\n");
    let file: toml::Table = folder.read("llama3.1-8b.toml").parse().expect("TOML");
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
    ended(&folder, "sut-node", &node).expect(0);
    ended(&folder, "loadgen-node", &make).expect_text(2, "llama3.1-8b.toml: it exists already");
    // Outputs of this benchmark are sampled.
    let make = ["model", "Llama-3.1-8B-Instruct", "--benchmark", "gpt-oss-120b"];
    ended(&folder, "loadgen-node", &make).expect(0);
    let file: toml::Table = folder.read("gpt-oss-120b.toml").parse().expect("TOML");
    let [sampled, most] = ["sampled", "max_tokens"].map(|key| file[key].to_string());
    assert_eq!((&sampled[..], &most[..]), ("true", "32768"));
}

#[test]
fn what_a_checkpoint_lacks_is_asked_for() {
    let folder = Folder::create();
    let own = folder.root();
    let replace = |name: &str, text: &str| drop(folder.write(name, text));
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
        checkpoint(&folder, ".");
        change();
        let benchmark = ["--benchmark", "llama3.1-8b"];
        let benchmark = if args.contains(&"--benchmark") { &[][..] } else { &benchmark };
        let args = [&["model", ".", "--output", "m.toml"], benchmark, args].concat();
        ended(&folder, "loadgen-node", &args).expect_text(2, words);
        assert!(!own.join("m.toml").exists(), "{args:?}");
    }
    // A smaller model is for practice.
    replace("config.json", r#"{"vocab_size": 512, "max_position_embeddings": 64}"#);
    replace("tokenizer.json", "{}");
    let args = ["model", ".", "--benchmark", "llama3.1-8b", "--eos", "2", "--output", "m.toml"];
    ended(&folder, "loadgen-node", &args)
        .expect_text(0, "a submission needs the benchmark's model")
        .expect_text(0, "has room for 64 tokens");
}
