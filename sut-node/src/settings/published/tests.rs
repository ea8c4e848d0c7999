use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use clap::Args as _;
use netdiv_contract::layout::DataType;

use super::*;
use netdiv_node_common::words::PrefixCaching;
use netdiv_transport::security::make_certificates;

use crate::{
    engine::{
        list::EngineConfig,
        python::{
            load::{PythonConfig, PythonModel},
            manifest::PythonManifest,
        },
    },
    model::manifest::{Dimension, Shape},
    settings::args::Args,
    worker::declaration::{Declaration, DeclaredModel, DeclaredTensors},
};

const ECHO: &str = "engine = 'echo'";
const NONE: &str = "engine = 'none'";
const PEERS: &str = "engine = 'none'\nfabric_peers = ['localhost:7']";
const TOKENS: &str = "engine = 'tokens'";
const ONNX: &str = "engine = 'onnx'\nmodel = 'digits'";
const OPENAI: &str =
    "engine = 'openai'\nurl = ['http://127.0.0.1:8000']\nmodel = 'FOLDER/served.toml'";
const SAMPLED: &str =
    "engine = 'openai'\nurl = ['http://127.0.0.1:8000']\nmodel = 'FOLDER/sampled.toml'";
const KSERVE: &str =
    "engine = 'kserve'\nurl = ['http://127.0.0.1:8001']\nmodel = 'FOLDER/decoupled.toml'";
const DECODER: &str = "engine = 'decoder'\nmodel = 'FOLDER/served.toml'";
const TORCH: &str = "engine = 'torch'\nmodel = 'FOLDER/toy.toml'";

/// Keys that affect the responses. Each entry is a key, settings, and a value of the key. If the
/// value is added to the settings, the published text must change.
const DECIDE: [(&str, &str, &str); 37] = [
    ("transport", ECHO, "'quic'"),
    ("receive_window_bytes", ECHO, "1000000"),
    ("max_connections", ECHO, "5"),
    ("quic_mtu", ECHO, "1400"),
    ("instances", ECHO, "2"),
    ("max_in_flight_samples", ECHO, "77"),
    ("max_in_flight_bytes", ECHO, "77777"),
    ("max_in_flight_tokens", TOKENS, "7777"),
    ("max_payload_bytes", ECHO, "7777"),
    ("response_encoding", ECHO, "'lz4'"),
    ("io_threads", ECHO, "77"),
    ("pin", ECHO, "[0]"),
    ("busy_poll", ECHO, "true"),
    ("engine_timeout", ECHO, "'777ms'"),
    ("drain_timeout", ECHO, "'777ms'"),
    ("max_batch", ECHO, "7"),
    ("batch_timeout", ECHO, "'77us'"),
    ("max_batch_bytes", ECHO, "777"),
    ("echo_answer_bytes", ECHO, "7"),
    ("echo_batch", ECHO, "'7us'"),
    ("echo_sample", ECHO, "'7us'"),
    ("tokens_ttft", TOKENS, "'7us'"),
    ("tokens_tpot", TOKENS, "'7us'"),
    ("tokens_output", TOKENS, "'7-9'"),
    ("tokens_schedule", TOKENS, "'FOLDER/schedule'"),
    ("tokens_vocabulary", TOKENS, "77"),
    ("openai_dialect", OPENAI, "'sglang'"),
    ("url_timeout", OPENAI, "'7ms'"),
    ("sampling_seed", SAMPLED, "77"),
    ("postprocess", ONNX, "'none'"),
    ("threads", ONNX, "77"),
    ("threads", DECODER, "77"),
    ("devices", TORCH, "['cuda:0']"),
    ("workload_threads", TORCH, "77"),
    ("max_batch_tokens", TORCH, "77"),
    ("buckets", TORCH, "[77]"),
    ("batch_sizes", TORCH, "[7]"),
];

/// Like [`DECIDE`], but for keys that do not affect the responses: the published text must not
/// change.
const DO_NOT: [(&str, &str, &str); 14] = [
    ("listen", ECHO, "'127.0.0.1:7'"),
    ("name", ECHO, "'b'"),
    ("insecure", ECHO, "true"),
    ("metrics", ECHO, "'127.0.0.1:7'"),
    ("ready_file", ECHO, "'ready.json'"),
    ("token_file", ECHO, "'FOLDER/token'"),
    ("url_token_file", OPENAI, "'FOLDER/token'"),
    ("engine_start_timeout", OPENAI, "'7s'"),
    ("url_ca", OPENAI, "'FOLDER/ca.pem'"),
    ("evidence", ECHO, "'FOLDER/evidence.toml'"),
    ("libtorch", TORCH, "'/elsewhere'"),
    ("fabric_peers", NONE, "['localhost:7']"),
    ("fabric_ca", PEERS, "'FOLDER/ca.pem'"),
    ("fabric_token_file", PEERS, "'FOLDER/token'"),
];

