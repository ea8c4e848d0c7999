//! Faults of a node or a serving engine before the first token of an output, between the first and
//! the last, and after the last.

use std::time::Duration;

use e2e::{
    Faults,
    fake_engine::{EngineFault, EngineFaultKind, FaultPoint, OUTPUT_TOKENS, PROBE},
};

use super::{
    fault::{ExpectedEnd, Fault, FaultTime, StruckNode, silence_reason},
    stage::Stage,
};

/// Paces at which the struck node and the good node send tokens, as options of the nodes.
struct Pace {
    title: &'static str,
    struck: &'static [&'static str],
    company: &'static [&'static str],
}

/// An hour until the first token.
const BEFORE: Pace =
    Pace { title: "before the first token", struck: &["--tokens-ttft", "1h"], company: &[] };

/// An hour from the first token to the second.
const BETWEEN: Pace = Pace {
    title: "between the first token and the last",
    struck: &["--tokens-tpot", "1h"],
    company: &[],
};

/// All tokens at once. The good node sends tokens for 6 s, so that the run does not end.
const AFTER: Pace =
    Pace { title: "after the last token", struck: &[], company: &["--tokens-tpot", "150ms"] };

pub fn faults() -> Vec<Fault> {
    let lost = "lost node struck: ";
    let fails = |what: &str, pace: &Pace, inject| {
        Fault::of_tokens(&format!("{what} {}", pace.title), lost, pace.struck, inject)
            .company_args(pace.company)
    };
    // LoadGen would receive two first tokens.
    let told = "LoadGen has the first token of a sample that node struck has not finished";
    let goes_on = |what: &str, pace: &Pace, inject| {
        let fault = fails(&format!("redispatch: {what}"), pace, inject)
            .args(&["--on-node-loss", "redispatch"]);
        match pace.title == BETWEEN.title {
            true => fault.expect(ExpectedEnd::Failed(told)),
            false => Fault { limit: Duration::from_secs(60), ..fault }
                .expect(ExpectedEnd::Finding("the run went on without it")),
        }
    };
    let mut faults = Vec::new();
    for pace in [BEFORE, BETWEEN, AFTER] {
        faults.push(fails("node killed", &pace, kill));
        let frozen = fails("node frozen", &pace, freeze);
        faults.push(frozen.expect(ExpectedEnd::Failed(silence_reason())));
        let cut_off = fails("network cut", &pace, cut).wired();
        faults.push(cut_off.expect(ExpectedEnd::Failed(silence_reason())));
        faults.push(goes_on("node killed", &pace, kill));
        faults.push(goes_on("node frozen", &pace, freeze));
        faults.push(goes_on("network cut", &pace, cut).wired());
    }
    faults.extend(of_engines());
    faults
}

/// Returns faults of a serving engine behind a node. No such fault loses the node, which must serve
/// a second run.
fn of_engines() -> Vec<Fault> {
    let fails = |name: &str, words, mishap: EngineFault| {
        let fault = Fault::of_tokens(name, words, &[], |_| {}).alone();
        // Long enough for the other samples on a busy machine.
        let node_args = vec!["--url-timeout", "5s"];
        let limit = Duration::from_secs(60);
        Fault { node: StruckNode::Serving(mishap), node_args, is_reusable: true, limit, ..fault }
            .when(FaultTime::Before)
    };
    let one = PROBE + 20..PROBE + 21;
    let mut faults = Vec::new();
    for (what, wrong, words) in [
        (
            "dies",
            EngineFaultKind::Closed,
            ["after 0 tokens: ", "after 1 token: ", "after 8 tokens: "],
        ),
        (
            "freezes or is cut off",
            EngineFaultKind::Silent,
            [
                "after 0 tokens: no progress within --url-timeout",
                "after 1 token: no progress within --url-timeout",
                "after 8 tokens: no progress within --url-timeout",
            ],
        ),
        (
            "reports an error in its stream",
            EngineFaultKind::Error,
            [
                "after 0 tokens: the server failed: CUDA error",
                "after 1 token: the server failed: CUDA error",
                "after 8 tokens: the server failed: CUDA error",
            ],
        ),
    ] {
        let times = [(BEFORE, 0), (BETWEEN, 1), (AFTER, OUTPUT_TOKENS)];
        for ((pace, tokens), words) in times.into_iter().zip(words) {
            let mishap =
                EngineFault { requests: one.clone(), after: FaultPoint::Tokens(tokens), wrong };
            faults.push(fails(&format!("serving engine {what} {}", pace.title), words, mishap));
        }
    }
    let never = EngineFault {
        requests: PROBE..usize::MAX,
        after: FaultPoint::End,
        wrong: EngineFaultKind::Silent,
    };
    faults.push(
        fails("serving engine never ends its responses", "", never).expect(ExpectedEnd::Unaffected),
    );
    faults
}

fn kill(stage: &mut Stage) {
    stage.signal("-KILL");
}

fn freeze(stage: &mut Stage) {
    stage.signal("-STOP");
}

fn cut(stage: &mut Stage) {
    stage.wire().set(Faults::cut());
}
