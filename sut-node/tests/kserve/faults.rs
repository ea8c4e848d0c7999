//! Faults of a Triton server's response: each fails the sample, with an error that names the fault.

use std::{sync::Arc, time::Duration};

use tokio::runtime::Builder;
use tonic::{Code, Status, metadata::MetadataMap};

use super::fake::{Act, Fake, answer, end, of, tensor, tensors, tiny, tokens};
use crate::{
    engine::{
        kserve::{
            caller::{Caller, KserveServers},
            rpc::{ModelInferResponse, ModelStreamInferResponse},
            tensors::{TensorPlan, has_batch},
            tokens::TokenPlan,
        },
        remote::{
            http2_peer::{Http2Peer, go_away},
            refusal::Refusal,
            server_settings::ServersConfig,
            servers::Servers,
            testing::{PROMPT, servers},
        },
    },
    model::{
        decoupled::{DecoupledModel, InputValue},
        manifest::{Manifest, ModelFile},
        workload::Pass,
        workloads::of_manifest,
    },
};

/// Time limit of requests to servers that stay silent.
const SHORT: Duration = Duration::from_secs(2);

fn callers(settings: &ServersConfig) -> KserveServers {
    Servers::new(&settings.urls).with(|url| Caller::new(url, settings))
}

/// Sends a single request. Returns the received tokens and the outcome.
fn ask(settings: &ServersConfig, model: DecoupledModel) -> (Vec<i32>, Result<(), Refusal>) {
    let [inputs, outputs] = tensors();
    let tokens = TokenPlan::new(Arc::new(model), &inputs, &outputs).unwrap();
    let mut taken = Vec::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let servers = callers(settings);
        tokens.attempt(&servers.all()[0], &PROMPT, &mut taken, settings.timeout).await
    });
    (taken, outcome)
}

/// Requests at most three tokens from a server that executes `acts`. Returns the tokens, or the
/// error.
fn of_acts(acts: Vec<Act>) -> Result<Vec<i32>, String> {
    let is_silent = acts.iter().any(|act| matches!(act, Act::Hang | Act::Repeat(_)));
    let mut server = Fake::start(move |_, _| acts.clone());
    if is_silent {
        server.settings.timeout = SHORT;
    }
    let (taken, outcome) = ask(&server.settings, tiny(3, &[2]));
    outcome.map(|()| taken).map_err(Refusal::into_text)
}

fn sent(messages: &[ModelStreamInferResponse]) -> Vec<Act> {
    messages.iter().cloned().map(Act::Send).collect()
}

/// Id of the first request.
const ID: &str = "0";

#[test]
fn a_request_holds_what_the_file_says() {
    let server = Fake::start(|_, _| sent(&[tokens(ID, &[7, 8, 9]), end(ID)]));
    let (taken, outcome) = ask(&server.settings, tiny(3, &[2]));
    outcome.unwrap();
    assert_eq!(taken, [7, 8, 9]);
    let request = server.request(0);
    let inputs: Vec<_> = request.inputs.iter().zip(&request.raw_input_contents).collect();
    let of = |name: &str| inputs.iter().find(|(input, _)| input.name == name).unwrap();
    let (prompt, data) = of("prompt");
    assert_eq!((&prompt.datatype[..], &prompt.shape[..]), ("INT64", &[1, 4][..]));
    assert_eq!(data[..], PROMPT.map(i64::to_le_bytes).concat());
    let (length, data) = of("length");
    assert_eq!(
        (&length.datatype[..], &length.shape[..], &data[..]),
        ("INT32", &[1, 1][..], &[4, 0, 0, 0][..])
    );
    assert_eq!(of("most").1[..], [3, 0, 0, 0]);
    assert_eq!(of("streaming").1[..], [1]);
    assert!(request.parameters.contains_key("triton_enable_empty_final_response"));
    assert_eq!(request.outputs[0].name, "ids");
}

#[test]
fn requests_carry_the_token() {
    let mut server = Fake::start(|_, _| sent(&[tokens(ID, &[7, 8, 9]), end(ID)]));
    ask(&server.settings, tiny(3, &[])).1.unwrap();
    assert_eq!(server.authorization(), None);
    server.settings.token = Some("Bearer a-secret".parse().unwrap());
    ask(&server.settings, tiny(3, &[])).1.unwrap();
    assert_eq!(server.authorization().as_deref(), Some("Bearer a-secret"));
}

