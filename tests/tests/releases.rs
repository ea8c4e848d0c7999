//! A LoadGen node and SUT nodes of two builds. `make test` runs these tests with the programs of
//! one build, and `make compatibility BASE=…` with one of the programs from another build. They use
//! only options and figures that both have.

use e2e::{LoadGen, Outcome, SutNode, process::other_build};

/// Runs to completion. Returns `None` if the run is refused because the programs' versions of the
/// wire contract differ, as those of two builds may.
fn together(run: LoadGen) -> Option<Outcome> {
    const REFUSED: &str = " of the wire contract";
    let outcome = run.run();
    if outcome.stderr.contains(REFUSED) {
        let is_other = |name: &&str| other_build(name).is_some();
        assert!(["sut-node", "loadgen-node"].iter().any(is_other), "{outcome:#?}");
        outcome.assert_refused(REFUSED);
        return None;
    }
    Some(outcome.expect(0))
}

#[test]
fn samples_and_responses_arrive_as_they_were_sent() {
    let (a, b) = (SutNode::echo("a", &[]), SutNode::echo("b", &[]));
    for (scenario, encoding) in [("offline", "zstd"), ("server", "lz4"), ("single-stream", "none")]
    {
        let run = LoadGen::new(&[&a.address, &b.address], scenario)
            .fabric("64x5000")
            .accuracy()
            .set("server_target_qps=500")
            .args(&["--digests", "--checksums", "--encoding", encoding]);
        let Some(outcome) = together(run) else { return };
        let result = outcome.result();
        assert_eq!(result["samples"]["completed"], 64, "{result:#}");
        for tally in ["samples", "responses"] {
            assert_eq!(result["digests"][tally]["differences"], 0, "{result:#}");
        }
    }
}

#[test]
fn first_tokens_and_outputs_are_those_of_the_model() {
    let echo = SutNode::echo("a", &[]);
    let run = LoadGen::new(&[&echo.address], "offline").fabric("64x4").accuracy();
    if together(run).is_none() {
        return;
    }
    let node = SutNode::start("b", &["--engine", "decoder", "--model", "sorting"]);
    let run = LoadGen::new(&[&node.address], "server")
        .args(&["--benchmark", "sorting"])
        .accuracy()
        .set("server_target_qps=400")
        .patient();
    let Some(outcome) = together(run) else { return };
    let result = outcome.result();
    assert_eq!(result["accuracy"]["correct"], 500, "{result:#}");
}
