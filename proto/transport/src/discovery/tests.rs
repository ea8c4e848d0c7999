use std::{cell::Cell, fs};

use super::*;

fn nodes(named: &[String]) -> Nodes<'_> {
    let option = "--nodes";
    Nodes { option, named, port: PORT, expected: None, patience: Duration::ZERO }
}

fn found(text: &str) -> Result<Vec<String>, String> {
    let named = [text.to_owned()];
    nodes(&named).discover_with(|_, _, _| Err("unknown".into())).map_err(|error| error.to_string())
}

#[test]
fn hosts_lists_and_addresses_are_mixed_in_the_order_in_which_they_are_named() {
    let text = " rack[1-2,7]-gpu[01-02]:7 ,[::1]:8,10.0.0.1,[fe80::1%eth0],[fe80::1%eth1]:50051,fe80::1%2,dns:9,a@[::2]:1";
    assert_eq!(
        found(text).unwrap(),
        [
            "rack1-gpu01:7",
            "rack1-gpu02:7",
            "rack2-gpu01:7",
            "rack2-gpu02:7",
            "rack7-gpu01:7",
            "rack7-gpu02:7",
            "[::1]:8",
            "10.0.0.1:50051",
            "[fe80::1%eth0]:50051",
            "[fe80::1%eth1]:50051",
            "[fe80::1%2]:50051",
            "dns:9",
            "a@[::2]:1",
        ]
    );
    let named = ["a".to_owned(), "b:1,c".to_owned()];
    let own_port = Nodes { port: 7, ..nodes(&named) };
    assert_eq!(own_port.discover().unwrap(), ["a:7", "b:1", "c:7"]);
}

