//! SGLang's and TensorRT-LLM's services, as their sources have them: smg_grpc_servicer 0.14.1 (`sglang/servicer.py`), and
//! TensorRT-LLM's `tensorrt_llm/grpc/smg/servicer.py`.

use std::{
    net,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    thread, vec,
};

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_core::Stream;
use netdiv_words::{Found, PrefixCaching, ServedEngine};
use parking_lot::Mutex;
use prost::Message;
use tokio::{net::TcpListener, runtime};
use tonic::{Request, Response, Status, transport::server::TcpIncoming};

use super::super::{fake::settings, start::answers_through};
use crate::{
    engine::{
        interface::StreamingEngine as _,
        read_answer,
        remote::{
            servers::Servers,
            testing::{none_is_under_way, samples, tiny, wait_until, within_a_second},
        },
        served::{
            engine::served,
            exchange::Exchange,
            grpc::{
                sglang::proto::{
                    self as sglang,
                    sglang_scheduler_server::{SglangScheduler, SglangSchedulerServer},
                },
                trtllm::proto::{
                    self as trtllm,
                    trtllm_service_server::{TrtllmService, TrtllmServiceServer},
                },
            },
            probe::probe,
        },
    },
    settings::served::{Dialect, GrpcService, Protocol, ServedConfig},
};

/// A part's ids, or the end's with the finish reason; and the count of tokens that goes with them.
type Step<'a> = (&'a [u32], Option<&'a str>, u32);

fn sglang_message(
    (ids, reason, made): Step<'_>,
    prompt: u32,
    cached: u32,
) -> sglang::GenerateResponse {
    use sglang::generate_response::Response::{Chunk, Complete};
    let ids = ids.to_vec();
    let response = match reason {
        None => Chunk(sglang::GenerateStreamChunk {
            token_ids: ids,
            prompt_tokens: prompt,
            completion_tokens: made,
            cached_tokens: cached,
            index: 0,
        }),
        Some(reason) => Complete(sglang::GenerateComplete {
            output_ids: ids,
            finish_reason: reason.into(),
            prompt_tokens: prompt,
            completion_tokens: made,
            cached_tokens: cached,
            index: 0,
        }),
    };
    sglang::GenerateResponse { response: Some(response) }
}

fn trtllm_message(
    (ids, reason, made): Step<'_>,
    prompt: u32,
    cached: u32,
) -> trtllm::GenerateResponse {
    use trtllm::generate_response::Response::{Chunk, Complete};
    let ids = ids.to_vec();
    let response = match reason {
        None => Chunk(trtllm::GenerateStreamChunk {
            token_ids: ids,
            sequence_index: 0,
            prompt_tokens: prompt,
            completion_tokens: made,
            cached_tokens: cached,
        }),
        Some(reason) => Complete(trtllm::GenerateComplete {
            output_token_ids: ids,
            sequence_index: 0,
            finish_reason: reason.into(),
            prompt_tokens: prompt,
            completion_tokens: made,
            cached_tokens: cached,
        }),
    };
    trtllm::GenerateResponse { response: Some(response) }
}

fn on_the_wire(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(message.encoded_len() as u32);
    message.encode(&mut bytes).unwrap();
    bytes.freeze()
}

/// Reads an answer to a request for three tokens.
fn read(service: GrpcService, steps: &[Step<'_>]) -> (Vec<i32>, Result<(), String>) {
    let message = |step: &Step<'_>| match service {
        GrpcService::Sglang => on_the_wire(&sglang_message(*step, 4, 0)),
        _ => on_the_wire(&trtllm_message(*step, 4, 0)),
    };
    let messages = steps.iter().map(message).collect::<Vec<_>>();
    read_answer(Protocol::Grpc(service), &tiny(3, &[2]), 4, messages.into_iter())
}

