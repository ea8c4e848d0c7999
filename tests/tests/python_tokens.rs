//! Language models in Python: outputs of both transports, faults of `generate`, and cancelled
//! outputs.

use std::{fs, io::BufWriter, time::Duration};

use e2e::{
    LoadGen, SutNode,
    process::{children, send_signal, wait_until},
    python_engine::PythonEngine,
};
use netdiv_dataset::write_ids;

/// A language model whose output is a function of its prompt, and ends with the id 2.
const MODEL: &str = "
import asyncio

class Oracle:
    vocabulary, max_input_tokens, max_tokens, eos = 32000, 64, 40, [2]
    prefix_caching = False

    async def generate(self, request):
        seed = int(request.ids.sum())
        for place in range(seed % 38 + 1):
            yield 10 + (7 * seed + 13 * place) % 1000
            if place % 3 == 0:
                await asyncio.sleep(0)
        yield 2
";

/// Returns the output of [`MODEL`].
fn output(prompt: &[i32]) -> Vec<i32> {
    let seed: i32 = prompt.iter().sum();
    let ids = (0..seed % 38 + 1).map(|place| 10 + (7 * seed + 13 * place) % 1000);
    ids.chain([2]).collect()
}

/// Removes what makes the iterator asynchronous.
fn one_by_one(source: &str) -> String {
    source.replace("async def", "def").replace("await asyncio.sleep(0)", "pass")
}

fn accuracy_run(node: &SutNode, scenario: &str, dataset: &str) -> LoadGen {
    let run = LoadGen::new(&[&node.address], scenario).counting_tokens();
    let run = run.args(&["--benchmark", "x", "--dataset", dataset, "--mode", "accuracy"]);
    if scenario == "server" { run.args(&["--setting", "server_target_qps=300"]) } else { run }
}

#[test]
fn a_time_to_wait_for_a_batch_is_refused() {
    let engine = PythonEngine::new(MODEL);
    let log = engine.try_node(&["--batch-timeout", "1ms"]).expect_err("no batches");
    assert!(log.contains("--batch-timeout is for `infer`"), "{log}");
    fs::write(engine.path("engine.toml"), "[batching.default]\nbatch_timeout = '1ms'")
        .expect("a writable path");
    let log = engine.try_node(&[]).expect_err("no batches");
    assert!(log.contains("[batching.default]: batch_timeout is for `infer`"), "{log}");
}

#[test]
fn every_id_of_six_hundred_outputs_is_right() {
    for source in [MODEL.to_owned(), one_by_one(MODEL)] {
        let engine = PythonEngine::new(&source);
        let mut chance = 1_u32;
        let mut next = |most: u32| {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chance >> 8) % most
        };
        let prompts: Vec<Vec<i32>> =
            (0..600).map(|_| (0..=next(63)).map(|_| next(1100) as i32).collect()).collect();
        let outputs: Vec<Vec<i32>> = prompts.iter().map(|prompt| output(prompt)).collect();
        for (name, rows) in [("prompts.ids", &prompts), ("outputs.ids", &outputs)] {
            let file = fs::File::create(engine.path(name)).expect("a writable path");
            write_ids(&mut BufWriter::new(file), rows).expect("a writable path");
        }
        for transport in ["grpc", "quic"] {
            let node = engine.node(&[]);
            for scenario in ["offline", "server"] {
                let run = accuracy_run(&node, scenario, &engine.path("prompts.ids"));
                let run = run.transport(transport).args(&["--labels", &engine.path("outputs.ids")]);
                let result = run.run().expect(0).result();
                let accuracy = &result["accuracy"];
                let right = (&accuracy["correct"], &accuracy["total"]);
                assert_eq!(right, (&600.into(), &600.into()), "{transport} {scenario}: {result:#}");
            }
        }
    }
}

