//! A node under a service manager: systemd's notifications, and `sut-node health` for probes.

use std::{
    os::unix::net::UnixDatagram,
    process::{Child, Command, Output},
    time::Duration,
};

use e2e::{
    ports::free_address,
    process::{program, send_signal},
};

/// A running node. Dropping the value stops it.
struct NodeProcess(Child);

impl Drop for NodeProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn health(settings: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = Command::new(program("sut-node"))
        .arg("health")
        .args(settings)
        .output()
        .expect("sut-node starts");
    (status.code(), String::from_utf8(stderr).expect("text"))
}

#[test]
fn a_service_manager_is_told_when_the_node_is_ready_and_when_it_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let next = || {
        let mut text = [0; 4096];
        let length = socket.recv(&mut text).expect("the node says something");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let metrics = free_address();
    let asked = ["--metrics", &metrics];
    assert!(matches!(health(&asked), (Some(1), why) if why.contains("no node answers")));

    let node = Command::new(program("sut-node"))
        .args([
            "--engine",
            "echo",
            "--listen",
            "127.0.0.1:0",
            "--name",
            "told",
            "--metrics",
            &metrics,
        ])
        .env("NOTIFY_SOCKET", &path)
        .spawn();
    let mut node = NodeProcess(node.expect("sut-node starts"));
    assert_eq!(next().trim(), "READY=1\nSTATUS=node told is ready");
    assert_eq!(health(&asked).0, Some(0));
    let everywhere = metrics.replace("127.0.0.1", "0.0.0.0");
    assert_eq!(health(&["--metrics", &everywhere]).0, Some(0), "the node's own settings");

    send_signal(node.0.id(), "-TERM");
    assert_eq!(next().trim(), "STOPPING=1\nSTATUS=answering samples in flight");
    assert!(node.0.wait().expect("a child process").success());
    assert!(matches!(health(&asked), (Some(1), _)));
}

#[test]
fn health_says_what_is_missing() {
    let (code, why) = health(&[]);
    assert!(code == Some(2) && why.contains("--metrics is not set"), "{why}");
}
