//! Simulated machines: one without findings, and one for each finding.

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
        Remedy, Report, Severity, examine,
    },
    evidence::{Interface, Machine, Route, System},
};

const NIC: &str = "sys/devices/pci0000:00/net/eth0";
const NODE: &str = "sys/devices/system/node";
const GPU: &str = "sys/bus/pci/devices/0000:19:00.0";
const SOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// Returns a well-configured machine with two NUMA nodes, an interface of 25 Gb/s and a GPU.
/// Scripts replace programs.
fn good() -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut file = |path: &str, text: &str| files.insert(path.to_owned(), text.to_owned());
    file("proc/sys/kernel/hostname", "good\n");
    file("proc/sys/kernel/random/boot_id", "here\n");
    for (name, text) in [
        ("core/rmem_max", "16777216\n"),
        ("core/wmem_max", "16777216\n"),
        ("core/somaxconn", "4096\n"),
        ("ipv4/tcp_rmem", "4096\t131072\t16777216\n"),
        ("ipv4/tcp_wmem", "4096\t16384\t16777216\n"),
    ] {
        file(&format!("proc/sys/net/{name}"), text);
    }
    file("proc/sys/vm/swappiness", "60\n");
    file(
        "proc/meminfo",
        "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
    );
    file(
        "proc/self/limits",
        "Limit  Soft Limit  Hard Limit  Units\nMax open files   65536   65536   files\n",
    );
    file("proc/self/cgroup", "0::/\n");
    file("sys/fs/cgroup/cpu.max", "max 100000\n");
    for cpu in 0..4 {
        file(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), "performance\n");
    }
    for (node, cpus, distance) in [(0, "0-1", "10 21"), (1, "2-3", "21 10")] {
        file(&format!("{NODE}/node{node}/cpulist"), cpus);
        file(&format!("{NODE}/node{node}/distance"), distance);
    }
    for (name, text) in [
        ("type", "1"),
        ("speed", "25000"),
        ("mtu", "9000"),
        ("operstate", "up"),
        ("duplex", "full"),
        ("device/numa_node", "0"),
        ("statistics/rx_missed_errors", "0"),
        ("statistics/rx_fifo_errors", "0"),
    ] {
        file(&format!("{NIC}/{name}"), text);
    }
    for (name, text) in [("class", "0x030200"), ("vendor", "0x10de"), ("numa_node", "0")] {
        file(&format!("{GPU}/{name}"), text);
    }
    file(&format!("{SOURCE}/current_clocksource"), "tsc\n");
    file(&format!("{SOURCE}/available_clocksource"), "tsc hpet acpi_pm\n");
    file(
        "programs/chronyc",
        &script("System time : 0.000010 seconds slow of NTP time\nLeap status : Normal\n"),
    );
    file(
        "programs/ethtool",
        "case $1 in\n-k) printf 'tcp-segmentation-offload: on\\ngeneric-segmentation-offload: on\\ngeneric-receive-offload: on\\n';;\n\
         -g) printf 'Pre-set maximums:\\nRX: 4096\\nCurrent hardware settings:\\nRX: 512\\n';;\n*) exit 1;;\nesac\n",
    );
    files
}

/// Returns a script that prints a text.
fn script(text: &str) -> String {
    format!("cat <<'END'\n{text}END\n")
}