/// Keys with special rules. Of the node's certificates, the published text states only whether the
/// node has them; certificates for other nodes are omitted. Of the serving engines, it states the
/// number. It describes a model by its manifest and SHA-256, and a scenario by its batch settings.
/// Another engine also changes the keys that the text contains. The path of an interpreter is
/// omitted, and no engine in Python runs here.
const APART: [&str; 10] = [
    "python",
    "tls_certificate",
    "tls_key",
    "tls_client_ca",
    "fabric_certificate",
    "fabric_key",
    "url",
    "model",
    "scenario",
    "engine",
];

const SERVED: &str =
    "name = 'toy'\nvocabulary = 100\nmax_input_tokens = 10\nmax_tokens = 10\neos = [2]\n";

const DECOUPLED: &str = "name = 'toy'\nvocabulary = 100\nmax_input_tokens = 10\nmax_tokens = 10\neos = [2]\n\
    output = 'ids'\n[inputs]\nx = 'prompt'\nlimit = 7\n";

const MANIFEST: &str = "name = 'toy'\nmodel = 'toy.pt'\nworkload = 'tensors'\nprecision = 'fp32'\n\
    inputs = [{ name = 'x', data_type = 'float32', shape = [2, 'n'] }]\n\
    outputs = [{ name = 'y', data_type = 'float32', shape = [2, 'n'] }]\n";

const LANGUAGE: &str = "name = 'toy'\nmodel = 'toy.pt'\nworkload = 'language-model'\nprecision = 'fp32'\nweights = 'ours'\n\
    [tokens]\nvocabulary = 100\nmax_input_tokens = 10\nmax_tokens = 20\neos = [2]\nslots = 3\nchunk = 4\ncache_mib = 5\n\
    beams = 6\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("toy.toml"), MANIFEST).unwrap();
    fs::write(folder.path().join("token"), "a-secret-that-is-long-enough-for-a-token").unwrap();
    fs::write(folder.path().join("evidence.toml"), "").unwrap();
    fs::write(folder.path().join("schedule"), "7,7,7").unwrap();
    fs::write(folder.path().join("served.toml"), SERVED).unwrap();
    let sampled = format!("{SERVED}sampled = true\n");
    fs::write(folder.path().join("sampled.toml"), sampled).unwrap();
    make_certificates(folder.path(), &[]).unwrap();
    folder
}

fn published(folder: &Path, settings: &str) -> String {
    let settings = settings.replace("FOLDER", &folder.display().to_string());
    let mut table: toml::Table = toml::from_str(&settings).unwrap();
    table.entry("name").or_insert("a".into());
    let args = Args::of(&toml::to_string(&table).unwrap());
    published_text(&args.resolve().unwrap(), None).unwrap()
}

fn with(base: &str, key: &str, value: &str) -> String {
    format!("{key} = {value}\n{base}")
}

#[test]
fn what_decides_the_answers_changes_the_text_and_nothing_else_does() {
    let folder = folder();
    let of = |settings: &str| published(folder.path(), settings);
    for (key, base, value) in DECIDE {
        assert_ne!(of(&with(base, key, value)), of(base), "{key} decides");
    }
    for (key, base, value) in DO_NOT {
        assert_eq!(of(&with(base, key, value)), of(base), "{key} does not decide");
    }
    assert_ne!(of(ECHO), of("engine = 'none'"));
    let tried = DECIDE.iter().chain(&DO_NOT).map(|(key, ..)| *key).chain(APART);
    let tried: BTreeSet<_> = tried.map(ToOwned::to_owned).collect();
    let command = Args::augment_args(clap::Command::new(""));
    let all: BTreeSet<_> = command.get_arguments().map(|key| key.get_id().to_string()).collect();
    assert_eq!(tried, all, "every key is tried");
}

