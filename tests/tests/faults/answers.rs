//! Faults of what a node answers.

use e2e::{
    Behaviour,
    fake_node::{BEFORE_THE_RUN, answer},
};
use netdiv_contract::v1::{DescribeResponse, InferRequest, InferResponse, Status};

use super::fault::{Expected, Fault, Run};

fn replies(reply: fn(usize, InferRequest) -> Vec<InferResponse>) -> Behaviour {
    Behaviour { reply, ..Behaviour::good("fake") }
}

/// The right answer with something wrong.
fn wrong(request: &InferRequest, spoil: impl FnOnce(&mut InferResponse)) -> Vec<InferResponse> {
    let mut response = answer(request);
    spoil(&mut response);
    vec![response]
}

/// Both a right answer and one with that id.
fn beside(request: &InferRequest, id: u64) -> Vec<InferResponse> {
    vec![InferResponse { id, ..answer(request) }, answer(request)]
}

/// A good node that says something else of itself once the run is over.
fn at_the_end(change: fn(&mut DescribeResponse)) -> Behaviour {
    Behaviour { changes_after: Some((BEFORE_THE_RUN + 1, change)), ..Behaviour::good("fake") }
}

pub fn faults() -> Vec<Fault> {
    let changed =
        |name: &str, words, node| Fault::answers(name, words, node).run(Run::Performance(0, 1));
    let nobody = Expected::Finding("64 replies belonged to no sample and were dropped");
    let nobodys =
        |name: &str, node| Fault { expected: nobody.clone(), ..Fault::answers(name, "", node) };
    let patience = ["--sample-timeout", "500ms"];
    vec![
        nobodys("answers with unknown ids beside the right ones", || {
            replies(|_, request| beside(&request, request.id ^ (1 << 60)))
        }),
        nobodys("answers with stale ids beside the right ones", || {
            replies(|_, request| beside(&request, request.id.wrapping_sub(1 << 24)))
        }),
        nobodys("each answer comes twice", || {
            replies(|_, request| vec![answer(&request), answer(&request)])
        }),
        nobodys("answers with ids of another stream, which may be in flight there", || {
            replies(|_, request| beside(&request, request.id ^ (1 << 48)))
        })
        .args(&["--streams", "2"]),
        Fault::answers("answers to strangers only", "has not answered any of its samples", || {
            replies(|_, request| wrong(&request, |response| response.id = !request.id))
        })
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
        .run(Run::Performance(600, 200))
        .args(&["--sample-deadline", "500ms"]),
        nobodys("messages without id, status and payload beside the right answers", || {
            replies(|_, request| vec![InferResponse::default(), answer(&request)])
        }),
        Fault::answers("an empty answer, where the model gives none", "it is empty", || {
            let mut node =
                replies(|_, request| wrong(&request, |response| response.payload.clear()));
            node.description.never_empty = true;
            node
        }),
        Fault::answers("an answer that is OK and has an error", "OK and has the error", || {
            replies(|_, request| wrong(&request, |response| response.error = "sorry".into()))
        }),
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
            "node ends its half of a stream and gives no reason",
            "lost node fake: it ended a stream of samples in mid-run.",
            || Behaviour { ends_after: 10, ..Behaviour::good("fake") },
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
        Fault::answers("damaged zstd payload", "damaged zstd payload", || {
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
            "node counts other samples than were sent",
            "has received 63 samples, 64 were",
            || Behaviour { denies: 1, ..Behaviour::good("fake") },
        ),
        Fault::answers("end of the queries is never acknowledged", "no answer within 1 s", || {
            Behaviour { acknowledges_flush: false, ..Behaviour::good("fake") }
        })
        .args(&["--control-timeout", "1s"]),
        changed("node has another name at the end", "now calls itself impostor", || {
            at_the_end(|says| says.node_name = "impostor".into())
        }),
        changed("node has another model at the end", "has another model than at", || {
            at_the_end(|says| says.model_sha256 = "00".repeat(32))
        }),
        changed("node has other settings at the end", "another digest of its settings", || {
            at_the_end(|says| says.config_sha256 = "00".repeat(32))
        }),
        changed("node is another machine at the end", "has another machine than at", || {
            at_the_end(|says| says.machine_id = "00".repeat(16))
        }),
    ]
}
