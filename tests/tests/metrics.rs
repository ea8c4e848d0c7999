//! Metrics of both programs: real runs emit exactly the metrics of the registry.

use std::{cell::RefCell, collections::BTreeSet, net::TcpListener};

use e2e::{
    LoadGen, SutNode, plugin,
    ports::free_address,
    scrape::{scrape, total},
    wait_until,
};
use netdiv_dataset::write_ids;
use netdiv_node_common::metrics::{Metric, both_programs, loadgen_node, sut_node};

/// Returns the series of a program with these metrics.
fn series(metrics: &[Metric]) -> BTreeSet<String> {
    metrics.iter().chain(both_programs::ALL).flat_map(Metric::series).collect()
}

/// Creates a run in which LoadGen counts first tokens.
fn chat(address: &str, dataset: &str) -> LoadGen {
    LoadGen::new(&[address], "server").data("chat", dataset).patient()
}

#[test]
fn nodes_emit_what_the_registry_has() {
    let files = [("toy.toml", plugin::COUNTER), ("model.txt", "counts")];
    let counter = plugin::Plugin::build("counter", &[], &files);
    let (batches, language) = (free_address(), free_address());
    let a = SutNode::echo("a", &["--metrics", &batches]);
    let b = counter.node("toy.toml", &["--metrics", &language]);
    let run = LoadGen::new(&[&a.address], "offline").short(100, 1000).run().result();
    let issued = run["samples"]["issued"].as_f64();
    let prompts: Vec<_> = (0..50).map(|n| vec![n + 8, 1]).collect();
    let mut ids = Vec::new();
    write_ids(&mut ids, &prompts).expect("writes to memory");
    let prompts = counter.folder.write("prompts.ids", ids);
    chat(&b.address, &prompts).short(1, 500).accuracy().run().expect(0);

    let (batches, language) = (scrape(&batches), scrape(&language));
    assert_eq!(Some(total(&batches, "netdiv_samples_received_total")), issued);
    assert_eq!(Some(total(&batches, "netdiv_batch_samples_sum")), issued);
    assert_eq!(
        total(&batches, "netdiv_batch_queue_duration_seconds_count"),
        total(&batches, "netdiv_batch_samples_count")
    );
    assert_eq!(total(&language, "netdiv_samples_received_total"), 50.0);
    assert_eq!(total(&language, "netdiv_slots"), 5.0);
    assert_eq!(total(&language, "netdiv_ready"), 1.0);
    let version = format!("version=\"{}\",revision=\"", env!("CARGO_PKG_VERSION"));
    assert!(batches["netdiv_build_info"][0].0.starts_with(&version), "{batches:#?}");
    let emitted: BTreeSet<_> = batches.into_keys().chain(language.into_keys()).collect();
    assert_eq!(emitted, series(sut_node::ALL));
}

#[test]
fn a_run_emits_what_the_registry_has_and_what_it_has_counted() {
    let tokens = ["--engine", "tokens", "--tokens-ttft", "5ms", "--tokens-tpot", "100us"];
    let node = SutNode::start("a", &tokens);
    let address = free_address();
    let run = chat(&node.address, "synthetic-ids:200x4-64")
        .short(60_000, 200)
        .args(&["--metrics", &address])
        .start();
    let seen = RefCell::new(scrape(&address));
    wait_until("the run has answers", || {
        *seen.borrow_mut() = scrape(&address);
        total(&seen.borrow(), "netdiv_loadgen_samples_answered_total") >= 20.0
    });
    drop(run);
    let seen = seen.into_inner();
    let emitted: BTreeSet<_> = seen.keys().cloned().collect();
    assert_eq!(emitted, series(loadgen_node::ALL));

    let total = |name: &str| total(&seen, &format!("netdiv_loadgen_{name}"));
    let (issued, answered) = (total("samples_issued_total"), total("samples_answered_total"));
    assert!(issued >= answered, "{seen:#?}");
    assert_eq!(total("sample_duration_seconds_count"), answered);
    assert_eq!(total("stage_duration_seconds_count"), 4.0 * answered);
    assert_eq!(total("first_token_duration_seconds_count"), answered);
    assert!(total("sample_duration_seconds_sum") >= 5e-3 * answered, "{seen:#?}");
    assert!(total("tokens_total") >= answered && total("sent_bytes_total") > 0.0, "{seen:#?}");
    let [failed, nodes, samples] = ["run_failed", "node_lost", "samples_lost"].map(total);
    assert_eq!([failed, nodes, samples], [0.0; 3]);
    let bounds = ["first_token", "further_token"]
        .map(|measure| (format!("measure=\"{measure}\",percentile=\"0.99\""), 20.0));
    assert_eq!(seen["netdiv_loadgen_latency_bound_seconds"], bounds);
    let buckets = &seen["netdiv_loadgen_first_token_duration_seconds_bucket"];
    assert!(buckets.iter().any(|(labels, _)| labels.ends_with("le=\"20\"")), "{buckets:?}");
    let (labels, _) = &seen["netdiv_loadgen_build_info"][0];
    let version = format!("version=\"{}\",revision=\"", env!("CARGO_PKG_VERSION"));
    assert!(labels.starts_with(&version) && labels.contains("loadgen=\""), "{labels}");
    let (labels, _) = &seen["netdiv_loadgen_run_info"][0];
    let want =
        "benchmark=\"chat\",scenario=\"server\",mode=\"performance\",division=\"exploratory\"";
    assert_eq!(labels, want);
    assert!(seen["netdiv_loadgen_sample_duration_seconds_sum"][0].0 == "node=\"a\"", "{seen:#?}");
}

#[test]
fn an_endpoint_that_cannot_be_is_refused() {
    let busy = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let busy = busy.local_addr().map(|address| (address.to_string(), busy)).expect("bound");
    for (address, why) in [
        ("here", "--metrics here: not an address of the form IP:PORT"),
        ("127.0.0.1:0", "name a port"),
        ("203.0.113.1:9000", "--metrics 203.0.113.1:9000: "),
        (&busy.0, "Address already in use"),
    ] {
        let run = LoadGen::new(&["127.0.0.1:1"], "offline").args(&["--metrics", address]);
        run.run().expect_refusal(why);
    }
}