/// Returns the requirements of a node with both transports.
fn needs() -> Needs {
    Needs {
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
        ..Needs::of("sut-node 1.0.0")
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

/// Changed files, requirements, nodes, and an expected part of the observation.
type FindingCase = (Vec<(&'static str, String)>, Needs, Vec<Peer>, &'static str);

/// Returns the changes that cause a finding, and an expected part of its observation.
fn finding_case(id: Id) -> Option<FindingCase> {
    let files = |files: &[(&'static str, &str)]| {
        files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect::<Vec<_>>()
    };
    let tree = |changes: &[(&'static str, &str)], said| (files(changes), needs(), vec![], said);
    let with = |change: fn(&mut Needs), said| {
        let mut needs = needs();
        change(&mut needs);
        (vec![], needs, vec![], said)
    };
    let path = |peers, said| (vec![], needs(), peers, said);
    const LIMITS: &str = "proc/self/limits";
    const MEMINFO: &str = "proc/meminfo";
    Some(match id {
        // Other code adds these findings to the report.
        Id::RunRefused | Id::DiskSpace | Id::AnswerMissing | Id::AnswerDiffers => return None,
        Id::NodeUnusable => path(
            vec![Peer { answer: Err("connection refused".into()), ..peer() }],
            "connection refused",
        ),
        Id::OpenFiles => tree(&[(LIMITS, "Max open files 1024 100 files")], "open 100 files (hard"),
        Id::HalfDuplex => {
            tree(&[("sys/devices/pci0000:00/net/eth0/duplex", "half")], "half duplex")
        }
        Id::Memory => tree(
            &[(MEMINFO, "MemAvailable: 4000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")],
            "fill every limit",
        ),
        Id::UdpReceiveBuffer => tree(
            &[("proc/sys/net/core/rmem_max", "212992")],
            "rmem_max is 212992 bytes, and QUIC asks for 8388608",
        ),
        Id::UdpSendBuffer => {
            tree(&[("proc/sys/net/core/wmem_max", "212992")], "wmem_max is 212992")
        }
        // 25 Gb/s × 1 ms is 3,125,000 bytes.
        Id::TcpReceiveBuffer => {
            tree(&[("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6249999")], "needs 6250000")
        }
        Id::TcpSendBuffer => {
            tree(&[("proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304")], "needs 6250000")
        }
        Id::WaitingConnections => {
            tree(&[("proc/sys/net/core/somaxconn", "63")], "63 connections may wait")
        }
        Id::MtuDiffers => path(
            other(|node| node.machine.interfaces[0].mtu_bytes = Some(1500)),
            "is 9000 bytes here, the MTU of ens1 on the node's machine is 1500",
        ),
        Id::QuicMtu => with(|needs| needs.quic_mtu = Some(8973), "has room for 8972"),
        Id::StandardFrames => (
            files(&[("sys/devices/pci0000:00/net/eth0/mtu", "1500")]),
            Needs { quic_mtu: None, ..needs() },
            vec![],
            "the MTU is 1500 bytes",
        ),
        Id::SpeedDiffers => path(
            other(|node| node.machine.interfaces[0].speed_mbit_per_second = Some(1000)),
            "25000 Mb/s here, ens1 on the node's machine has 1000 Mb/s",
        ),
        Id::Offloads => tree(
            &[(
                "programs/ethtool",
                "[ $1 = -k ] && printf 'generic-receive-offload: off\\ntcp-segmentation-offload: off [fixed]\\n'",
            )],
            "off: gro",
        ),
        Id::MissedFrames => tree(
            &[("sys/devices/pci0000:00/net/eth0/statistics/rx_missed_errors", "7")],
            "7 frames were dropped",
        ),
        Id::Governor => tree(
            &[("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave")],
            "powersave (1)",
        ),
        Id::CpuQuota => {
            tree(&[("sys/fs/cgroup/cpu.max", "150000 100000")], "1.50 processors' time")
        }
        Id::SharedCore => with(|needs| needs.pin = vec![0, 0], "1 cores for 2 I/O threads"),
        Id::NumaPin => {
            with(|needs| needs.pin = vec![0, 3], "cores 3 of --pin are on node 1 (distance 21")
        }
        Id::NumaUnpinned => with(|needs| needs.pin = vec![], "may run on any"),
        Id::NumaAccelerator => tree(
            &[("sys/bus/pci/devices/0000:19:00.0/numa_node", "1")],
            "0000:19:00.0 is on NUMA node 1, eth0 on node 0 (distance 21",
        ),
        Id::SwapUsed => tree(
            &[
                (MEMINFO, "MemAvailable: 60000000 kB\nSwapTotal: 100 kB\nSwapFree: 90 kB\n"),
                ("proc/sys/vm/swappiness", "1"),
            ],
            "10240 bytes of memory are swapped out",
        ),
        Id::Swappiness => tree(
            &[(MEMINFO, "MemAvailable: 60000000 kB\nSwapTotal: 100 kB\nSwapFree: 100 kB\n")],
            "vm.swappiness is 60",
        ),
        Id::ClockSource => tree(
            &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")],
            "clock source is hpet",
        ),
        Id::ClockUnsynchronised => (
            vec![("programs/chronyc", script("Leap status : Not synchronised\n"))],
            needs(),
            vec![],
            "not synchronised",
        ),
        Id::ClockOffset => (
            vec![(
                "programs/chronyc",
                script("System time : 0.021 seconds fast of NTP time\nLeap status : Normal\n"),
            )],
            needs(),
            vec![],
            "21.000 ms fast; the tolerance is 20 ms",
        ),
        Id::ClockUnwatched => tree(&[("programs/chronyc", "exit 1")], "reports on the clock"),
        Id::VersionDiffers => {
            path(other(|node| node.version = "0.9.0".into()), "the node has version 0.9.0")
        }
        Id::SameMachine => path(
            other(|node| node.machine.boot_id = Some("here".into())),
            "it runs on this machine",
        ),
    })
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
fn each_finding_is_made_where_it_should_be_and_alone() {
    let mut tried = 0;
    for id in Id::all() {
        let Some((changes, needs, peers, words)) = finding_case(id) else { continue };
        let mut files = good();
        for (path, text) in changes {
            files.insert(path.into(), text);
        }
        let report = examine(&facts(&files), &needs, &peers);
        assert_eq!(ids(&report), [id], "{report}");
        let finding = &report.findings()[0];
        assert!(finding.seen.contains(words), "{}: {}", id.word(), finding.seen);
        assert!(id.about().severity.contains(&finding.severity), "{}", id.word());
        assert_eq!(report.exit_code(finding.severity), 1);
        assert!(finding.cost.ends_with('.') && !finding.cost.is_empty());
        tried += 1;
    }
    assert!(tried + 4 == Id::all().count(), "{tried} of {}", Id::all().count());
}

/// Returns machines and nodes for the other remedies of a finding.
fn other_remedies() -> Vec<(Id, FindingCase)> {
    let tree = |changes: &[(&'static str, &str)]| {
        let changes = changes.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
        (changes, needs(), vec![], "")
    };
    let soft = FilesNeeded { least: 1, all: 40_000, raises_limit: false };
    let far = other(|node| node.machine.interfaces[0].mtu_bytes = Some(9001));
    const MISSED: (&str, &str) =
        ("sys/devices/pci0000:00/net/eth0/statistics/rx_missed_errors", "7");
    const RING: &str = "[ $1 = -g ] && printf 'Pre-set maximums:\\nRX: 512\\nCurrent hardware settings:\\nRX: 512\\n'";
    vec![
        (
            Id::OpenFiles,
            (
                vec![("proc/self/limits", "Max open files 100 65536 files".into())],
                Needs { files: soft, ..needs() },
                vec![],
                "",
            ),
        ),
        (Id::MtuDiffers, (vec![], needs(), far, "")),
        (Id::MissedFrames, tree(&[MISSED, ("programs/ethtool", RING)])),
        (Id::MissedFrames, tree(&[MISSED, ("programs/ethtool", "exit 1")])),
        (
            Id::ClockSource,
            tree(&[
                ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"),
                ("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet"),
            ]),
        ),
        (
            Id::ClockUnsynchronised,
            tree(&[
                ("programs/chronyc", "exit 1"),
                ("programs/timedatectl", "printf 'NTPSynchronized=no\\n'"),
            ]),
        ),
    ]
}

#[test]
fn every_remedy_is_offered_and_every_fact_is_filled_in() {
    let first = Id::all().filter_map(|id| Some((id, finding_case(id)?)));
    let mut offered = BTreeMap::<Id, BTreeSet<String>>::new();
    for (id, (changes, needs, peers, _)) in first.chain(other_remedies()) {
        let mut files = good();
        files.extend(changes.into_iter().map(|(path, text)| (path.into(), text)));
        let report = examine(&facts(&files), &needs, &peers);
        let finding = report.findings().iter().find(|finding| finding.id == id);
        let finding = finding.unwrap_or_else(|| panic!("{}: {report}", id.word()));
        let (Remedy::Command(remedy) | Remedy::Advice(remedy)) = &finding.remedy;
        assert!(!is_open(&finding.seen) && !is_open(remedy), "{finding:?}");
        offered.entry(id).or_default().insert(remedy.clone());
        assert!(!report.not_known().iter().any(|fact| is_open(fact)), "{report}");
    }
    for (id, offered) in offered {
        assert_eq!(offered.len(), id.about().remedy.len(), "{}: {offered:#?}", id.word());
    }
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
    let gone = AskedNode { node: None, ..node("d") }.failed("connection refused", true);
    let nodes = vec![node("a"), odd, node("c").failed("out of memory", false), gone];
    let report = examine(&facts(&good()), &needs(), &[]).with_nodes(nodes, None);
    assert_eq!(ids(&report), [Id::AnswerDiffers, Id::AnswerMissing]);
    let [odd, failed] = report.findings() else { panic!("{report}") };
    assert_eq!((&odd.about[..], &failed.seen[..]), ("node b at b:1", "out of memory"));
    assert_eq!((report.exit_code(Severity::Problem), report.nodes().len()), (1, 4));
}

#[test]
fn commands_are_ones_of_the_shell() {
    let mut tried = BTreeSet::new();
    for id in Id::all() {
        let Some((changes, needs, peers, _)) = finding_case(id) else { continue };
        let mut files = good();
        files.extend(changes.into_iter().map(|(path, text)| (path.into(), text)));
        for finding in examine(&facts(&files), &needs, &peers).findings() {
            let Remedy::Command(command) = &finding.remedy else { continue };
            let parsed = std::process::Command::new("sh").args(["-n", "-c", command]).status();
            assert!(parsed.unwrap().success(), "{command}");
            tried.insert(command.clone());
        }
    }
    assert!(tried.len() > 12, "{tried:#?}");
    assert!(tried.contains("sysctl -w net.core.rmem_max=8388608"), "{tried:#?}");
    assert!(tried.contains("ethtool -G eth0 rx 4096"), "{tried:#?}");
}

#[test]
fn what_other_settings_do_not_need_is_not_asked_for() {
    let mut files = good();
    files.insert("proc/sys/net/core/rmem_max".into(), "1".into());
    files.insert("proc/sys/net/ipv4/tcp_rmem".into(), "1 1 1".into());
    files.insert("proc/self/limits".into(), "Max open files 100 65536 files".into());
    let facts = facts(&files);
    let plain = Needs { pin: vec![0], ..Needs::of("loadgen-node 1.0.0") };
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
    let mut files = good();
    files.insert(format!("{NIC}/duplex"), "half".into());
    files.insert(format!("{NIC}/mtu"), "1500".into());
    files.insert("proc/sys/net/core/rmem_max".into(), "1".into());
    files.insert("proc/sys/net/core/somaxconn".into(), "?".into());
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
        let mut files = good();
        files.insert(
            "proc/meminfo".into(),
            format!("MemAvailable: {figure} kB\nSwapTotal: {figure} kB\nSwapFree: {figure} kB\n"),
        );
        files.insert("proc/self/limits".into(), format!("Max open files {figure} {figure} files"));
        files.insert("sys/fs/cgroup/cpu.max".into(), format!("{figure} 0"));
        files.insert(format!("{NODE}/node0/cpulist"), format!("0-{figure}"));
        files.insert(format!("{NIC}/speed"), figure.into());
        files.insert(format!("{NIC}/mtu"), figure.into());
        files.insert(format!("{NIC}/device/numa_node"), figure.into());
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
