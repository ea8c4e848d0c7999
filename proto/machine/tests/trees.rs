//! Simulated machines: one without findings, and one for each finding (`trees.toml`).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are tests, too"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::Path,
    time::Duration,
};

use netdiv_machine::{
    doctor::{
        AskedNode, Facts, FilesNeeded, Id, LinkSelection, MemoryNeeded, Needs, Peer, PeerFacts,
        Remedy, Report, SampleAnswer, Severity, examine,
    },
    evidence::{Interface, Machine, Route, System},
};
use serde::Deserialize;

const NIC: &str = "sys/devices/pci0000:00/net/eth0";

/// Content of `trees.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trees {
    good: BTreeMap<String, String>,
    case: Vec<TreeCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeCase {
    id: String,
    seen: String,
    files: BTreeMap<String, String>,
}

fn trees() -> Trees {
    toml::from_str(include_str!("trees.toml")).unwrap()
}

/// Returns a well-configured machine.
fn good() -> BTreeMap<String, String> {
    trees().good
}

/// Returns the requirements of a node with both transports.
fn needs() -> Needs {
    Needs {
        program: "sut-node 1.0.0".into(),
        udp_buffer_bytes: Some(8 << 20),
        tcp_window_bytes: Some(64 << 20),
        quic_mtu: Some(6550),
        connections: 64,
        files: FilesNeeded { least: 208, all: 704, raises_limit: true },
        io_threads: 2,
        pin: vec![0, 1],
        uses_accelerators: true,
        memory: Some(MemoryNeeded { least: 1 << 30, all: 16 << 30 }),
        clock_tolerance: Duration::from_millis(20),
        ..Needs::default()
    }
}

fn facts(files: &BTreeMap<String, String>) -> Facts {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())));
    read(root.path())
}

fn write<'a>(root: &Path, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
    for (path, bytes) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fs::create_dir_all(root.join("sys/class/net")).unwrap();
    if root.join(NIC).exists() {
        symlink(root.join(NIC), root.join("sys/class/net/eth0")).unwrap();
    }
}

fn read(root: &Path) -> Facts {
    Facts::read(&System::under(root).with_scripts(root.join("programs")))
}

/// Returns a node behind eth0, on another machine with an equal configuration.
fn peer() -> Peer {
    let link = Interface {
        name: "ens1".into(),
        kind: "ethernet".into(),
        speed_mbit_per_second: Some(25_000),
        mtu_bytes: Some(9000),
        ..Interface::default()
    };
    let route = Route { interface: Some("ens1".into()), ..Route::default() };
    let machine = Machine {
        boot_id: Some("there".into()),
        interfaces: vec![link],
        routes: vec![route],
        ..Machine::default()
    };
    let facts = PeerFacts {
        name: "a".into(),
        version: "1.0.0".into(),
        machine,
        round_trip: Duration::from_micros(100),
    };
    Peer { address: "far:50051".into(), interface: Some("eth0".into()), answer: Ok(facts) }
}

/// Returns the only peer: the node of [`peer`] after a change.
fn other(change: impl FnOnce(&mut PeerFacts)) -> Vec<Peer> {
    let mut peer = peer();
    change(peer.answer.as_mut().unwrap());
    vec![peer]
}