#[test]
fn what_the_end_repeats_is_compared() {
    use GrpcService::{Sglang, Trtllm};
    let parts: [Step<'_>; 2] = [(&[7], None, 1), (&[8, 9], None, 3)];
    let length = Some("length");
    let other = Err("the end has other tokens than those that came before");
    for (service, end, outcome) in [
        // Of the last part, and of all.
        (Sglang, (&[8, 9][..], length, 3), Ok(())),
        (Trtllm, (&[7, 8, 9], length, 3), Ok(())),
        (Sglang, (&[8, 8], length, 3), other),
        (Trtllm, (&[7, 8, 8], length, 3), other),
        (Trtllm, (&[8, 9], length, 3), other),
        // What came before is all that there is.
        (Sglang, (&[9], length, 4), Err("the server made 4 tokens")),
        (Trtllm, (&[7, 8, 9, 9], length, 4), other),
        (Sglang, (&[8, 9], length, 4), Err("the server made 4 tokens and gave the ids of 3")),
        (Trtllm, (&[7, 8, 9], length, 2), Err("the server made 2 tokens")),
        (Sglang, (&[8, 9], Some("abort"), 3), Err("ends for `abort`")),
        (Trtllm, (&[7, 8, 9], Some("timeout"), 3), Err("ends for `timeout`")),
        (Trtllm, (&[7, 8, 9], Some(""), 3), Err("ends for ``")),
    ] {
        let (ids, got) = read(service, &[&parts[..], &[end]].concat());
        match outcome {
            Ok(()) => assert_eq!((&ids[..], got), (&[7, 8, 9][..], Ok(())), "{service:?}"),
            Err(words) => assert!(got.clone().unwrap_err().contains(words), "{end:?}: {got:?}"),
        }
    }
    for service in [Sglang, Trtllm] {
        let (ids, got) = read(service, &parts);
        assert!(got.unwrap_err().contains("breaks off") && ids == [7, 8, 9]);
        // A stop id is part of the output.
        let stopped: [Step<'_>; 2] = [(&[2], None, 1), (&[2], Some("stop"), 1)];
        assert_eq!(read(service, &stopped), (vec![2], Ok(())), "{service:?}");
    }
    // A token that is lost on the way, with its part or without, and an answer that was not streamed.
    let lost: [Step<'_>; 3] = [parts[0], (&[], None, 2), (&[9], None, 3)];
    for service in [Sglang, Trtllm] {
        let end: &[u32] = if service == Sglang { &[9] } else { &[7, 9] };
        for steps in [&lost[..], &[lost[0], lost[2]]] {
            let (_, got) = read(service, &[steps, &[(end, length, 3)]].concat());
            assert!(got.clone().unwrap_err().contains("tokens so far, and"), "{got:?}");
        }
        let (ids, got) = read(service, &[(&[7, 8, 9], length, 3)]);
        assert!(got.unwrap_err().contains("the end has other tokens") && ids.is_empty());
    }
}

/// Both services, and what they were asked for.
#[derive(Clone, Default)]
struct Fake {
    requests: Arc<Mutex<Vec<Asked>>>,
    /// How many tokens of a prompt were known, for a prompt that was asked before.
    cached: u32,
    /// Says nothing after the first part.
    hangs: bool,
    left: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Asked {
    Sglang(sglang::GenerateRequest),
    Trtllm(trtllm::GenerateRequest),
}

/// Messages, and then the end, or none.
struct Messages<M> {
    messages: vec::IntoIter<M>,
    hangs: bool,
    left: Arc<AtomicUsize>,
}

impl<M: Unpin> Stream for Messages<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.messages.next() {
            None if self.hangs => Poll::Pending,
            message => Poll::Ready(message.map(Ok)),
        }
    }
}

impl<M> Drop for Messages<M> {
    fn drop(&mut self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

impl Fake {
    /// Serves, and says where.
    fn start(&self) -> String {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sglang, trtllm) = (self.clone(), self.clone());
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                tonic::transport::Server::builder()
                    .add_service(SglangSchedulerServer::new(sglang))
                    .add_service(TrtllmServiceServer::new(trtllm))
                    .serve_with_incoming(TcpIncoming::from(listener))
                    .await
            })
        });
        url
    }

    /// The first of 7, 8, 9, token by token.
    fn answer<M>(
        &self,
        asked: Asked,
        most: u32,
        ends_with: impl Fn(&[u32]) -> usize,
        message: fn(Step<'_>, u32, u32) -> M,
    ) -> Response<Messages<M>> {
        let mut requests = self.requests.lock();
        let cached = if requests.is_empty() { 0 } else { self.cached };
        let prompt = match &asked {
            Asked::Sglang(request) => request.tokenized.as_ref().unwrap().input_ids.len(),
            Asked::Trtllm(request) => request.tokenized.as_ref().unwrap().input_token_ids.len(),
        } as u32;
        let message = |step: Step<'_>| message(step, prompt, cached);
        requests.push(asked);
        let ids = &[7, 8, 9][..most as usize];
        let mut messages: Vec<_> = (1..=most)
            .map(|made| message((&ids[made as usize - 1..made as usize], None, made)))
            .collect();
        if self.hangs {
            messages.truncate(1);
        } else {
            messages.push(message((&ids[ends_with(ids)..], Some("length"), most)));
        }
        let (hangs, left) = (self.hangs, self.left.clone());
        Response::new(Messages { messages: messages.into_iter(), hangs, left })
    }
}

