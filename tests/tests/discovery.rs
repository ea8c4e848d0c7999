//! Values of `--nodes`: host lists, files and DNS names, over real sockets.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    time::Duration,
};

use e2e::{
    Behaviour, FakeNode, Folder, LoadGen, SutNode,
    process::{loadgen_node, transport},
};
use serde_json::{Value, json};

/// Starts a node at each of these hosts, all at one port.
fn nodes_at(hosts: &[String], args: &[&str]) -> (Vec<SutNode>, u16) {
    let start = |host: &String, port: u16| {
        let name = format!("at-{}", host.replace([':', '[', ']'], "-"));
        let args = [&["--engine", "echo", "--name", &name], args].concat();
        SutNode::try_start_at(&format!("{host}:{port}"), &args)
    };
    // A port that is free at the first address may be in use at another.
    for _ in 0..20 {
        let first = start(&hosts[0], 0).expect("a node");
        let port = first.address.parse::<SocketAddr>().expect("an address").port();
        let others = hosts[1..].iter().map(|host| start(host, port));
        if let Ok(others) = others.collect::<Result<Vec<_>, _>>() {
            return (std::iter::once(first).chain(others).collect(), port);
        }
    }
    panic!("no port is free at all of {hosts:?}");
}

fn run(nodes: &str) -> LoadGen {
    LoadGen::new(&[nodes], "offline").fabric("64x64").accuracy()
}

fn addresses(result: &Value) -> Value {
    let nodes = result["nodes"].as_array().expect("nodes").iter();
    nodes.map(|node| node["address"].clone()).collect()
}

#[test]
fn host_lists_and_files_name_the_same_nodes() {
    let hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map(str::to_owned);
    let (_nodes, port) = nodes_at(&hosts, &[]);
    let want = json!(hosts.map(|host| format!("{host}:{port}")));
    let folder = Folder::create();
    let text = format!("# all of them\n127.0.0.[1-2] # two\n\n 127.0.0.3:{port}\n");
    let file = folder.write("nodes", text);
    let port = port.to_string();
    for named in [
        format!("127.0.0.[1-3]:{port}"),
        format!("127.0.0.[1,2]:{port}, 127.0.0.3"),
        format!("@{file}"),
    ] {
        let outcome = run(&named).args(&["--nodes-port", &port, "--nodes-expected", "3"]).run();
        let result = outcome.expect(0).result();
        assert_eq!(addresses(&result), want, "{named}");
        // The settings in the record hold the resolved addresses.
        assert_eq!(result["settings"]["nodes"], want, "{named}");
    }
    run(&format!("127.0.0.[1-3]:{port}"))
        .args(&["--nodes-expected", "4"])
        .run()
        .expect_refusal("--nodes-expected is 4, but --nodes has 3");
    run("@/nowhere").run().expect_refusal("--nodes @/nowhere: No such file");
}

/// Returns the IP addresses of `localhost` on this machine, each once.
fn localhost() -> Vec<String> {
    let mut all: Vec<_> = ("localhost", 0).to_socket_addrs().expect("localhost").collect();
    all.sort_unstable();
    all.dedup();
    let host = |address: SocketAddr| address.to_string().trim_end_matches(":0").to_owned();
    all.into_iter().map(host).collect()
}

#[test]
fn a_name_stands_for_all_of_its_addresses_and_is_the_one_that_certificates_are_for() {
    let folder = Folder::create();
    let path = |name: &str| folder.path(name);
    loadgen_node(&["certificates", "--hosts", "localhost", "--output", &path("")]).expect(0);
    let (certificate, key, ca) = (path("localhost.pem"), path("localhost.key"), path("ca.pem"));
    let tls = ["--tls-certificate", certificate.as_str(), "--tls-key", &key];
    let hosts = localhost();
    let (_nodes, port) = nodes_at(&hosts, &tls);
    let named = format!("dns:localhost:{port}");
    let count = hosts.len().to_string();
    for transport in ["grpc", "quic"] {
        let tls = ["--tls-ca", ca.as_str(), "--nodes-expected", &count];
        let outcome = run(&named).transport(transport).args(&tls).run();
        let result = outcome.expect(0).result();
        let want: Value = hosts.iter().map(|host| format!("localhost@{host}:{port}")).collect();
        assert_eq!(addresses(&result), want);
        assert_eq!(result["settings"]["nodes"], want);
        // The certificate is not valid for a bare address.
        let alone = run(&format!("{}:{port}", hosts[0])).transport(transport).args(&tls[..2]).run();
        alone.expect_refusal("authentication between");
    }
}