/// Returns the findings that requirements and nodes cause, with a part of the observation.
fn other_cases() -> [(Id, Report, &'static str); 12] {
    let tree = |end: &str, text: &str| facts(&changed([(end, text)]));
    let with = |change: fn(&mut Needs)| {
        let mut needs = needs();
        change(&mut needs);
        examine(&facts(&good()), &needs, &[])
    };
    let path = |peers: Vec<Peer>| examine(&facts(&good()), &needs(), &peers);
    let link =
        |change: fn(&mut Interface)| path(other(|node| change(&mut node.machine.interfaces[0])));
    let refused = Peer { answer: Err("connection refused".into()), ..peer() };
    let files = FilesNeeded { least: 1, all: 40_000, raises_limit: false };
    let few_files = tree("self/limits", "Max open files 100 65536 files");
    let short_frames = tree("eth0/mtu", "1500");
    [
        (Id::NodeUnusable, path(vec![refused]), "connection refused"),
        (Id::OpenFiles, examine(&few_files, &Needs { files, ..needs() }, &[]), "(soft limit)"),
        (
            Id::MtuDiffers,
            link(|link| link.mtu_bytes = Some(1500)),
            "is 9000 bytes here, the MTU of ens1 on the node's machine is 1500",
        ),
        (Id::MtuDiffers, link(|link| link.mtu_bytes = Some(9001)), "machine is 9001"),
        (Id::QuicMtu, with(|needs| needs.quic_mtu = Some(8973)), "has room for 8972"),
        (
            Id::StandardFrames,
            examine(&short_frames, &Needs { quic_mtu: None, ..needs() }, &[]),
            "the MTU is 1500 bytes",
        ),
        (
            Id::SpeedDiffers,
            link(|link| link.speed_mbit_per_second = Some(1000)),
            "25000 Mb/s here, ens1 on the node's machine has 1000 Mb/s",
        ),
        (Id::SharedCore, with(|needs| needs.pin = vec![0, 0]), "1 cores for 2 I/O threads"),
        (Id::NumaPin, with(|needs| needs.pin = vec![0, 3]), "of --pin are on node 1 (distance 21"),
        (Id::NumaUnpinned, with(|needs| needs.pin = vec![]), "may run on any"),
        (
            Id::VersionDiffers,
            path(other(|node| node.version = "0.9.0".into())),
            "the node has version 0.9.0",
        ),
        (
            Id::SameMachine,
            path(other(|node| node.machine.boot_id = Some("here".into()))),
            "it runs on this machine",
        ),
    ]
}

/// Returns the well-configured machine with other files, which the end of their path names.
fn changed<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let mut changed = good();
    for (end, text) in files {
        let path = changed.keys().find(|path| path.ends_with(end)).cloned();
        changed.insert(path.unwrap_or(end.into()), text.into());
    }
    changed
}

fn ids(report: &Report) -> Vec<Id> {
    report.findings().iter().map(|finding| finding.id).collect()
}

#[test]
fn a_machine_that_is_set_up_well_has_no_finding_and_no_unknown() {
    let report = examine(&facts(&good()), &needs(), &[peer()]);
    assert!(report.findings().is_empty() && report.not_known().is_empty(), "{report}");
    assert_eq!(report.exit_code(Severity::Note), 0);
}

#[test]
fn each_finding_is_made_where_it_should_be_and_alone_with_each_remedy() {
    let of_tree = |case: TreeCase| {
        let files = case.files.iter().map(|(end, text)| (end.as_str(), text.as_str()));
        let id = Id::all().find(|id| id.word() == case.id).expect("a finding");
        (id, examine(&facts(&changed(files)), &needs(), &[]), case.seen)
    };
    let others = other_cases().map(|(id, report, seen)| (id, report, seen.to_owned()));
    let mut offered = BTreeMap::<Id, BTreeSet<String>>::new();
    for (id, report, seen) in trees().case.into_iter().map(of_tree).chain(others) {
        let finding = report.findings().iter().find(|finding| finding.id == id);
        let finding = finding.unwrap_or_else(|| panic!("{}: {report}", id.word()));
        assert!(offered.contains_key(&id) || ids(&report) == [id], "{report}");
        assert!(finding.seen.contains(&seen), "{}: {}", id.word(), finding.seen);
        assert!(id.about().severity.contains(&finding.severity), "{}", id.word());
        assert_eq!(report.exit_code(finding.severity), 1);
        let (Remedy::Command(remedy) | Remedy::Advice(remedy)) = &finding.remedy;
        assert!(!is_open(&finding.seen) && !is_open(remedy), "{finding:?}");
        assert!(!report.not_known().iter().any(|fact| is_open(fact)), "{report}");
        if let Remedy::Command(command) = &finding.remedy {
            let parsed = std::process::Command::new("sh").args(["-n", "-c", command]).status();
            assert!(parsed.unwrap().success(), "{command}");
        }
        offered.entry(id).or_default().insert(remedy.clone());
    }
    for (id, offered) in &offered {
        assert_eq!(offered.len(), id.about().remedy.len(), "{}: {offered:#?}", id.word());
    }
    // Other code adds four findings to the report.
    assert_eq!(offered.len() + 4, Id::all().count());
    let has = |id: Id, command: &str| offered[&id].contains(command);
    assert!(has(Id::UdpReceiveBuffer, "sysctl -w net.core.rmem_max=8388608"), "{offered:#?}");
    assert!(has(Id::MissedFrames, "ethtool -G eth0 rx 4096"), "{offered:#?}");
}