#[test]
fn a_model_is_published_by_its_file_and_without_its_place() {
    let (folder, other) = (folder(), folder());
    let text = |folder: &tempfile::TempDir, settings| published(folder.path(), settings);
    for (settings, file, model, edits) in [
        (KSERVE, "decoupled.toml", DECOUPLED, &[("= 7", "= 8"), ("= 100", "= 99")][..]),
        (OPENAI, "served.toml", SERVED, &[("'toy'", "'boy'"), ("= 100", "= 99"), ("= 10", "= 11")]),
        (DECODER, "served.toml", SERVED, &[("[2]", "[3]")]),
        (TORCH, "toy.toml", MANIFEST, &[("fp32", "fp16"), ("[2, 'n']", "[3, 'n']")]),
        (
            TORCH,
            "toy.toml",
            LANGUAGE,
            &[
                ("'toy'", "'boy'"),
                ("fp32", "fp16"),
                ("'ours'", "'theirs'"),
                ("= 100", "= 99"),
                ("= 10\n", "= 11\n"),
                ("= 20", "= 21"),
                ("[2]", "[3]"),
                ("= 3\n", "= 4\n"),
                ("= 4\n", "= 5\n"),
                ("= 5\n", "= 6\n"),
                ("= 6\n", "= 7\n"),
            ],
        ),
    ] {
        for folder in [&folder, &other] {
            fs::write(folder.path().join(file), model).unwrap();
        }
        let before = text(&other, settings);
        assert_eq!(text(&folder, settings), before, "{settings}");
        for (from, to) in edits {
            fs::write(folder.path().join(file), model.replacen(from, to, 1)).unwrap();
            assert_ne!(text(&folder, settings), before, "{settings}: {from}");
        }
    }
}

#[test]
fn scenario_servers_and_what_was_found_are_published() {
    let folder = folder();
    let text = |settings: &str| published(folder.path(), settings);
    let before = text(TORCH);
    let line = "[batching.server]\nmax_batch = 7\n";
    fs::write(folder.path().join("toy.toml"), format!("{MANIFEST}{line}")).unwrap();
    assert_eq!(text(TORCH), before, "a scenario that is not asked for");
    assert_ne!(text(&with(TORCH, "scenario", "'server'")), before);
    let elsewhere = OPENAI.replace("127.0.0.1:8000", "engine:8000");
    assert_eq!(text(&elsewhere), text(OPENAI));
    assert_ne!(text(&OPENAI.replace("['", "['http://engine:8000', '")), text(OPENAI));
    let settings = OPENAI.replace("FOLDER", &folder.path().display().to_string());
    let args = Args::of(&format!("name = 'a'\n{settings}"));
    let found = EngineFacts { prefix_caching: PrefixCaching::Off, context_tokens: None };
    let with_facts = published_text(&args.resolve().unwrap(), Some(&found)).unwrap();
    assert_eq!(with_facts, format!("{}\n[found]\nprefix_caching = \"off\"\n", text(OPENAI)));
    fs::write(folder.path().join("toy.toml"), LANGUAGE).unwrap();
    for key in ["threads", "max_in_flight_tokens"] {
        assert_ne!(text(&with(TORCH, key, "77")), text(TORCH), "{key} decides");
    }
}

/// Settings of each engine, by name. The file `golden/NAME.toml` contains their published text.
/// Values that would depend on the machine are set.
const GOLDEN: [(&str, &str); 12] = [
    ("none", "engine = 'none'"),
    (
        "echo",
        "engine = 'echo'\necho_answer_bytes = 7\necho_batch = '8us'\nquic_mtu = 1400\npin = [0]",
    ),
    (
        "tokens",
        "engine = 'tokens'\ntokens_output = '7-9'\nmax_in_flight_tokens = 77\ntransport = 'quic'",
    ),
    ("tokens-schedule", "engine = 'tokens'\ntokens_schedule = 'FOLDER/schedule'"),
    (
        "openai",
        "engine = 'openai'\nurl = ['http://127.0.0.1:8000', 'http://127.0.0.1:8001']\nmodel = 'FOLDER/served.toml'",
    ),
    (
        "kserve-tensors",
        "engine = 'kserve'\nurl = ['http://127.0.0.1:8001']\nmodel = 'FOLDER/toy.toml'",
    ),
    ("kserve-tokens", KSERVE),
    ("decoder", "engine = 'decoder'\nmodel = 'sorting'\nthreads = 3"),
    ("onnx", "model = 'digits'\nthreads = 3\npostprocess = 'none'\nresponse_encoding = 'zstd'"),
    (
        "plug-in",
        "engine = 'torch'\nmodel = 'FOLDER/toy.toml'\nthreads = 3\nworkload_threads = 4\nbuckets = [7, 9]\nmax_batch = 8\n\
        devices = ['cuda:0', 'cpu']\nmax_batch_tokens = 99",
    ),
    (
        "plug-in-file",
        "engine = 'FOLDER/own.so'\nmodel = 'FOLDER/toy.toml'\nworkload_threads = 4\nscenario = 'server'",
    ),
    ("token-plug-in", "engine = 'torch'\nmodel = 'FOLDER/language.toml'\nthreads = 3"),
];

