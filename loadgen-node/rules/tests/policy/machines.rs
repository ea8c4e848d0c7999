//! Tests of the machines and of the routes between them.

use netdiv_contract::v1::ServingEngine;

use super::*;

#[test]
fn one_machine_at_both_ends_is_seen() {
    let same = |copy: fn(&Machine, &mut Machine)| {
        move |case: &mut PolicyCase| {
            let mine = loadgen(case).clone();
            copy(&mine, node(case));
        }
    };
    fails(
        images(),
        Rule::N4,
        "rack-a",
        "the same boot id b-loadgen as the LoadGen node; run the node on",
        same(|a, b| {
            b.boot_id = a.boot_id.clone();
        }),
    );
    fails(
        images(),
        Rule::N4,
        "rack-a",
        "a copied installation or a container",
        same(|a, b| {
            b.machine_id = a.machine_id.clone();
        }),
    );
    fails(
        images(),
        Rule::N4,
        "rack-a",
        "board serial number S-1…",
        same(|a, b| {
            b.board_serial = a.board_serial.as_ref().map(|serial| serial.to_lowercase());
        }),
    );
    fails(
        images(),
        Rule::N4,
        "rack-a",
        "hardware address 3c:ec:ef:00:00:01",
        same(|a, b| {
            b.interfaces[0].mac = a.interfaces[0].mac.clone();
        }),
    );
    fails(
        images(),
        Rule::N4,
        "rack-a",
        "boot id b-loadgen, machine id 00000000…, board",
        same(|a, b| {
            *b = Machine { routes: b.routes.clone(), ..a.clone() };
        }),
    );
}

#[test]
fn what_tells_nothing_is_not_taken_for_the_same() {
    let mut case = images();
    for machine in ["a", "b"] {
        let virtual_interface = Interface {
            name: "docker0".into(),
            kind: "virtual".into(),
            mac: Some("02:42:ac:11:00:02".into()),
            ..Interface::default()
        };
        let machine = if machine == "a" { node(&mut case) } else { loadgen(&mut case) };
        machine.interfaces.push(virtual_interface);
        machine.board_serial = None;
        machine.machine_id = Some(String::new());
    }
    assert_eq!(found(Division::Network, &case), []);
    unclear(case, Rule::N4, "rack-a", "no measurement at both ends", |case| {
        node(case).boot_id = None;
    });
}

#[test]
fn what_is_stated_tells_no_machines_apart() {
    let of = |field: &'static str| {
        move |case: &mut PolicyCase| {
            loadgen(case).boot_id = None;
            node(case).supplied = vec![field.into()];
        }
    };
    unclear(images(), Rule::N4, "rack-a", "statements prove nothing", of("board_serial"));
    unclear(images(), Rule::N4, "rack-a", "its product was not measured", |case| {
        node(case).supplied = vec!["product".into()];
    });
    let mut case = images();
    loadgen(&mut case).boot_id = None;
    assert_eq!(found(Division::Network, &case), [], "boards tell them apart, too");
}

#[test]
fn a_microvm_says_nothing_of_a_product() {
    let why = "its product was not measured, so it may share its host";
    unclear(images(), Rule::N4, "rack-a", why, |case| node(case).product = None);
    let why = "it may be a virtual machine";
    unclear(images(), Rule::N4, "LoadGen node", why, |case| loadgen(case).virtual_machine = None);
    unclear(images(), Rule::N4, "rack-a", "it is a virtual machine", |case| {
        node(case).virtual_machine = Some(true);
        node(case).product = None;
    });
}

#[test]
fn virtual_machines_are_not_known_to_be_separate() {
    for product in ["QEMU Standard PC", "VMware7,1", "Amazon EC2 c7g.large"] {
        unclear(images(), Rule::N4, "rack-a", "is a virtual machine, which may share", |case| {
            node(case).product = Some(product.into());
        });
    }
    unclear(images(), Rule::N4, "LoadGen node", "Acme Server 9 is a virtual machine", |case| {
        loadgen(case).virtual_machine = Some(true);
    });
    let mut case = images();
    loadgen(&mut case).product = Some("Amazon EC2 c7g.metal".into());
    assert_eq!(found(Division::Network, &case), []);
}