/// Returns true if a text still has the name of a fact in braces.
fn is_open(text: &str) -> bool {
    let names = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    names.into_iter().any(|(name, _)| name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

#[test]
fn answers_of_nodes_are_judged() {
    let node = |name: &str| AskedNode {
        address: format!("{name}:1"),
        node: Some(name.into()),
        ..AskedNode::default()
    };
    let odd = AskedNode { differs: true, ..node("b") };
    let answer = SampleAnswer {
        latency_ns: 1,
        first_token_ns: None,
        bytes: 4,
        sha256: String::new(),
        beginning: "tokens 7".into(),
    };
    let sampled = AskedNode { sampled: true, answers: vec![answer], ..node("e") };
    let unasked = AskedNode { sampled: true, ..node("f") };
    let gone = AskedNode { node: None, ..node("d") }.failed("connection refused", true);
    let nodes =
        vec![node("a"), odd, node("c").failed("out of memory", false), gone, sampled, unasked];
    let report = examine(&facts(&good()), &needs(), &[]).with_nodes(nodes, None);
    assert_eq!(ids(&report), [Id::AnswerDiffers, Id::AnswerMissing]);
    let [odd, failed] = report.findings() else { panic!("{report}") };
    assert_eq!((&odd.about[..], &failed.seen[..]), ("node b at b:1", "out of memory"));
    assert_eq!((report.exit_code(Severity::Problem), report.nodes().len()), (1, 6));
    let [unknown] = report.not_known() else { panic!("{report}") };
    assert!(unknown.contains("node e at e:1 with itself and the other nodes"), "{unknown}");
}

#[test]
fn what_other_settings_do_not_need_is_not_asked_for() {
    let few_files = ("self/limits", "Max open files 100 65536 files");
    let facts = facts(&changed([("core/rmem_max", "1"), ("tcp_rmem", "1 1 1"), few_files]));
    let clock_tolerance = Duration::from_secs(1);
    let plain = Needs { pin: vec![0], clock_tolerance, ..Needs::default() };
    assert_eq!(ids(&examine(&facts, &plain, &[])), []);
    let soft = FilesNeeded { least: 101, all: 101, raises_limit: false };
    let report = examine(&facts, &Needs { files: soft, ..plain.clone() }, &[]);
    assert_eq!(ids(&report), [Id::OpenFiles]);
    assert_eq!(report.findings()[0].remedy, Remedy::Command("ulimit -Sn 101".into()));
    // An unused interface is not judged, and loopback never is.
    let sick = Needs { tcp_window_bytes: Some(1 << 26), ..plain };
    assert_eq!(ids(&examine(&facts, &sick, &[])), [Id::TcpReceiveBuffer]);
    let own = Needs { links: LinkSelection::Named(vec!["lo".into()]), ..sick };
    assert_eq!(ids(&examine(&facts, &own, &[])), []);
}

#[test]
fn the_gravest_comes_first_and_the_report_is_json() {
    let link = [("duplex", "half"), ("eth0/mtu", "1500")];
    let files = changed(link.into_iter().chain([("core/rmem_max", "1"), ("somaxconn", "?")]));
    let report = examine(&facts(&files), &Needs { quic_mtu: None, ..needs() }, &[]);
    assert_eq!(ids(&report), [Id::HalfDuplex, Id::UdpReceiveBuffer, Id::StandardFrames]);
    assert_eq!((report.exit_code(Severity::Problem), report.exit_code(Severity::Note)), (1, 1));
    let json = serde_json::to_value(&report).unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let want = [
        "findings",
        "host_name",
        "interfaces",
        "kernel",
        "nodes",
        "not_known",
        "operating_system",
        "program",
        "sample",
    ];
    assert_eq!(BTreeSet::from_iter(keys), BTreeSet::from(want));
    let first = &json["findings"][0];
    assert_eq!((&first["id"], &first["severity"]), (&"half-duplex".into(), &"problem".into()));
    assert_eq!(
        (&first["about"], &first["command"]),
        (&"eth0".into(), &"ethtool -s eth0 autoneg on".into())
    );
    assert_eq!(json["not_known"], serde_json::json!(["net.core.somaxconn"]));
    assert!(report.to_string().ends_with("1 problem, 1 warning, 1 note"), "{report}");
}

#[test]
fn values_that_make_no_sense_are_unknown() {
    let binary: &[u8] = &[0xff, 0xfe, 0, 1, 0x80];
    let absurd: [&[u8]; 8] = [
        b"",
        b"\n",
        b"letters",
        b"-1",
        b"18446744073709551616 18446744073709551616 18446744073709551616",
        b"18446744073709551615 18446744073709551615 kB",
        b"1e308",
        binary,
    ];
    // Contents: a megabyte of one digit.
    let long = vec![b'9'; 1 << 20];
    for value in absurd.into_iter().chain([long.as_slice()]) {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), good().keys().map(|path| (path.as_str(), value)));
        let report = examine(&read(root.path()), &needs(), &[peer()]);
        // The examination ends, and judges nothing that it cannot read.
        assert!(!report.not_known().is_empty(), "{report}");
        assert!(
            ids(&report)
                .iter()
                .all(|id| matches!(id, Id::ClockUnwatched | Id::ClockSource | Id::Governor)),
            "{report}"
        );
    }
    // Absurd figures in files that are otherwise valid.
    for figure in ["-1", "x", "18446744073709551615", "99999999999999999999999"] {
        let memory =
            format!("MemAvailable: {figure} kB\nSwapTotal: {figure} kB\nSwapFree: {figure} kB\n");
        let files = changed([
            ("proc/meminfo", &*memory),
            ("self/limits", &format!("Max open files {figure} {figure} files")),
            ("cpu.max", &format!("{figure} 0")),
            ("node0/cpulist", &format!("0-{figure}")),
            ("eth0/speed", figure),
            ("eth0/mtu", figure),
            ("eth0/device/numa_node", figure),
        ]);
        let report = examine(&facts(&files), &needs(), &[peer()]);
        assert!(!report.not_known().is_empty(), "{figure}: {report}");
    }
}

