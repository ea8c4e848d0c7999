//! A node under a service manager: systemd's notifications, and `sut-node health` for probes.

use std::{os::unix::net::UnixDatagram, process::Child, time::Duration};

use e2e::{
    Folder,
    ports::free_address,
    process::{Ended, command, send_signal, sut_node},
};

/// A running node. Dropping the value stops it.
struct NodeProcess(Child);

impl Drop for NodeProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn health(settings: &[&str]) -> Ended {
    sut_node(&[&["health"], settings].concat())
}

#[test]
fn a_service_manager_is_told_when_the_node_is_ready_and_when_it_ends() {
    let folder = Folder::create();
    let path = folder.path("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let next = || {
        let mut text = [0; 4096];
        let length = socket.recv(&mut text).expect("the node says something");
        String::from_utf8_lossy(&text[..length]).into_owned()
    };
    let metrics = free_address();
    let asked = ["--metrics", &metrics];
    health(&asked).expect_text(1, "no node answers");

    let node = command("sut-node")
        .args(["--engine", "echo", "--listen", "127.0.0.1:0", "--name", "told"])
        .args(asked)
        .env("NOTIFY_SOCKET", &path)
        .spawn();
    let mut node = NodeProcess(node.expect("sut-node starts"));
    assert_eq!(next().trim(), "READY=1\nSTATUS=node told is ready");
    health(&asked).expect(0);
    // The node's own settings.
    health(&["--metrics", &metrics.replace("127.0.0.1", "0.0.0.0")]).expect(0);

    send_signal(node.0.id(), "-TERM");
    assert_eq!(next().trim(), "STOPPING=1\nSTATUS=answering samples in flight");
    assert!(node.0.wait().expect("a child process").success());
    health(&asked).expect(1);
}

#[test]
fn health_says_what_is_missing() {
    health(&[]).expect_text(2, "--metrics is not set");
}