#[test]
fn the_machine_of_a_serving_engine_describes_itself() {
    let engine = |address: &str, here: Option<bool>| {
        let (address, interface) = (address.to_owned(), Some("eth0".to_owned()));
        move |case: &mut PolicyCase| {
            node(case).serving_engines = vec![ServingEngine { address, here, interface }];
        }
    };
    let elsewhere = engine("10.0.0.77:8000", Some(false));
    let text = "its serving engine, 10.0.0.77:8000, over eth0, is on another machine";
    unclear(images(), Rule::N4, "rack-a", text, elsewhere);
    let text = "the machine of its serving engine, engine:8000, is unknown";
    unclear(images(), Rule::N4, "rack-a", text, engine("engine:8000", None));
    let mut case = images();
    let own = loadgen(&mut case).routes[0].local_address.clone().unwrap();
    let text = "is at the LoadGen node; run the node on the machine of its engine";
    fails(case, Rule::N4, "rack-a", text, engine(&format!("{own}:8000"), Some(false)));
    let mut case = images();
    engine("127.0.0.1:8000", Some(true))(&mut case);
    assert_eq!(found(Division::Network, &case), []);
}

#[test]
fn the_way_is_a_permitted_fabric() {
    let place = "LoadGen node to rack-b:50051";
    let interface = |kind: &'static str| {
        move |case: &mut PolicyCase| {
            let machine = loadgen(case);
            machine.interfaces.push(Interface {
                name: "other0".into(),
                kind: kind.into(),
                ..Interface::default()
            });
            machine.routes[1].interface = Some("other0".into());
        }
    };
    fails(images(), Rule::N5, place, "other0 is a virtual interface", interface("virtual"));
    unclear(
        images(),
        Rule::N5,
        place,
        "has the kind `519`; permitted are Ethernet",
        interface("519"),
    );
    unclear(images(), Rule::N5, place, "the interface ib7 is unknown", |case| {
        loadgen(case).routes[1].interface = Some("ib7".into());
    });
    unclear(images(), Rule::N5, place, "the interface is unknown", |case| {
        loadgen(case).routes[1].interface = None;
    });
    unclear(images(), Rule::N5, "LoadGen node", "names no route", |case| {
        loadgen(case).routes.clear()
    });
    fails(images(), Rule::N5, "rack-a to 10.0.0.1", "eth0 is a virtual interface", |case| {
        node(case).interfaces[0].kind = "virtual".into();
    });
    unclear(
        images(),
        Rule::N5,
        place,
        "the kind of bond0, ethernet, was stated, not measured",
        |case| {
            let machine = loadgen(case);
            machine.interfaces.push(Interface {
                name: "bond0".into(),
                kind: "ethernet".into(),
                ..Interface::default()
            });
            machine.routes[1].interface = Some("bond0".into());
            machine.supplied = vec!["interfaces.bond0.kind".into()];
        },
    );
    for kind in ["wifi", "infiniband"] {
        let mut case = images();
        interface(kind)(&mut case);
        assert_eq!(found(Division::Network, &case), []);
    }
}

#[test]
fn ways_that_end_at_home_are_seen() {
    let routes: [fn(&mut Route); 5] = [
        |route| route.peer = "127.0.0.1:50051".into(),
        |route| route.peer = "[::1]:50051".into(),
        |route| route.peer = "localhost:50051".into(),
        |route| route.peer = "10.0.0.1:50051".into(),
        |route| route.interface = Some("lo".into()),
    ];
    for spoil in routes {
        let mut case = images();
        spoil(&mut loadgen(&mut case).routes[0]);
        let findings = found(Division::Network, &case);
        let rules: Vec<_> = findings.iter().map(|f| (f.rule, f.outcome)).collect();
        assert_eq!(rules, [(Rule::N4, Outcome::Fail), (Rule::N5, Outcome::Fail)], "{findings:?}");
        assert!(findings[0].text.contains("both ends are on this machine"), "{findings:?}");
    }
}

#[test]
fn a_run_without_evidence_or_network_is_seen() {
    for evidence in [None, Some(Evidence::default())] {
        let findings = found(Division::Network, &PolicyCase { evidence, ..images() });
        let rules: Vec<_> = findings.iter().map(|f| (f.rule, f.outcome)).collect();
        let want = [(Rule::N4, Outcome::CannotTell), (Rule::N5, Outcome::CannotTell)];
        assert_eq!(rules, want);
    }
    let findings =
        found(Division::Network, &PolicyCase { in_process: true, evidence: None, ..images() });
    let rules: Vec<_> = findings.iter().map(|f| (f.rule, f.outcome)).collect();
    assert_eq!(rules, [(Rule::N4, Outcome::Fail), (Rule::N18, Outcome::Fail)]);
}

#[test]
fn ecc_is_on() {
    fails(
        images(),
        Rule::N29,
        "LoadGen node",
        "ECC is off in its main memory: turn it on, in all runs",
        |case| {
            loadgen(case).memory_ecc = Some(false);
        },
    );
    fails(images(), Rule::N29, "rack-a", "ECC is off in the memory of its Acme GPU", |case| {
        node(case).accelerators[0].ecc = Some(false);
    });
}