#[test]
fn tokens_come_in_messages_of_any_size() {
    let last = of(tokens(ID, &[9]).infer_response.unwrap(), true);
    for messages in [
        vec![tokens(ID, &[7]), tokens(ID, &[]), tokens(ID, &[8, 9]), end(ID)],
        vec![tokens(ID, &[7, 8]), last],
    ] {
        assert_eq!(of_acts(sent(&messages)).unwrap(), [7, 8, 9]);
    }
    assert_eq!(of_acts(sent(&[tokens(ID, &[7, 2]), end(ID)])).unwrap(), [7, 2]);
}

#[test]
fn every_fault_is_a_failure_with_its_name() {
    let first = || tokens(ID, &[7]);
    let whole = || [tokens(ID, &[7, 8, 9]), end(ID)];
    let error =
        |answer| ModelStreamInferResponse { error_message: "CUDA".into(), infer_response: answer };
    let output = |output: (&str, &str, &[i64]), bytes: usize| {
        sent(&[of(answer(ID, output, vec![0; bytes]), false)])
    };
    let bare = ModelInferResponse { id: ID.into(), ..ModelInferResponse::default() };
    let other = ModelInferResponse { model_name: "huge".into(), ..first().infer_response.unwrap() };
    let unlike =
        ModelInferResponse { raw_output_contents: Vec::new(), ..first().infer_response.unwrap() };
    let no_end = ModelStreamInferResponse {
        infer_response: Some(ModelInferResponse {
            parameters: Default::default(),
            ..first().infer_response.unwrap()
        }),
        ..Default::default()
    };
    let then = |messages: &[ModelStreamInferResponse], act: Act| {
        sent(messages).into_iter().chain([act]).collect::<Vec<_>>()
    };
    for (name, acts, words) in [
        ("error", sent(&[error(None)]), "after 0 tokens: the server failed: CUDA"),
        (
            "error later",
            sent(&[first(), error(Some(bare.clone()))]),
            "after 1 token: the server failed: CUDA",
        ),
        ("empty", sent(&[ModelStreamInferResponse::default()]), "a message has no response"),
        ("no output", sent(&[of(bare, false)]), "the response has no output \"ids\""),
        ("another id", sent(&[tokens("1", &[7])]), "the response is to request \"1\", not \"0\""),
        ("another model", sent(&[of(other, false)]), "the response is from the model \"huge\""),
        ("contents", sent(&[of(unlike, false)]), "the number of outputs is 1, but that of"),
        ("type", output(("ids", "FP32", &[1, 1]), 4), "the output \"ids\" is FP32, not INT32"),
        ("name", output(("text", "INT32", &[1, 1]), 4), "has no output \"ids\""),
        ("bytes", output(("ids", "INT32", &[1, 2]), 4), "is INT32[1, 2] and has 4 bytes"),
        (
            "shape",
            output(("ids", "INT32", &[2, 1]), 8),
            "has the shape [2, 1]; expected one row of ids",
        ),
        ("no shape", output(("ids", "INT32", &[]), 4), "expected one row of ids"),
        ("negative", output(("ids", "INT32", &[-1, 1]), 4), "is INT32[-1, 1] and has 4 bytes"),
        ("huge", output(("ids", "INT32", &[i64::MAX, i64::MAX]), 4), "and has 4 bytes"),
        ("no end", sent(&whole()[..1]), "after 3 tokens: the final response is missing"),
        ("no word of an end", sent(&[no_end]), "the final response is missing"),
        ("twice", sent(&[&whole()[..], &[end(ID)]].concat()), "messages follow the final response"),
        ("no token", sent(&[end(ID)]), "the output is empty"),
        ("too many", sent(&[first(), tokens(ID, &[8, 9, 10])]), "more than max_tokens = 3"),
        (
            "too few",
            sent(&[first(), end(ID)]),
            "the output was cut off after 1 token, before max_tokens = 3",
        ),
        ("after eos", sent(&[tokens(ID, &[2, 7])]), "after the end-of-text token, token 0"),
        ("vocabulary", sent(&[tokens(ID, &[2048])]), "token 0 is 2048; ids go from 0 to 2047"),
        ("negative id", sent(&[tokens(ID, &[-1])]), "token 0 is -1"),
        ("busy", vec![Act::Fail(Status::resource_exhausted("queue"))], "ResourceExhausted: queue"),
        ("failed", vec![Act::Fail(Status::internal("no"))], "Internal: no"),
        (
            "failed later",
            then(&[first()], Act::Fail(Status::unavailable("no"))),
            "after 1 token: Unavailable: no",
        ),
        ("silent", vec![Act::Hang], "no progress within --url-timeout"),
        ("silent later", then(&[first()], Act::Hang), "after 1 token: no progress within"),
        ("silent end", then(&whole(), Act::Hang), "after 3 tokens: no progress within"),
        ("chatter", vec![Act::Repeat(tokens(ID, &[]))], "after 0 tokens: no progress within"),
        // Messages before the end of the server may be lost with it.
        ("dead", then(&[first()], Act::Die), "error"),
    ] {
        let error = of_acts(acts).map(|ids| format!("{name}: {ids:?}")).unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn only_a_server_with_too_much_to_do_is_asked_again() {
    let pushback = |said: &str| {
        let mut metadata = MetadataMap::new();
        metadata.insert("grpc-retry-pushback-ms", said.parse().unwrap());
        Status::with_metadata(Code::ResourceExhausted, "queue full", metadata)
    };
    for (status, again) in [
        (pushback("700"), true),
        (pushback("-1"), false),
        (Status::unavailable("loading"), true),
        (Status::resource_exhausted("queue"), true),
        (Status::unimplemented("decoupled"), false),
        (Status::internal("CUDA"), false),
    ] {
        assert_eq!(matches!(Refusal::from(status), Refusal::Busy { .. }), again);
    }
}

#[test]
fn a_request_that_was_not_processed_may_be_sent_again() {
    for (code, again, name) in [(0, true, "NO_ERROR"), (2, false, "INTERNAL_ERROR")] {
        let peer = Http2Peer::start(move |_, _| go_away(code, ""));
        let settings = servers(&[&format!("http://{}", peer.address)]);
        let (_, outcome) = ask(&settings, tiny(3, &[]));
        let refused = outcome.unwrap_err();
        assert_eq!(matches!(refused, Refusal::NotProcessed(_)), again, "{refused:?}");
        let why = refused.into_text();
        let words = format!("it closed the connection with GOAWAY {name}: ");
        assert!(why.contains(&words), "{why}");
    }
}

#[test]
fn a_model_with_other_tensors_is_refused() {
    let new = |name: &str, datatype: &str, shape: &[i64]| {
        let [mut inputs, mut outputs] = tensors();
        inputs
            .iter_mut()
            .chain(&mut outputs)
            .filter(|tensor| tensor.name == name)
            .for_each(|known| *known = tensor(name, datatype, shape));
        TokenPlan::new(Arc::new(tiny(3, &[])), &inputs, &outputs).map(drop)
    };
    new("prompt", "INT32", &[-1]).unwrap();
    new("most", "INT64", &[1]).unwrap();
    for (name, datatype, shape, words) in [
        ("prompt", "BYTES", &[-1][..], "a prompt must be INT32 or INT64 of dynamic length"),
        ("prompt", "INT32", &[512], "a prompt must be INT32 or INT64 of dynamic length"),
        ("prompt", "INT32", &[4, -1], "is INT32[4, -1], which is more than one row"),
        ("most", "INT32", &[2], "is INT32[2], which is more than one row"),
        ("most", "BYTES", &[1], "which cannot hold Integer(3)"),
        ("streaming", "INT32", &[1], "which cannot hold Bool(true)"),
        ("ids", "BYTES", &[-1], "its output \"ids\" is BYTES"),
    ] {
        let error = new(name, datatype, shape).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let [inputs, outputs] = tensors();
    let mut model = tiny(3, &[]);
    model.inputs.insert("seed".into(), InputValue::Integer(0));
    let error = TokenPlan::new(Arc::new(model), &inputs, &outputs).map(drop).unwrap_err();
    assert_eq!(error, "it has no input \"seed\"");
}

/// Returns the plan of a model with one input and one output. `batch` is true if its tensors have a
/// batch dimension.
fn pair(batch: bool) -> TensorPlan {
    let text = "name = 'tiny'\nmodel = 'tiny'\nworkload = 'tensors'\nprecision = 'fp32'\n\
        inputs = [{ name = 'x', data_type = 'uint8', shape = [3] }]\n\
        outputs = [{ name = 'y', data_type = 'float32', shape = [2] }]\n";
    let manifest = Manifest::of(&ModelFile::new("tiny.toml".as_ref(), text)).unwrap();
    let manifest = Arc::new(manifest);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let workload = of_manifest(&manifest, &Arc::new(threads)).unwrap();
    TensorPlan { manifest, workload, has_batch_dimension: batch }
}

#[test]
fn answers_that_are_not_the_models_outputs_are_refused_by_name() {
    let good = ("y", "FP32", &[1, 2][..]);
    let send = |answer| Act::Send(of(answer, true));
    for (name, act, words) in [
        ("good", send(answer(ID, good, vec![0; 8])), ""),
        ("another id", send(answer("7", good, vec![0; 8])), "the response is to request \"7\""),
        ("no id", send(answer("", good, vec![0; 8])), "the response is to request \"\""),
        ("name", send(answer(ID, ("z", "FP32", &[1, 2]), vec![0; 8])), "has no output \"y\""),
        ("type", send(answer(ID, ("y", "FP64", &[1, 2]), vec![0; 16])), "is FP64, not FP32"),
        ("shape", send(answer(ID, ("y", "FP32", &[2, 1]), vec![0; 8])), "[2, 1]; expected [1, 2]:"),
        ("rows", send(answer(ID, ("y", "FP32", &[2, 2]), vec![0; 16])), "[2, 2]; expected [1, 2]:"),
        ("no batch", send(answer(ID, ("y", "FP32", &[2]), vec![0; 8])), "[2]; expected [1, 2]:"),
        ("bytes", send(answer(ID, good, vec![0; 7])), "is FP32[1, 2] and has 7 bytes"),
        ("decoupled", Act::Fail(Status::unimplemented("decoupled")), "Unimplemented: decoupled"),
        ("silent", Act::Hang, "no progress within --url-timeout"),
    ] {
        let timeout = if matches!(act, Act::Hang) { SHORT } else { 30 * SHORT };
        let server = Fake::start(move |_, _| vec![act.clone()]);
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            let servers = callers(&server.settings);
            let pass = Pass { rows: 1, lengths: Vec::new() };
            pair(true).try_pass(&servers.all()[0], &pass, timeout).await
        });
        let error = outcome.err().map(Refusal::into_text).unwrap_or_default();
        assert!(error.contains(words) && error.is_empty() == words.is_empty(), "{name}: {error}");
    }
}

#[test]
fn a_batch_dimension_is_found() {
    let manifest = pair(false).manifest;
    let served = |x: (&str, &[i64]), y: &[i64]| {
        has_batch(&manifest, &[tensor("x", x.0, x.1)], &[tensor("y", "FP32", y)])
    };
    for (x, y, batch) in [
        (&[-1, 3][..], &[-1, 2][..], true),
        (&[1, 3], &[1, 2], true),
        (&[3], &[2], false),
        (&[-1], &[-1], false),
    ] {
        assert_eq!(served(("UINT8", x), y), Ok(batch));
    }
    for (data_type, x, y, words) in [
        (
            "INT8",
            &[-1, 3][..],
            &[-1, 2][..],
            "its input \"x\" is INT8[-1, 3], but the manifest states UINT8[3]",
        ),
        ("UINT8", &[-1, 4], &[-1, 2], "is UINT8[-1, 4]"),
        ("UINT8", &[8, 3], &[8, 2], "is UINT8[8, 3]"),
        ("UINT8", &[-1, -1, 3], &[-1, 2], "is UINT8[-1, -1, 3]"),
        ("UINT8", &[], &[2], "is UINT8[]"),
        ("UINT8", &[-1, 3], &[2], "only some of its tensors have a batch dimension"),
    ] {
        let error = served((data_type, x), y).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