#[tonic::async_trait]
impl SglangScheduler for Fake {
    type GenerateStream = Messages<sglang::GenerateResponse>;

    async fn generate(
        &self,
        request: Request<sglang::GenerateRequest>,
    ) -> Result<Response<Self::GenerateStream>, Status> {
        let request = request.into_inner();
        let most = request.sampling_params.as_ref().unwrap().max_new_tokens.unwrap();
        let last = |ids: &[u32]| ids.len() - 1;
        Ok(self.answer(Asked::Sglang(request), most, last, sglang_message))
    }

    async fn get_model_info(
        &self,
        _request: Request<sglang::GetModelInfoRequest>,
    ) -> Result<Response<sglang::GetModelInfoResponse>, Status> {
        let served_model_name = "tiny".into();
        Ok(Response::new(sglang::GetModelInfoResponse { served_model_name, vocab_size: 2048 }))
    }
}

#[tonic::async_trait]
impl TrtllmService for Fake {
    type GenerateStream = Messages<trtllm::GenerateResponse>;

    async fn generate(
        &self,
        request: Request<trtllm::GenerateRequest>,
    ) -> Result<Response<Self::GenerateStream>, Status> {
        let request = request.into_inner();
        let most = request.max_tokens;
        Ok(self.answer(Asked::Trtllm(request), most, |_| 0, trtllm_message))
    }
}

fn of(url: &str, service: GrpcService, vocabulary: u32) -> ServedConfig {
    let mut model = tiny(3, &[2]);
    model.vocabulary = vocabulary;
    ServedConfig {
        protocol: Protocol::Grpc(service),
        ..settings(&[url], Dialect::default(), model)
    }
}

#[test]
fn a_node_answers_through_either() {
    for service in [GrpcService::Sglang, GrpcService::Trtllm] {
        let server = Fake::default();
        let engine = ServedEngine::from(Protocol::Grpc(service)).to_string();
        let found = answers_through(&engine, &server.start());
        assert_eq!(found, Some(Found { prefix_caching: PrefixCaching::CannotTell }));
        assert_eq!(server.requests.lock().len(), 3, "two tries and the sample");
    }
}