#[test]
fn folders_pipes_and_circles_in_the_place_of_files_do_no_harm() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    for folder in [
        "proc/meminfo",
        "proc/self/limits",
        "proc/sys/net/core/rmem_max",
        "sys/devices/virtual/net/bond0",
    ] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::create_dir_all(at("sys/class/net")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(at("proc/cpuinfo")).status().unwrap();
    assert!(made.success());
    symlink(at("proc/sys/net/core/wmem_max"), at("proc/sys/net/core/wmem_max")).unwrap();
    // A bond whose underlying interface is the bond itself.
    fs::write(at("sys/devices/virtual/net/bond0/type"), "1").unwrap();
    fs::write(at("sys/devices/virtual/net/bond0/lower_bond0"), "").unwrap();
    symlink(at("sys/devices/virtual/net/bond0"), at("sys/class/net/bond0")).unwrap();
    let links = LinkSelection::Named(vec!["bond0".into(), "gone0".into()]);
    let report = examine(&read(root.path()), &Needs { links, ..needs() }, &[]);
    assert!(report.not_known().len() > 5, "{report}");
}

#[test]
fn what_a_peer_says_stays_on_its_line_and_out_of_commands() {
    let name = "a\n\u{1b}[31mproblem: x";
    let mut peers = other(|node| {
        node.name = name.into();
        node.version = name.into();
        node.machine.interfaces[0].name = "$(reboot)".into();
        node.machine.interfaces[0].mtu_bytes = Some(1500);
        node.machine.routes[0].interface = Some("$(reboot)".into());
    });
    peers.push(Peer { address: name.into(), answer: Err(name.into()), ..peer() });
    let report = examine(&facts(&good()), &needs(), &peers);
    assert_eq!(ids(&report), [Id::NodeUnusable, Id::VersionDiffers, Id::MtuDiffers]);
    assert!(!report.to_string().contains('\u{1b}') && !report.to_string().contains("\nproblem: x"));
    let Remedy::Advice(advice) = &report.findings()[2].remedy else { panic!("{report}") };
    assert!(advice.contains("dev '$(reboot)' mtu 9000"), "{advice}");
}
