//! Faults in a node's replies.

use e2e::{
    Behaviour,
    fake_node::{BEFORE_THE_RUN, answer},
};
use netdiv_contract::v1::{DescribeResponse, InferRequest, InferResponse, Status};

use super::fault::{ExpectedEnd, Fault, RunKind};

fn replies(reply: fn(usize, InferRequest) -> Vec<InferResponse>) -> Behaviour {
    Behaviour { reply, ..Behaviour::good("fake") }
}

/// Returns the correct response after `spoil` has changed it.
fn wrong(request: &InferRequest, spoil: impl FnOnce(&mut InferResponse)) -> Vec<InferResponse> {
    let mut response = answer(request);
    spoil(&mut response);
    vec![response]
}

/// Returns two responses: a copy of the correct response with this id, and then the correct
/// response.
fn beside(request: &InferRequest, id: u64) -> Vec<InferResponse> {
    vec![InferResponse { id, ..answer(request) }, answer(request)]
}

/// Returns the behaviour of a good node whose description changes after the run.
fn at_the_end(change: fn(&mut DescribeResponse)) -> Behaviour {
    Behaviour { description_change: Some((BEFORE_THE_RUN + 1, change)), ..Behaviour::good("fake") }
}

pub fn faults() -> Vec<Fault> {
    let changed =
        |name: &str, words, node| Fault::answers(name, words, node).run(RunKind::Performance(0, 1));
    let dropped = ExpectedEnd::Finding("64 replies belonged to no sample and were dropped");
    let unassigned =
        |name: &str, node| Fault { expected: dropped.clone(), ..Fault::answers(name, "", node) };
    let patience = ["--sample-timeout", "500ms"];
    vec![
        unassigned("responses with unknown ids beside the correct ones", || {
            replies(|_, request| beside(&request, request.id ^ (1 << 60)))
        }),
        unassigned("responses with stale ids beside the correct ones", || {
            replies(|_, request| beside(&request, request.id.wrapping_sub(1 << 24)))
        }),
        unassigned("each response is sent twice", || {
            replies(|_, request| vec![answer(&request), answer(&request)])
        }),
        unassigned("responses with ids of another stream, which may be in flight there", || {
            replies(|_, request| beside(&request, request.id ^ (1 << 48)))
        })
        .args(&["--streams", "2"]),
        Fault::answers(
            "responses with unknown ids only",
            "has not answered any of its samples",
            || replies(|_, request| wrong(&request, |response| response.id = !request.id)),
        )
        .args(&patience),
        Fault::answers("node answers half of its samples", "has not answered any", || {
            replies(|number, request| if number % 2 == 0 { vec![answer(&request)] } else { vec![] })
        })
        .args(&patience),
        Fault::answers(
            "node loses one sample",
            "has not answered one of its samples for 0.5 s",
            || {
                replies(
                    |number, request| if number == 10 { vec![] } else { vec![answer(&request)] },
                )
            },
        )
        .scenario("server")
        .run(RunKind::Performance(600, 200))
        .args(&["--sample-deadline", "500ms"]),
        unassigned("messages without id, status and payload beside the correct responses", || {
            replies(|_, request| vec![InferResponse::default(), answer(&request)])
        }),
        Fault::answers(
            "an empty response, from a model that never sends one",
            "it is empty",
            || {
                let mut node =
                    replies(|_, request| wrong(&request, |response| response.payload.clear()));
                node.description.never_empty = true;
                node
            },
        ),
        Fault::answers(
            "a response with status OK and an error",
            "OK, but it has the error",
            || replies(|_, request| wrong(&request, |response| response.error = "sorry".into())),
        ),
        Fault::answers(
            "an error that would clear the terminal and forge a line",
            // LoadGen's log escapes the backslash once more.
            "u{1b}[2J",
            || {
                replies(|_, request| {
                    wrong(&request, |response| {
                        response.status = Status::EngineFailed as i32;
                        response.error = "\u{1b}[2J\nINFO all is well".into();
                    })
                })
            },
        ),
        Fault::answers("an error of a megabyte", "failed: xxxx", || {
            replies(|_, request| {
                wrong(&request, |response| {
                    response.status = Status::EngineFailed as i32;
                    response.error = "x".repeat(1 << 20);
                })
            })
        }),
        Fault::answers(
            "node ends its half of a stream without a reason",
            "lost node fake: it ended a stream of samples during the run.",
            || Behaviour { max_requests: 10, ..Behaviour::good("fake") },
        ),
        Fault::answers("engine fails", "the engine of node fake failed: out of memory", || {
            replies(|_, request| {
                wrong(&request, |response| {
                    response.status = Status::EngineFailed as i32;
                    response.error = "out of memory".into();
                })
            })
        }),
        Fault::answers("node refuses a sample", "node fake refuses a sample: too odd", || {
            replies(|_, request| {
                wrong(&request, |response| {
                    response.status = Status::BadSample as i32;
                    response.error = "too odd".into();
                })
            })
        })
        .scenario("single-stream"),
        Fault::answers("unknown status", "unknown status number 77", || {
            replies(|_, request| wrong(&request, |response| response.status = 77))
        })
        .scenario("server"),
        Fault::answers("damaged zstd payload", "incorrect); repeat with --checksums", || {
            replies(|_, request| {
                wrong(&request, |response| (response.encoding, response.decoded_bytes) = (1, 8))
            })
        }),
        Fault::answers("decompression bomb", "the limit is", || {
            replies(|_, request| {
                wrong(&request, |response| {
                    (response.encoding, response.decoded_bytes) = (2, 1 << 40)
                })
            })
        }),
        Fault::answers(
            "node counts fewer samples than were sent",
            "received 63 samples, but 64 were",
            || Behaviour { uncounted_samples: 1, ..Behaviour::good("fake") },
        ),
        Fault::answers("end of the queries is never acknowledged", "no answer within 1 s", || {
            Behaviour { acknowledges_flush: false, ..Behaviour::good("fake") }
        })
        .args(&["--control-timeout", "1s"]),
        changed("node has another name at the end", "now has the name impostor", || {
            at_the_end(|says| says.node_name = "impostor".into())
        }),
        changed("node has another model at the end", "has a different model than at", || {
            at_the_end(|says| says.model_sha256 = "00".repeat(32))
        }),
        changed("node has other settings at the end", "a different digest of its settings", || {
            at_the_end(|says| says.config_sha256 = "00".repeat(32))
        }),
        changed("node is another machine at the end", "has a different machine than at", || {
            at_the_end(|says| says.machine_id = "00".repeat(16))
        }),
    ]
}