/// Nothing is drawn, nothing is punished, the stop id stays, and each token comes by itself.
#[test]
fn requests_are_as_the_services_read_them() {
    let server = Fake::default();
    let url = server.start();
    for service in [GrpcService::Sglang, GrpcService::Trtllm] {
        probe(&of(&url, service, 2048)).unwrap();
    }
    let requests = server.requests.lock();
    let (Asked::Sglang(sglang), Asked::Trtllm(trtllm)) = (&requests[0], &requests[2]) else {
        panic!("not two each: {requests:?}");
    };
    assert!(sglang.stream && sglang.request_id.starts_with("netdiv-"));
    assert_ne!(Some(&requests[0]), requests.get(1), "another name");
    let wanted = sglang::SamplingParams {
        top_p: 1.0,
        top_k: -1,
        repetition_penalty: 1.0,
        max_new_tokens: Some(2),
        stop_token_ids: vec![2],
        n: 1,
        min_new_tokens: 1,
        no_stop_trim: true,
        stream_interval: Some(1),
        ..sglang::SamplingParams::default()
    };
    assert_eq!(sglang.sampling_params, Some(wanted));
    assert!(trtllm.streaming && trtllm.include_stop_token_in_output && !trtllm.ignore_eos);
    assert_eq!((trtllm.max_tokens, &trtllm.stop_token_ids[..]), (2, &[2][..]));
    let wanted = trtllm::SamplingConfig {
        beam_width: 1,
        num_return_sequences: 1,
        top_k: Some(1),
        top_p: Some(1.0),
        seed: Some(0),
        temperature: Some(0.0),
        min_tokens: Some(1),
        repetition_penalty: Some(1.0),
        presence_penalty: Some(0.0),
        frequency_penalty: Some(0.0),
    };
    assert_eq!(trtllm.sampling_config, Some(wanted));
    let prompt = &sglang.tokenized.as_ref().unwrap().input_ids;
    assert_eq!(prompt, &trtllm.tokenized.as_ref().unwrap().input_token_ids);
}

#[test]
fn prefix_caching_and_another_model_are_found_out() {
    for (service, name) in [(GrpcService::Sglang, "SGLang"), (GrpcService::Trtllm, "TensorRT-LLM")]
    {
        let server = Fake { cached: 3, ..Fake::default() };
        let probed = probe(&of(&server.start(), service, 2048)).unwrap();
        assert_eq!((probed.prefix_caching, &probed.framework[..]), (PrefixCaching::On, name));
    }
    // TensorRT-LLM says 0 also where it does not count.
    for (service, found) in [
        (GrpcService::Sglang, PrefixCaching::Off),
        (GrpcService::Trtllm, PrefixCaching::CannotTell),
    ] {
        let probed = probe(&of(&Fake::default().start(), service, 2048)).unwrap();
        assert_eq!(probed.prefix_caching, found, "{service:?}");
    }
    let server = Fake::default();
    let error = probe(&of(&server.start(), GrpcService::Sglang, 2049)).unwrap_err().to_string();
    assert!(error.contains("its vocabulary has 2048 ids"), "{error}");
    assert_eq!(server.requests.lock().len(), 0, "no prompt was sent");
    // A server of the other kind.
    let vllm = super::server::Vllm::always(Vec::new());
    let error = probe(&of(&vllm.url, GrpcService::Trtllm, 2048)).unwrap_err().to_string();
    assert!(error.contains("Unimplemented"), "{error}");
}

/// The connection stays, and the call alone ends.
#[tokio::test]
async fn a_request_that_nobody_waits_for_is_cancelled() {
    for service in [GrpcService::Sglang, GrpcService::Trtllm] {
        let server = Fake { hangs: true, ..Fake::default() };
        let settings = of(&server.start(), service, 2048);
        let servers = Arc::new(Servers::new(&settings.servers.urls));
        let exchange = Exchange::new(Arc::new(settings));
        let mut engine = served(exchange, servers, 2, Arc::default()).unwrap();
        let (samples, replies) = samples(2);
        engine.begin(samples).unwrap();
        wait_until(|| server.requests.lock().len() == 2).await;
        drop(replies);
        within_a_second(|| server.left.load(Ordering::SeqCst) == 2).await;
        none_is_under_way(&mut engine).await;
    }
}