#[test]
fn what_is_no_node_is_refused_with_the_reason() {
    for (text, why) in [
        ("", "a node is missing"),
        ("a,,b", "a node is missing"),
        ("a,", "a node is missing"),
        ("a:1,A:1", "--nodes A:1: A:1 is given twice, also as a:1"),
        ("a,a:50051", "--nodes a:50051: a:50051 is given twice, also as a"),
        ("fe80::1%2,[fe80::1%2]", "is given twice, also as fe80::1%2"),
        ("[::1]:1,[0::1]:1", "[0::1]:1 is given twice"),
        ("127.0.0.1:1,[::ffff:127.0.0.1]:1", "is given twice"),
        ("x@127.0.0.1:1,127.0.0.1:1", "127.0.0.1:1 is given twice"),
        ("n[1-3,3]", "--nodes n[1-3,3]: n3:50051 is given twice"),
        ("::1", "several colons; write an IPv6 address in brackets"),
        ("::1:50051", "several colons"),
        ("fe80::1%2:50051", "several colons"),
        ("[fe80::1%]:1", "--nodes [fe80::1%]:1: the zone after the % is missing"),
        ("10.0.0.1%eth0", "--nodes 10.0.0.1%eth0: a zone belongs to an IPv6 address"),
        ("a b", "--nodes a b: it contains a space or a control character"),
        ("a:b", "the port is not a number"),
        ("a:65536", "the port is not a number from 0 to 65535"),
        ("n[1-2:5", "opened and not closed"),
        (
            "n[1-99999999999]:5",
            "stands for 99999999999 hosts, and there is room for 65535 more nodes",
        ),
        ("n[1-65535],m", "there is room for 0 more nodes"),
        ("http://a:1", "without a scheme or a path"),
        ("a/b", "without a scheme or a path"),
        ("dns:", "--nodes dns:: write dns:NAME:PORT"),
        ("dns4:", "write dns4:NAME:PORT"),
        ("dns6:rack[1-2]:5", "write dns6:NAME:PORT"),
        ("dns:a:b", "the port is not a number"),
        ("dns:rack[1-2]:5", "write dns:NAME:PORT"),
        ("dns:a:5", "--nodes dns:a:5: no address after 0 s: unknown"),
        ("dns:a,c,dns:b", "--nodes dns:a, dns:b: no address after 0 s: unknown. Are"),
        ("dns4:a.lab.", "--nodes dns4:a.lab.: no address after 0 s: unknown"),
        ("b,dns6:a", "--nodes dns6:a: no address after 0 s: unknown"),
        (":5", "the host is missing"),
        ("@/nowhere", "--nodes @/nowhere: "),
        ("@/dev/zero", "it is a device"),
    ] {
        let error = found(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(nodes(&[]).discover().unwrap_err().to_string().starts_with("no nodes; give --nodes"));
}

#[test]
fn a_file_has_entries_on_lines_and_comments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes");
    let of = |text: &str| {
        fs::write(&path, text).unwrap();
        found(&format!("z:1,@{}", path.display()))
    };
    let text = "# the first rack\nrack[1-2]:5 # two\n\n  10.0.0.1, [::1]:7\n";
    assert_eq!(of(text).unwrap(), ["z:1", "rack1:5", "rack2:5", "10.0.0.1:50051", "[::1]:7"]);
    for (text, why) in [
        ("", "it names no node"),
        ("# none\n", "it names no node"),
        ("a\nb,,c\n", "line 2: ``: a node is missing"),
        ("a\n@other\n", "line 2: `@other`: a file of nodes cannot name another file"),
        ("a\n\nn[1\n", "line 3: `n[1`: a bracket"),
        ("z:1\n", "line 1: `z:1`: z:1 is given twice, also as z:1"),
        ("a\ndns4:n:5\n", "line 2: `dns4:n:5`: no address after 0 s: unknown"),
    ] {
        let error = of(text).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    fs::File::create(&path).unwrap().set_len(FILE_BYTES + 1).unwrap();
    assert!(found(&format!("@{}", path.display())).is_err());
}

/// Looks up a name in a simulated DNS. `looks` counts the lookups: the first fails, the second
/// finds one address, and each later lookup finds one address more.
fn look_up(name: &str, port: u16, looks: &Cell<u8>) -> Result<Vec<SocketAddr>, String> {
    looks.set(looks.get() + 1);
    let of = |last: u8| SocketAddr::from(([10, 0, 0, last], port));
    match (name, looks.get()) {
        (_, 1) => Err("not known".into()),
        ("v6", _) => Ok(vec![SocketAddr::from(([0; 8], port)), of(1)]),
        (_, looks) => Ok((1..looks).rev().flat_map(|last| [of(last), of(last)]).collect()),
    }
}

#[test]
fn names_are_looked_up_until_the_expected_number_is_there() {
    let discover = |text: &str, expected, seconds| {
        let (named, looks) = ([text.to_owned()], Cell::new(0));
        let nodes = Nodes { expected, patience: Duration::from_secs(seconds), ..nodes(&named) };
        let found = nodes.discover_with(|name, port, _| look_up(name, port, &looks));
        found.map_err(|error| error.to_string())
    };
    // The first lookup that finds records is used, and each address has the name in front.
    assert_eq!(discover("dns:n.lab.:5", None, 60).unwrap(), ["n.lab@10.0.0.1:5"]);
    let three = ["n@10.0.0.1:50051", "n@10.0.0.2:50051", "n@10.0.0.3:50051"];
    assert_eq!(discover("dns:n", Some(3), 60).unwrap(), three);
    assert_eq!(discover("a:1,dns:n:5", Some(2), 60).unwrap(), ["a:1", "n@10.0.0.1:5"]);
    assert_eq!(discover("dns6:v6:5", None, 60).unwrap(), ["v6@[::]:5"]);
    assert_eq!(discover("dns4:v6:5", None, 60).unwrap(), ["v6@10.0.0.1:5"]);
    let error = discover("dns:n", Some(9), 1).unwrap_err();
    assert!(error.starts_with("--nodes-expected is 9, but --nodes has "), "{error}");
    assert!(error.contains(" after 1 s; --connect-timeout sets"), "{error}");
    let error = discover("dns6:n", None, 1).unwrap_err();
    assert!(
        error.contains("--nodes dns6:n: no address after 1 s: it has no IPv6 address"),
        "{error}"
    );
    let error = discover("dns:n:5,10.0.0.1:5", None, 60).unwrap_err();
    assert!(error.contains("10.0.0.1:5 is given twice"), "{error}");
    // Entries without a lookup cause no wait, and too many nodes are refused.
    for (text, expected, want) in [
        ("n[1-3]", 4, "--nodes-expected is 4, but --nodes has 3"),
        ("n[1-3]", 2, "--nodes-expected is 2, but --nodes has 3"),
        ("a,b,dns:n", 2, "--nodes-expected is 2, but --nodes has 3"),
    ] {
        assert_eq!(discover(text, Some(expected), 60).unwrap_err(), want);
    }
}

#[test]
fn the_system_knows_this_machine() {
    let named = ["dns:localhost:5".to_owned()];
    let all = Nodes { patience: Duration::from_secs(60), ..nodes(&named) }.discover().unwrap();
    assert!(all.iter().all(|one| crate::security::is_loopback(one)), "{all:?}");
    assert!(all.iter().any(|one| one == "localhost@127.0.0.1:5"), "{all:?}");
}

#[test]
fn what_needs_no_look_into_the_dns_is_checked_without_one() {
    let hosts = |text: &str| nodes(&[text.to_owned()]).hosts();
    let named = "dns:nowhere.invalid.:5,a[1-2],[::1]:7,x@10.0.0.1:1,x@10.0.0.2:1,fe80::1%eth0";
    let named = hosts(named).unwrap();
    let want = [
        ("nowhere.invalid", 5),
        ("a1", PORT),
        ("a2", PORT),
        ("::1", 7),
        ("x", 1),
        // A certificate is for the address on any link.
        ("fe80::1", PORT),
    ];
    assert_eq!(named, want.map(|(host, port)| (host.to_owned(), port)));
    assert!(hosts("a,a").is_err() && hosts("n[1").is_err());
    let addresses = |text: &str, expected| {
        let named = [text.to_owned()];
        let found = Nodes { expected, ..nodes(&named) }.addresses();
        found.map_err(|error| error.to_string())
    };
    let named = "b:1,dns:nowhere.invalid:5,a[1-2]";
    for expected in [None, Some(9)] {
        assert_eq!(addresses(named, expected).unwrap(), ["b:1", "a1:50051", "a2:50051"]);
    }
    assert_eq!(addresses("dns:nowhere.invalid", None).unwrap(), [""; 0]);
    assert_eq!(addresses("a,b", Some(3)).unwrap_err(), "--nodes-expected is 3, but --nodes has 2");
    assert!(addresses("a,dns:n,a", None).is_err() && addresses("dns:", None).is_err());
}

#[test]
fn files_in_what_is_named_can_be_elsewhere() {
    let placed = |text: &str, folder: &str| {
        with_files(text, &mut |path| {
            if path == "lost" { Err("gone".into()) } else { Ok(format!("{folder}/{path}")) }
        })
    };
    let text = "rack[1,3]:7, @list,nodes.lab@10.0.0.1:5,dns:a";
    let want = "rack[1,3]:7,@/f/list,nodes.lab@10.0.0.1:5,dns:a";
    assert_eq!(placed(text, "/f").unwrap(), want);
    assert_eq!(placed("a,@lost", "/f").unwrap_err(), "gone");
    assert!(placed("@list", "/a,b").unwrap_err().starts_with("/a,b/list: the path"));
}
