//! Language models in Python: outputs of both transports, faults of `generate`, and cancelled
//! outputs.

use std::{fs, io::BufWriter, time::Duration};

use e2e::{
    LoadGen, SutNode, assert_refused,
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

/// Returns [`MODEL`] with another body of `generate`.
fn with_body(body: &str) -> String {
    let old = &MODEL[MODEL.find("        seed").expect("a body")..];
    MODEL.replace(old, body)
}

/// Like [`with_body`], except for the prompt that is tried at the start, whose ids are equal.
fn once_ready(body: &str) -> String {
    let tried = "        if len(set(request.ids.tolist())) == 1:\n            yield 2\n            return\n";
    with_body(&[tried, body].concat())
}

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
    let run = run.data("x", dataset).accuracy();
    if scenario == "server" { run.set("server_target_qps=300") } else { run }
}

#[test]
fn a_time_to_wait_for_a_batch_is_refused() {
    let engine = PythonEngine::new(MODEL);
    let started = engine.try_node(&["--batch-timeout", "1ms"]);
    assert_refused(started, "--batch-timeout is for `infer`");
    engine.write("engine.toml", "[batching.default]\nbatch_timeout = '1ms'");
    assert_refused(engine.try_node(&[]), "[batching.default]: batch_timeout is for `infer`");
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
fn faults_of_generate_are_found_at_the_start_or_fail_the_sample_and_the_engine_goes_on() {
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
        ("        yield 7\n        raise ValueError('overheated')\n", "ValueError: overheated"),
        ("        yield 7\n        raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("        yield 7\n        raise SystemExit(3)\n", "SystemExit: 3"),
        (
            "        yield 7\n        raise asyncio.CancelledError\n",
            "asyncio.exceptions.CancelledError",
        ),
        ("        if False:\n            yield 7\n", "generate ended after 0 ids"),
        (
            "        pass\n",
            "line 7: generate returned None; expected ids: write `yield` for each id",
        ),
        ("        return 7\n", "line 7: generate returned 7; expected ids"),
    ] {
        let is_named = |log: &str| log.contains("engine.py, line ") && log.contains(words);
        let changes: [fn(&str) -> String; 2] = [str::to_owned, one_by_one];
        for change in changes {
            let log = PythonEngine::new(&change(&with_body(new))).try_node(&[]);
            let log = log.expect_err("it fails when it is tried");
            assert!(is_named(&log), "{words}: {log}");
            if !new.contains("yield") {
                // With the `yield` of `once_ready` it would be a generator.
                continue;
            }
            let engine = PythonEngine::new(&change(&once_ready(new)));
            let mut node = engine.node(&[]);
            for _ in 0..2 {
                let run = accuracy_run(&node, "offline", "synthetic-ids:4x3-9");
                run.run().expect_failure(words);
            }
            let (_, log) = node.stop();
            assert!(is_named(&log) && !log.contains("a stream broke"), "{words}: {log}");
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
    let slow = "        yield 7\n        await asyncio.sleep(600)\n";
    let engine = PythonEngine::new(&once_ready(slow));
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
    assert_eq!(node.stop().0, Some(0));
}

#[test]
fn a_generator_that_hangs_fails_its_samples() {
    let hanging = once_ready("        yield 7\n        import time; time.sleep(600)\n");
    for source in [one_by_one(&hanging), hanging] {
        let engine = PythonEngine::new(&source);
        let node = engine.node(&["--engine-timeout", "1s"]);
        let run = accuracy_run(&node, "offline", "synthetic-ids:4x3-9");
        run.run().expect_failure(": none within --engine-timeout, 1 s");
    }
}

#[test]
fn sixty_four_requests_run_at_once() {
    // Each waits until all have begun.
    let together = "        Oracle.begun = getattr(Oracle, 'begun', 0) + 1\n        while Oracle.begun < 64:\n            await asyncio.sleep(0.001)\n        yield 7\n        yield 2\n";
    let engine = PythonEngine::new(&once_ready(together));
    let node = engine.node(&[]);
    accuracy_run(&node, "offline", "synthetic-ids:64x3-9").run().expect(0);
}

#[test]
fn a_generator_is_closed_when_its_client_has_gone() {
    let endless = "        try:\n            for _ in range(39):\n                yield 7\n                await asyncio.sleep(30)\n        finally:\n            open(__file__ + '.closed', 'w').close()\n";
    let by_sleeping = endless.replace("await asyncio.sleep(30)", "import time; time.sleep(0.2)");
    for body_of in [endless.to_owned(), one_by_one(&by_sleeping)] {
        let source = once_ready(&body_of);
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
