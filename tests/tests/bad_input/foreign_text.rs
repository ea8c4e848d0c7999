//! Text files from editors of other systems.

use e2e::{
    Folder, LoadGen, SutNode,
    process::{Ended, command},
};

/// Returns the name and the bytes of a text in each format that editors of other systems write.
fn written_elsewhere(text: &str) -> [(&'static str, Vec<u8>); 7] {
    let marked = format!("\u{feff}{text}");
    let utf16 = |bytes: fn(u16) -> [u8; 2]| marked.encode_utf16().flat_map(bytes).collect();
    [
        ("plain", text.into()),
        ("a byte order mark", marked.clone().into_bytes()),
        ("no-break spaces", text.replace(" = ", "\u{a0}= ").into_bytes()),
        ("CR LF", text.replace('\n', "\r\n").into_bytes()),
        ("CR", text.replace('\n', "\r").into_bytes()),
        ("UTF-16, little end first", utf16(u16::to_le_bytes)),
        ("UTF-16, big end first", utf16(u16::to_be_bytes)),
    ]
}

/// Starts a program on a file. Returns true if it accepts the file, and its output.
type FileReader<'a> = &'a dyn Fn(&str) -> (bool, String);

#[test]
fn text_from_other_systems_is_read_alike_or_refused_by_its_place() {
    let node = SutNode::echo("a", &[]);
    let folder = Folder::create();
    let say = |name: &str, args: &[&str]| {
        let ended = Ended::of(command(name).args(args));
        (ended.code == Some(0), ended.said())
    };
    // LoadGen's log shows the values it read.
    let run = |option: &str, path: &str, more: &[&str]| {
        let run = LoadGen::new(&[&node.address], "server").args(more);
        let outcome = run
            .args(&["--benchmark", "digits"])
            .set("min_duration_ms=100")
            .set("min_query_count=20")
            .set("server_target_latency_ns=1000000000")
            .args(&[option, path])
            .run();
        (outcome.code != Some(2), outcome.read("mlperf_log_detail.txt") + &outcome.stderr)
    };
    let sut_node = |options: &[&str]| say("sut-node", &[&["--print-config"], options].concat());
    let served =
        "name = \"mine\"\nvocabulary = 100\nmax_input_tokens = 9\nmax_tokens = 4\neos = [2]\n";
    let manifest = include_str!("../../models/digits.toml");
    folder.write("digits.pt", "");
    let kinds: [(&str, &str, FileReader<'_>); 10] = [
        ("correct-horse-battery-staple\n", "token_file = ", &|path| {
            sut_node(&["--engine", "echo", "--token-file", path])
        }),
        ("container_image = \"mine\"\n", "evidence = ", &|path| {
            sut_node(&["--engine", "echo", "--evidence", path])
        }),
        (served, "model = ", &|path| {
            sut_node(&["--engine", "openai", "--url", "http://127.0.0.1:9", "--model", path])
        }),
        (manifest, "model = ", &|path| sut_node(&["--engine", "torch", "--model", path])),
        ("submitted_by = \"mine\"\n", "submitted_by", &|path| {
            let output = ["--output", &folder.path("tree")];
            let args = [&["submission", "--settings", path], &output[..]].concat();
            let (_, said) = say("loadgen-node", &args);
            (!said.contains("a NUL"), said)
        }),
        (
            "benchmark = \"digits\"\nencoding = \"zstd\"\nscenario = \"offline\"\n",
            "zstd",
            &|path| {
                say(
                    "loadgen-node",
                    &["run", "--config", path, "--nodes", &node.address, "--print-config"],
                )
            },
        ),
        ("engine = \"echo\"\nmax_batch = 37\n", "37", &|path| {
            say("sut-node", &["--config", path, "--print-config"])
        }),
        (&format!("# one = node\n{}\n", node.address), &node.address, &|path| {
            say("loadgen-node", &["nodes", "--nodes", &format!("@{path}")])
        }),
        (
            "*.Server.target_qps = 437\n# x\n",
            "\"requested_server_target_qps\", \"value\": 437",
            &|path| run("--user-conf", path, &[]),
        ),
        (
            "*.Server.min_query_count = 23\n# x\n",
            "\"effective_min_query_count\", \"value\": 23",
            &|path| run("--audit-config", path, &["--setting", "server_target_qps=1000"]),
        ),
    ];
    for (text, want, reads) in kinds {
        for (form, bytes) in written_elsewhere(text) {
            let (is_taken, said) = reads(&folder.write("text.toml", bytes));
            assert!(is_taken && said.contains(want), "{form}: {text}: {said}");
        }
        let unmarked: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (is_taken, said) = reads(&folder.write("text.toml", unmarked));
        assert!(!is_taken && said.contains("line 1, character 2: a NUL"), "{text}: {said}");
    }
}
