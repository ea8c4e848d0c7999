//! Everything that can go wrong with an answer, each by its name.

use std::{
    net::TcpListener,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use netdiv_transport::security::{ClientTls, make_certificates};
use tonic::{Status, metadata::MetadataMap};

use super::{
    super::{
        fake::{ask, patience},
        tls::acceptor,
    },
    server::{Act, Vllm, end, of, part, sends},
};
use crate::engine::{
    error::EngineError,
    remote::testing::wait_for,
    served::grpc::vllm::proto::{
        GenerateComplete, GenerateResponse, GenerateStreamChunk,
        generate_response::Response::{Chunk, Complete},
    },
};

/// Asks for three tokens.
fn of_acts(acts: Vec<Act>, timeout: Duration) -> Result<Vec<i32>, String> {
    let mut settings = Vllm::always(acts).settings(3);
    settings.servers.timeout = timeout;
    let (taken, outcome) = ask(&settings);
    outcome.map(|_| taken).map_err(|error| error.to_string())
}

fn changed_part(ids: &[u32], change: impl Fn(&mut GenerateStreamChunk)) -> GenerateResponse {
    let mut message = part(ids);
    if let Some(Chunk(part)) = &mut message.response {
        change(part);
    }
    message
}

fn changed_end(ids: &[u32], change: impl Fn(&mut GenerateComplete)) -> GenerateResponse {
    let mut message = end(ids, "length");
    if let Some(Complete(end)) = &mut message.response {
        change(end);
    }
    message
}

#[test]
fn oddities_that_do_no_harm() {
    for messages in [
        // Parts without tokens, and several tokens in one.
        vec![part(&[]), part(&[7]), part(&[]), part(&[8, 9]), end(&[8, 9], "length")],
        // The end repeats nothing, or everything.
        vec![part(&[7, 8, 9]), end(&[], "length")],
        vec![part(&[7]), part(&[8, 9]), end(&[7, 8, 9], "length")],
        // It counts all.
        vec![part(&[7]), part(&[8, 9]), changed_end(&[9], |end| end.completion_tokens = 3)],
        // By that count its own are new.
        vec![part(&[7]), part(&[8]), changed_end(&[9], |end| end.completion_tokens = 3)],
        // Before the prompt was looked at.
        vec![
            changed_part(&[], |part| part.prompt_tokens = 0),
            part(&[7, 8, 9]),
            changed_end(&[], |end| end.prompt_tokens = 0),
        ],
    ] {
        assert_eq!(of_acts(sends(&messages), patience("")).unwrap(), [7, 8, 9], "{messages:?}");
    }
    // A new token that is as the last one is told by the count of all.
    let twice = |count| {
        let end = changed_end(&[8], |end| end.completion_tokens = count);
        of_acts(sends(&[part(&[7]), part(&[8]), end]), patience(""))
    };
    assert_eq!(twice(3).unwrap(), [7, 8, 8]);
    assert!(twice(2).unwrap_err().contains("cut off after 2 tokens"));
    let stopped = sends(&[part(&[7]), part(&[2]), end(&[2], "stop")]);
    assert_eq!(of_acts(stopped, patience("")).unwrap(), [7, 2]);
}

#[test]
fn every_fault_is_a_failure_with_its_name() {
    let (first, last) = (part(&[7]), part(&[8, 9]));
    let whole = [first.clone(), last.clone(), end(&[8, 9], "length")];
    let then = |messages: &[GenerateResponse], act: Act| [sends(messages), vec![act]].concat();
    let status = || Status::internal("EngineCore\nencountered an issue");
    for (name, acts, words) in [
        (
            "error",
            then(&whole[..1], Act::Fail(status())),
            "after 1 tokens: status Internal: EngineCore encountered an issue",
        ),
        ("error before", vec![Act::Fail(status())], "status Internal: EngineCore encountered"),
        (
            "error after",
            then(&whole, Act::Fail(status())),
            "after 3 tokens: status Internal: EngineCore",
        ),
        (
            "busy later",
            then(&whole[..1], Act::Fail(Status::unavailable("bye"))),
            "after 1 tokens: status Unavailable: bye",
        ),
        ("abort", sends(&[first.clone(), end(&[7], "abort")]), "the output ends for `abort`"),
        ("finish error", sends(&[first.clone(), end(&[7], "error")]), "ends for `error`"),
        ("no reason", sends(&[first.clone(), end(&[7], "")]), "the output ends for ``"),
        (
            "lost part",
            sends(&[first.clone(), end(&[8, 9], "length")]),
            "the end has other tokens than those that came before",
        ),
        ("only the end", sends(&[end(&[7, 8, 9], "length")]), "the end has other tokens"),
        (
            "count",
            sends(&[
                first.clone(),
                changed_part(&[8, 9], |part| part.completion_tokens = 3),
                end(&[], "length"),
            ]),
            "made 4 tokens and gave the ids of 3",
        ),
        (
            "count at the end",
            sends(&[
                first.clone(),
                last.clone(),
                changed_end(&[9], |end| end.completion_tokens = 5),
            ]),
            "made 5 tokens and gave the ids of 3",
        ),
        (
            "prompt",
            sends(&[
                changed_part(&[7, 8, 9], |part| part.prompt_tokens = 5),
                changed_end(&[], |end| end.prompt_tokens = 5),
            ]),
            "the prompt has 4 tokens, and the server read 5",
        ),
        (
            "no prompt",
            sends(&[
                changed_part(&[7, 8, 9], |part| part.prompt_tokens = 0),
                changed_end(&[], |end| end.prompt_tokens = 0),
            ]),
            "does not say how many tokens of the prompt it read",
        ),
        ("no token", sends(&[part(&[]), end(&[], "stop")]), "it has no token"),
        ("no end", sends(&whole[..2]), "after 3 tokens: the answer breaks off"),
        ("nothing", vec![], "after 0 tokens: the answer breaks off"),
        (
            "more after the end",
            sends(&[&whole[..], &[part(&[])]].concat()),
            "after 3 tokens: messages follow the end of the output",
        ),
        (
            "a second end",
            sends(&[&whole[..], &whole[2..]].concat()),
            "follow the end of the output",
        ),
        (
            "repeated",
            sends(&[first.clone(), first.clone(), last.clone(), end(&[8, 9], "length")]),
            "more than max_tokens = 3",
        ),
        ("too short", sends(&[first.clone(), end(&[7], "length")]), "cut off after 1 tokens"),
        (
            "after eos",
            sends(&[part(&[2]), last.clone()]),
            "goes on after the end-of-text token, its number 0",
        ),
        ("vocabulary", sends(&[part(&[2048])]), "its token 0 is 2048; ids go from 0 to 2047"),
        ("negative", sends(&[part(&[u32::MAX])]), "its token 0 is 4294967295"),
        (
            "another output",
            sends(&[changed_part(&[7], |part| part.index = 1)]),
            "one output was asked for, and this is number 1",
        ),
        (
            "the end of another output",
            sends(&[first.clone(), changed_end(&[7], |end| end.index = 2)]),
            "and this is number 2",
        ),
        (
            "an unknown message",
            sends(&[GenerateResponse { response: None }]),
            "neither a part of the output nor its end",
        ),
        ("vanished", then(&whole[..1], Act::Cut), "after 1 tokens: "),
        ("vanished before", vec![Act::Cut], "no answer: "),
        ("silent", vec![Act::Hang], "nothing came for as long as --url-timeout allows"),
        ("silent later", then(&whole[..1], Act::Hang), "after 1 tokens: nothing came for as long"),
        ("silent end", then(&whole, Act::Hang), "after 3 tokens: nothing came for as long"),
        ("chatter", then(&whole[..1], Act::Repeat(part(&[]))), "nothing came for as long"),
    ] {
        let error =
            of_acts(acts, patience(words)).map(|ids| format!("{name}: {ids:?}")).unwrap_err();
        assert!(error.contains(words) && error.contains("http://127.0.0.1:"), "{name}: {error}");
    }
}

#[test]
fn refusals_are_named_and_the_prompt_is_blamed_where_it_is_at_fault() {
    for (status, bad_sample, words) in [
        (
            Status::invalid_argument("The prompt (length 600) is longer than the model"),
            true,
            "says status InvalidArgument: The prompt (length 600)",
        ),
        (Status::invalid_argument("max_tokens must be at least 1"), false, "max_tokens must be"),
        (Status::unauthenticated("who are you?"), false, "status Unauthenticated: who are you?"),
        (Status::unimplemented(""), false, "status Unimplemented"),
    ] {
        let server = Vllm::start(move |_, _| Err(status.clone()));
        let error = ask(&server.settings(3)).1.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words) && text.contains(&server.url), "{text}");
        assert_eq!(matches!(error, EngineError::BadSample(_)), bad_sample, "{text}");
        assert_eq!(server.seen.requests.lock().len(), 1);
    }
}