/// Compares each engine's published text with its golden file, byte for byte, because submitters
/// state the digest of the text. `NETDIV_WRITE_GOLDEN=1` writes the files.
#[test]
fn the_published_texts_are_those_of_the_golden_files() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "toy.toml",
        &format!(
            "{MANIFEST}encodings = ['zstd']\n[parameters]\nclasses = 7\n[batching.server]\nmax_batch = 7\n"
        ),
    );
    write("decoupled.toml", DECOUPLED);
    write("language.toml", LANGUAGE);
    for (name, settings) in GOLDEN {
        let settings = format!("io_threads = 2\n{settings}");
        compare_with_golden(name, &published(folder.path(), &settings));
    }
    compare_with_golden("python", &text_of_python(folder.path()));
}

fn compare_with_golden(name: &str, text: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/settings/published/golden");
    let file = golden.join(name).with_extension("toml");
    if std::env::var_os("NETDIV_WRITE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&file).unwrap(), "{name}");
}

/// Returns the text of a node with an engine in Python and its manifest, without an interpreter.
fn text_of_python(folder: &Path) -> String {
    let shape = |name: &str, dimensions| Shape {
        name: name.into(),
        data_type: DataType::Float32,
        dimensions,
    };
    let tensors = DeclaredTensors {
        name: "toy".into(),
        inputs: vec![shape("x", vec![Dimension::Fixed(2), Dimension::Free(0)])],
        output: shape("y", vec![Dimension::Fixed(7)]),
        max_lengths: vec![77],
        counts_tokens: true,
    };
    let declaration = Declaration {
        model: DeclaredModel::Tensors(Arc::new(tensors)),
        max_batch: 7,
        framework: "toys 7".into(),
    };
    let file = folder.join("engine.py");
    let manifest = "precision = 'bf16'\nweights = 'ours'\nencodings = ['zstd']\n[batching.server]\nmax_batch = 7\n";
    fs::write(file.with_extension("toml"), manifest).unwrap();
    let manifest = PythonManifest::read(&file, &declaration).unwrap();
    let python = PythonConfig {
        file,
        python: "python3".into(),
        start_timeout: Duration::from_secs(7),
        threads: 3,
        sampling_seed: None,
        model: PythonModel { declaration, manifest },
    };
    let args = Args::of("engine = 'echo'\nname = 'a'\nio_threads = 2");
    let engine = EngineConfig::Python(Arc::new(python));
    published_text(&Config { engine, ..args.resolve().unwrap() }, None).unwrap()
}

#[test]
fn no_path_and_no_secret_is_published() {
    let folder = folder();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    make_certificates(&own, &["a".to_owned()]).unwrap();
    let secure = "tls_certificate = 'FOLDER/own/a.pem'\ntls_key = 'FOLDER/own/a.key'\ntls_client_ca = 'FOLDER/own/ca.pem'\n\
        token_file = 'FOLDER/token'\nevidence = 'FOLDER/evidence.toml'\nready_file = 'FOLDER/ready'\n\
        fabric_peers = ['localhost:7']\nfabric_ca = 'FOLDER/own/ca.pem'\nfabric_certificate = 'FOLDER/own/a.pem'\n\
        fabric_key = 'FOLDER/own/a.key'\nfabric_token_file = 'FOLDER/token'\n";
    let served = "url_token_file = 'FOLDER/token'\nurl_ca = 'FOLDER/ca.pem'\n";
    let torch = "libtorch = 'FOLDER/lib'\n";
    let cases = [(NONE, secure), (OPENAI, served), (TORCH, torch), (DECODER, ""), (ONNX, "")];
    let cases = cases.map(|(base, more)| format!("{more}{base}"));
    for settings in
        cases.iter().chain([&"engine = 'FOLDER/own.so'\nmodel = 'FOLDER/toy.toml'".into()])
    {
        let text = published(folder.path(), settings);
        assert!(!text.contains(&folder.path().display().to_string()), "{text}");
        assert!(!text.contains("a-secret") && !text.contains(".pem"), "{text}");
    }
}
