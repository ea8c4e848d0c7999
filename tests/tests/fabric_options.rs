//! Options of a network measurement: egress interface, DSCP and congestion control.

use e2e::{
    Folder, SutNode,
    process::{Ended, command},
};

/// Runs `loadgen-node fabric` with short measurements, which it writes into the folder `out`.
fn fabric(folder: &Folder, args: &[&str]) -> Ended {
    let mut fabric = command("loadgen-node");
    fabric.args(["fabric", "--sizes", "50000", "--connections", "1", "--rounds", "2"]);
    fabric.args(["--duration", "100ms", "--warm-up", "20ms", "--output", "out"]);
    Ended::of(fabric.args(args).current_dir(folder.root()))
}

#[test]
fn the_way_out_is_chosen_or_refused() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = Folder::create();
    let nodes = ["--nodes", &node.address];
    for (args, code, words) in [
        (&["--interface", "none0"][..], 2, "--interface none0: "),
        (&["--congestion-control", "none"], 2, "--congestion-control none: "),
        (&["--congestion-control", "reno", "--transport", "quic"], 2, "choose one of cubic,"),
        (&["--dscp", "64"], 2, "--dscp 64: must be from 0 to 63"),
        (&["--dscp", "46", "--transport", "quic"], 2, "use gRPC"),
        (
            &["--interface", "lo", "--dscp", "46", "--congestion-control", "reno"],
            0,
            "egress of this machine: interface lo, code point 46, congestion control reno",
        ),
        (
            &["--interface", "lo", "--congestion-control", "bbr", "--transport", "quic"],
            0,
            "interface lo, congestion control bbr",
        ),
    ] {
        fabric(&folder, &[&nodes[..], args].concat()).expect_text(code, words);
        assert!(code != 0 || folder.json("out/fabric.json")["interface"] == "lo", "{args:?}");
    }
    // Nothing on lo answers for an address of a documentation network (RFC 5737).
    for transport in ["grpc", "quic"] {
        let args = ["--nodes", "192.0.2.1:50051", "--interface", "lo", "--transport", transport];
        let args = [&args[..], &["--insecure", "--connect-timeout", "500ms"]].concat();
        let ended = fabric(&folder, &args);
        let is_named =
            ended.said().contains("answers must arrive on it, too: check the route back");
        assert!(ended.code != Some(0) && is_named, "{ended:#?}");
    }
}

#[test]
fn pictures_of_an_earlier_measurement_are_replaced_or_removed() {
    let node = SutNode::start("a", &["--engine", "none"]);
    let folder = Folder::create();
    let path = |name: &str| folder.root().join("out").join(name);
    for name in ["out/fabric.svg", "out/matrix.svg", "out/fabric.html"] {
        folder.write(name, "an earlier measurement");
    }
    for (args, has_plot) in [(&[][..], true), (&["--soak", "100ms"], false)] {
        let args = [&["--nodes", &node.address], args].concat();
        let text = fabric(&folder, &args).expect(0).said();
        let plot = std::fs::read_to_string(path("fabric.svg"));
        assert_eq!(plot.is_ok_and(|svg| svg.starts_with("<svg")), has_plot, "{text}");
        assert_eq!((path("fabric.svg").exists(), path("matrix.svg").exists()), (has_plot, false));
        assert!(folder.read("out/fabric.html").contains("<title>Network to a</title>"), "{text}");
    }
}