#[test]
fn faults_of_generate_fail_the_sample_and_the_engine_goes_on() {
    let body = &MODEL[MODEL.find("        seed").expect("a body")..];
    for (new, words) in [
        ("        yield 32000\n", "line 7: generate yielded the id 32000; ids go from 0 to 31999"),
        ("        yield -1\n", "line 7: generate yielded the id -1"),
        (
            "        yield 2\n        yield 3\n",
            "line 7: generate yielded 3 after the id that ends the output",
        ),
        (
            "        while True:\n            yield 7\n",
            "generate yielded more than max_tokens = 40 ids; it must end",
        ),
        ("        yield 'word'\n", "generate yielded 'word'; expected an id, or a list of ids"),
        (
            "        yield 7\n",
            "generate ended after 1 of 40 ids, without an id that ends an output",
        ),
        (
            "        yield 7\n        raise ValueError('overheated')\n",
            "line 9: ValueError: overheated",
        ),
        ("        if False:\n            yield 7\n", "generate ended after 0 ids"),
        (
            "        pass\n",
            "line 7: generate returned None; expected ids: write `yield` for each id",
        ),
        ("        return 7\n", "line 7: generate returned 7; expected ids"),
    ] {
        for source in [MODEL.replace(body, new), one_by_one(&MODEL.replace(body, new))] {
            let engine = PythonEngine::new(&source);
            let node = engine.node(&[]);
            for _ in 0..2 {
                let run = accuracy_run(&node, "offline", "synthetic-ids:4x3-9");
                run.run().expect_failure(words);
            }
        }
    }
}

/// Returns the process id of a node's worker.
fn worker(node: &SutNode) -> u32 {
    let [worker] = children(node.id())[..] else { panic!("one worker") };
    worker
}

#[test]
fn the_loss_of_a_worker_fails_all_samples_and_ends_the_node() {
    let body = &MODEL[MODEL.find("        seed").expect("a body")..];
    let slow = "        yield 7\n        await asyncio.sleep(600)\n";
    let engine = PythonEngine::new(&MODEL.replace(body, slow));
    let mut node = engine.node(&["--max-batch", "4"]);
    let run = accuracy_run(&node, "offline", "synthetic-ids:64x3-9").start();
    run.wait_for_test();
    std::thread::sleep(Duration::from_millis(300));
    send_signal(worker(&node), "-KILL");
    run.wait().expect_failure("killed by signal 9");
    assert_eq!(node.wait().0, Some(1));
}

#[test]
fn a_worker_leaves_signals_to_its_node() {
    let engine = PythonEngine::new(MODEL);
    let mut node = engine.node(&[]);
    send_signal(worker(&node), "-TERM");
    accuracy_run(&node, "offline", "synthetic-ids:8x3-9").run().expect(0);
    node.signal("-TERM");
    assert_eq!(node.wait().0, Some(0));
}

#[test]
fn a_generator_that_hangs_fails_its_samples() {
    let body = &MODEL[MODEL.find("        seed").expect("a body")..];
    let hanging = "        yield 7\n        import time; time.sleep(600)\n";
    for source in [MODEL.replace(body, hanging), one_by_one(&MODEL.replace(body, hanging))] {
        let engine = PythonEngine::new(&source);
        let node = engine.node(&["--engine-timeout", "400ms"]);
        let run = accuracy_run(&node, "offline", "synthetic-ids:4x3-9");
        run.run().expect_failure("tokens: none within --engine-timeout, 0.4 s");
    }
}

#[test]
fn sixty_four_requests_run_at_once() {
    let body = &MODEL[MODEL.find("        seed").expect("a body")..];
    // Each waits until all have begun.
    let together = "        Oracle.begun = getattr(Oracle, 'begun', 0) + 1\n        while Oracle.begun < 64:\n            await asyncio.sleep(0.001)\n        yield 7\n        yield 2\n";
    let engine = PythonEngine::new(&MODEL.replace(body, together));
    let node = engine.node(&[]);
    accuracy_run(&node, "offline", "synthetic-ids:64x3-9").run().expect(0);
}

#[test]
fn a_generator_is_closed_when_its_client_has_gone() {
    let body = &MODEL[MODEL.find("        seed").expect("a body")..];
    let endless = "        try:\n            for _ in range(39):\n                yield 7\n                await asyncio.sleep(30)\n        finally:\n            open(__file__ + '.closed', 'w').close()\n";
    let by_sleeping = endless.replace("await asyncio.sleep(30)", "import time; time.sleep(0.2)");
    for body_of in [endless.to_owned(), one_by_one(&by_sleeping)] {
        let source = MODEL.replace(body, &body_of);
        let source =
            if body_of.contains("await") { source } else { source.replace("async def", "def") };
        let engine = PythonEngine::new(&source);
        let node = engine.node(&[]);
        let run = accuracy_run(&node, "offline", "synthetic-ids:1x3-9").start();
        run.wait_for_test();
        std::thread::sleep(Duration::from_millis(500));
        send_signal(run.id(), "-KILL");
        drop(run.wait());
        let closed = engine.path("engine.py.closed");
        wait_until("the generator is closed", || fs::exists(&closed).is_ok_and(|there| there));
        // Its slot is free again.
        drop(node);
    }
}