#[test]
fn a_server_with_too_much_to_do_is_asked_again_before_the_first_token() {
    let pushback = |said: &str| {
        let mut metadata = MetadataMap::new();
        metadata.insert("grpc-retry-pushback-ms", said.parse().unwrap());
        Status::with_metadata(tonic::Code::ResourceExhausted, "queue full", metadata)
    };
    let whole = sends(&[part(&[7, 8, 9]), end(&[7, 8, 9], "length")]);
    let wanted = pushback("700");
    let server = Vllm::start(move |number, _| match number {
        0 => Err(Status::unavailable("loading")),
        // The answer has begun, but no token came.
        1 => Ok(vec![Act::Fail(wanted.clone())]),
        _ => Ok(whole.clone()),
    });
    let before = Instant::now();
    let (taken, outcome) = ask(&server.settings(3));
    outcome.unwrap();
    assert_eq!(taken, [7, 8, 9]);
    assert!(before.elapsed().as_millis() >= 1200, "as long as it asked for");
    let names: Vec<_> = server.seen.requests.lock().iter().map(|r| r.request_id.clone()).collect();
    assert!(names.len() == 3 && names[0] != names[1] && names[1] != names[2], "{names:?}");
    for (status, words) in [
        (pushback("0"), "queue full; it wants a pause of 0 s, tried 4 times"),
        (pushback("-1"), "status ResourceExhausted: queue full"),
        (pushback("60000"), "it wants a pause of 60 s, tried 1 times"),
    ] {
        let server = Vllm::start(move |_, _| Err(status.clone()));
        let error = ask(&server.settings(3)).1.unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(&server.url), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_or_is_none_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let error = ask(&of(&[&url], 3)).1.unwrap_err().to_string();
    assert!(error.contains(&url) && error.contains("refused"), "{error}");
    let page = super::super::fake::refusal("200 OK", "", "hello");
    let other = super::super::fake::Fake::always(page);
    let error = ask(&of(&[&other.url], 3)).1.unwrap_err().to_string();
    assert!(error.contains(&other.url) && error.contains("no answer"), "{error}");
}

#[test]
fn servers_are_reached_over_tls() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for folder in &folders {
        make_certificates(folder.path(), &["localhost".into()]).unwrap();
    }
    let tls = Some(acceptor(folders[0].path(), "h2"));
    let whole = || sends(&[part(&[7, 8, 9]), end(&[9], "length")]);
    let server = Vllm::serving("tiny", 2048, tls, move |_, _| Ok(whole()));
    let url = server.url.replace("http://127.0.0.1", "https://localhost");
    for (folder, words) in folders.iter().zip(["", "invalid peer certificate"]) {
        let mut settings = of(&[&url], 3);
        settings.servers.tls =
            ClientTls::trusting_authority(&folder.path().join("ca.pem")).unwrap();
        let error = ask(&settings).1.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(words) && error.is_empty() == words.is_empty(), "{error}");
    }
}

#[test]
fn a_failed_request_is_cancelled() {
    let server = Vllm::always(vec![Act::Send(part(&[7, 8, 9, 10])), Act::Hang]);
    ask(&server.settings(3)).1.unwrap_err();
    wait_for(|| server.seen.left.load(Ordering::SeqCst) == 1);
}