#[test]
fn a_name_that_has_no_address_is_waited_for_and_then_named() {
    let started = std::time::Instant::now();
    let wait = ["--insecure", "--connect-timeout", "1200ms"];
    let outcome = run("dns4:nodes.invalid:1").args(&wait).run();
    let outcome = outcome.expect_refusal("--nodes dns4:nodes.invalid:1: no address after 1.2 s");
    assert_eq!(
        outcome.stderr.matches("waiting for dns4:nodes.invalid:1 (up to 1.2 s, ").count(),
        1
    );
    assert!(started.elapsed() >= Duration::from_millis(1200));
    let few = ["--connect-timeout", "700ms", "--nodes-expected", "9"];
    let outcome = run("dns:localhost:1").args(&few).run();
    outcome.expect_refusal("--nodes-expected is 9, but --nodes has ");
}

#[test]
fn a_node_that_does_not_answer_is_announced_once() {
    let wait = ["--connect-timeout", "1200ms", "--connections", "3"];
    for transport in ["grpc", "quic"] {
        let outcome = run("127.0.0.1:1,127.0.0.2:1").transport(transport).args(&wait).run();
        let said = outcome.expect_refusal("no node answers at 127.0.0.1:1").stderr;
        assert!(said.contains("or raise --connect-timeout if it is still loading"), "{said}");
        for node in ["127.0.0.1:1", "127.0.0.2:1"] {
            let words = format!("waiting for {node} (up to 1.2 s, --connect-timeout)");
            assert_eq!(said.matches(&words).count(), 1, "{said}");
        }
    }
    let said = e2e::nodes(&["127.0.0.1:1"], Duration::from_millis(1200)).stderr;
    assert!(said.contains("waiting for 127.0.0.1:1 (up to 1.2 s, --connect-timeout)"), "{said}");
}

/// A node that loads its model accepts connections, and answers later. A frozen node does the same.
#[test]
fn a_node_that_still_loads_is_waited_for_until_the_connect_timeout() {
    let node = SutNode::echo("loading", &[]);
    node.signal("-STOP");
    let wait = ["--connect-timeout", "60s", "--control-timeout", "800ms"];
    let waiting = run(&node.address).args(&wait).start();
    std::thread::sleep(Duration::from_millis(2500));
    node.signal("-CONT");
    let said = waiting.wait().expect(0).stderr;
    let hint = match transport() {
        "quic" => "",
        _ => ", which accepts connections and may still be loading its model",
    };
    let words = format!("waiting for {}{hint} (up to 60 s, --connect-timeout)", node.address);
    assert_eq!(said.matches(&words).count(), 1, "{said}");
}

#[test]
fn a_node_whose_answers_take_long_together_is_announced() {
    // Each reply arrives before the notice is due; all replies together take longer.
    let describe_delay = Duration::from_millis(400);
    let node = FakeNode::start(Behaviour { describe_delay, ..Behaviour::good("slow") });
    let outcome = run(&node.address).run().expect(0);
    let words = format!("waiting for {} (up to ", node.address);
    assert_eq!(outcome.stderr.matches(&words).count(), 1, "{}", outcome.stderr);
}

#[test]
fn every_command_takes_what_a_run_takes() {
    let (_nodes, port) = nodes_at(&["127.0.0.1".into(), "127.0.0.2".into()], &[]);
    let named = format!("127.0.0.[1-2]:{port}");
    let args = ["nodes", "--nodes", &named, "--transport", transport()];
    let text = loadgen_node(&args).expect(0).stdout;
    for host in ["127.0.0.1", "127.0.0.2"] {
        assert!(text.contains(&format!("at-{host} at {host}:{port}")), "{text}");
    }
    let folder = Folder::create();
    let hosts = "rack[1-2]:7,[::1],dns:nodes.lab,rack1:8";
    loadgen_node(&["certificates", "--hosts", hosts, "--output", &folder.path("")]).expect(0);
    for file in ["rack1.pem", "rack2.key", "::1.pem", "nodes.lab.pem", "client.pem"] {
        assert!(folder.root().join(file).exists(), "{file}");
    }
}
