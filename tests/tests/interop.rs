//! A client and a server that a third party could have written: Python, stock grpcio, and code that
//! it generates from the `.proto`. Our programs have their own `Infer` bodies; here they meet
//! foreign ones.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use e2e::{LoadGen, SutNode, process::built_file};
use netdiv_contract::layout::InputLayout;
use netdiv_dataset as dataset;

/// Returns a command for a script of `tests/interop`, with the Python that has grpcio.
fn python(script: &str) -> Command {
    let mut command = Command::new(built_file("interop/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("interop").join(script));
    command
}

/// A running `server.py`. Dropping the value stops it.
struct PythonServer {
    child: Child,
    address: String,
}

impl PythonServer {
    fn start() -> Self {
        let child = python("server.py").stdout(Stdio::piped()).spawn().expect("Python starts");
        // From here on, dropping the server stops it.
        let mut server = Self { child, address: String::new() };
        let stdout = server.child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("its output is text");
        let address = line.trim_end().strip_prefix("listening on ");
        server.address = address.expect("the server says where it listens").into();
        server
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_python_client_talks_to_a_node() {
    let node = SutNode::echo("a", &["--echo-answer-bytes", "0"]);
    let output = python("client.py").arg(&node.address).output().expect("Python starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn a_python_server_serves_a_run() {
    let server = PythonServer::start();
    for (samples, streams) in [("50x200000", "1"), ("2000x64", "3")] {
        let outcome = LoadGen::new(&[&server.address], "offline")
            .transport("grpc")
            .fabric(samples)
            .accuracy()
            .args(&["--streams", streams])
            .run()
            .expect(0);
        let data = dataset::open(&format!("synthetic:{samples}")).expect("a data set");
        let responses = outcome.responses();
        assert_eq!(responses.len(), data.sample_count(), "{samples}");
        for response in responses {
            let sample = data.read(response.qsl_idx).expect("a sample");
            let sample = sample.into_payload(&InputLayout::default());
            assert_eq!(response.data, sample[..8], "{response:?}");
        }
    }
}
