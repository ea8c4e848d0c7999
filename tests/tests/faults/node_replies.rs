//! Faults in a node's replies.

use e2e::{
    Behaviour,
    fake_node::{BEFORE_THE_RUN, DescriptionChange, Reply, answer},
};
use netdiv_contract::v1::{InferRequest, InferResponse, Status};

use super::fault::{ExpectedEnd, Fault, RunKind};

/// Returns two responses: a copy of the correct response with this id, and then the correct
/// response.
fn beside(request: &InferRequest, id: u64) -> Vec<InferResponse> {
    vec![InferResponse { id, ..answer(request) }, answer(request)]
}

pub fn faults() -> Vec<Fault> {
    let replies = |name: &str, words, reply: Reply| {
        Fault::answers(name, words, Behaviour { reply, ..Behaviour::good("fake") })
    };
    // Each response is correct before it is changed.
    let spoiled = |name: &str, words, spoil: fn(&mut InferResponse)| {
        Fault::answers(name, words, Behaviour { spoil, ..Behaviour::good("fake") })
    };
    // The description changes after the run.
    let changed = |name: &str, words, change: DescriptionChange| {
        let description_change = Some((BEFORE_THE_RUN + 1, change));
        let node = Behaviour { description_change, ..Behaviour::good("fake") };
        Fault::answers(name, words, node).run(RunKind::Performance(0, 1))
    };
    let unassigned = |name: &str, reply: Reply| {
        let words = "64 replies belonged to no sample and were dropped";
        replies(name, "", reply).expect(ExpectedEnd::Finding(words))
    };
    let behaves = |name: &str, words, change: fn(&mut Behaviour)| {
        let mut behaviour = Behaviour::good("fake");
        change(&mut behaviour);
        Fault::answers(name, words, behaviour)
    };
    let patience = ["--sample-timeout", "500ms"];
    vec![
        unassigned("responses with unknown ids beside the correct ones", |_, request| {
            beside(&request, request.id ^ (1 << 60))
        }),
        unassigned("responses with stale ids beside the correct ones", |_, request| {
            beside(&request, request.id.wrapping_sub(1 << 24))
        }),
        unassigned("each response is sent twice", |_, request| beside(&request, request.id)),
        unassigned(
            "responses with ids of another stream, which may be in flight there",
            |_, request| beside(&request, request.id ^ (1 << 48)),
        )
        .args(&["--streams", "2"]),
        spoiled(
            "responses with unknown ids only",
            "has not answered any of its samples",
            |response| response.id = !response.id,
        )
        .args(&patience),
        replies("node answers half of its samples", "has not answered any", |number, request| {
            if number % 2 == 0 { vec![answer(&request)] } else { vec![] }
        })
        .args(&patience),
        replies(
            "node loses one sample",
            "has not answered one of its samples for 0.5 s",
            |number, request| if number == 10 { vec![] } else { vec![answer(&request)] },
        )
        .scenario("server")
        .run(RunKind::Performance(600, 200))
        .args(&["--sample-deadline", "500ms"]),
        unassigned(
            "messages without id, status and payload beside the correct responses",
            |_, request| vec![InferResponse::default(), answer(&request)],
        ),
        behaves("an empty response, from a model that never sends one", "it is empty", |node| {
            node.description.never_empty = true;
            node.spoil = |response| response.payload.clear();
        }),
        spoiled("a response with status OK and an error", "OK, but it has the error", |response| {
            response.error = "sorry".into()
        }),
        spoiled(
            "an error that would clear the terminal and forge a line",
            // LoadGen's log escapes the backslash once more.
            "u{1b}[2J",
            |response| fail(response, Status::EngineFailed, "\u{1b}[2J\nINFO all is well"),
        ),
        spoiled("an error of a megabyte", "failed: xxxx", |response| {
            fail(response, Status::EngineFailed, &"x".repeat(1 << 20));
        }),
        behaves(
            "node ends its half of a stream without a reason",
            "lost node fake: it ended a stream of samples during the run.",
            |node| node.max_requests = 10,
        ),
        spoiled("engine fails", "the engine of node fake failed: out of memory", |response| {
            fail(response, Status::EngineFailed, "out of memory");
        }),
        spoiled("node refuses a sample", "node fake refuses a sample: too odd", |response| {
            fail(response, Status::BadSample, "too odd");
        })
        .scenario("single-stream"),
        spoiled("unknown status", "unknown status number 77", |response| response.status = 77)
            .scenario("server"),
        spoiled("damaged zstd payload", "incorrect); repeat with --checksums", |response| {
            (response.encoding, response.decoded_bytes) = (1, 8);
        }),
        spoiled("decompression bomb", "the limit is", |response| {
            (response.encoding, response.decoded_bytes) = (2, 1 << 40);
        }),
        behaves(
            "node counts fewer samples than were sent",
            "received 63 samples, but 64 were",
            |node| node.uncounted_samples = 1,
        ),
        behaves("end of the queries is never acknowledged", "no answer within 1 s", |node| {
            node.acknowledges_flush = false
        })
        .args(&["--control-timeout", "1s"]),
        changed("node has another name at the end", "now has the name impostor", |says| {
            says.node_name = "impostor".into();
        }),
        changed("node has another model at the end", "has a different model than at", |says| {
            says.model_sha256 = "00".repeat(32);
        }),
        changed(
            "node has other settings at the end",
            "a different digest of its settings",
            |says| {
                says.config_sha256 = "00".repeat(32);
            },
        ),
        changed("node is another machine at the end", "has a different machine than at", |says| {
            says.machine_id = "00".repeat(16);
        }),
    ]
}

fn fail(response: &mut InferResponse, status: Status, error: &str) {
    (response.status, response.error) = (status as i32, error.into());
}
