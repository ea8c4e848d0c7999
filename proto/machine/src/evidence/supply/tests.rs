//! Tests of files that operators write, and of measured values.

use netdiv_contract::v1::{Accelerator, Interface};

use super::*;

fn interface(name: &str, kind: &str, model: Option<&str>) -> Interface {
    Interface {
        name: name.into(),
        kind: kind.into(),
        model: model.map(Into::into),
        ..Interface::default()
    }
}

fn measured() -> Machine {
    Machine {
        machine_id: Some("m".into()),
        kernel: Some("Linux 6".into()),
        interfaces: vec![
            interface("bond0", "virtual", None),
            interface("eth0", "ethernet", Some("PCI 15b3:101d")),
            interface("eth1", "ethernet", Some("ConnectX-6")),
        ],
        ..Machine::default()
    }
}

fn stated_of(mut machine: Machine, text: &str) -> Result<Machine, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let supplied = Statement::read(file.path()).and_then(|stated| stated.supply(&mut machine));
    supplied.map_err(|error| error.to_string()).map(|()| machine)
}

fn stated(text: &str) -> Result<Machine, String> {
    stated_of(measured(), text)
}

fn of(name: &str, field: &str) -> String {
    format!("[[interfaces]]\nname = '{name}'\n{field}\n")
}

#[test]
fn what_was_not_measured_can_be_stated() {
    let text =
        "memory_ecc = true\nkernel = 'Linux 6'\n[[interfaces]]\nname = 'eth1'\nfirmware = '1'\n";
    let machine = stated(text).unwrap();
    assert_eq!(machine.memory_ecc, Some(true));
    assert_eq!(machine.supplied, ["interfaces.eth1.firmware", "memory_ecc"]);
    let [_, _, eth1] = &machine.interfaces[..] else { unreachable!() };
    assert_eq!((eth1.kind.as_str(), eth1.firmware.as_deref()), ("ethernet", Some("1")));
}

#[test]
fn what_was_measured_cannot_be_contradicted() {
    let twice = of("eth0", "mtu_bytes = 1") + &of("eth0", "mtu_bytes = 2");
    for (text, want) in [
        ("machine_id = 'other'", "`machine_id` is measured"),
        ("kernel = 'Linux 7'", "measured as \"Linux 6\""),
        (&of("eth0", "kind = 'infiniband'"), "`interfaces.eth0.kind` is stated as \"infiniband\""),
        (&of("eth1", "model = 'E810'"), "measured as \"ConnectX-6\""),
        (&of("eth9", ""), "there is no `eth9`; there are: bond0, eth0, eth1"),
        (&twice, "there is no further `eth0`"),
        ("[[interfaces]]\nkind = 'ethernet'", "needs its `name`"),
        ("memory_ecc = 'yes'", "expected a boolean"),
        ("colour = 'blue'", "unknown field `colour`"),
        ("board_serial = 'Default string'", "is not a serial number"),
    ] {
        let error = stated(text).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    let all = stated("boot_id = ''\nroutes = []").unwrap_err();
    assert!(all.contains("`boot_id` is measured") && all.contains("`routes` is measured"));
}

#[test]
fn ids_and_virtual_interfaces_can_be_named() {
    let text = of("eth0", "model = 'ConnectX-7'") + &of("bond0", "kind = 'ethernet'");
    let machine = stated(&text).unwrap();
    assert_eq!(machine.supplied, ["interfaces.eth0.model", "interfaces.bond0.kind"]);
    assert_eq!(machine.interfaces[0], interface("bond0", "ethernet", None));
    assert_eq!(machine.interfaces[1], interface("eth0", "ethernet", Some("ConnectX-7")));
    // Interfaces can be stated completely if none could be measured.
    let machine = stated_of(Machine::default(), &of("eth9", "kind = 'ethernet'")).unwrap();
    assert_eq!(machine.supplied, ["interfaces.eth9.kind"]);
    assert_eq!(machine.interfaces, [interface("eth9", "ethernet", None)]);
}

#[test]
fn accelerators_are_counted() {
    let tpu = "[[accelerators]]\nname = 'TPU'\necc = true\n";
    let machine = stated(&tpu.repeat(2)).unwrap();
    assert_eq!((machine.accelerators.len(), machine.accelerator_count), (2, Some(2)));
    assert_eq!(machine.supplied, ["accelerators.TPU.ecc", "accelerator_count"]);
    for none in ["accelerators = []", "accelerator_count = 0"] {
        assert_eq!(stated(none).unwrap().accelerator_count, Some(0));
    }
    assert_eq!(stated("accelerator_count = 8").unwrap().accelerator_count, Some(8));
    let error = stated(&format!("accelerator_count = 8\n{tpu}")).unwrap_err();
    assert!(error.contains("is 8; expected 1, as many as are"), "{error}");

    let gpu = Accelerator { name: "GPU".into(), ..Accelerator::default() };
    let known =
        Machine { accelerators: vec![gpu; 2], accelerator_count: Some(2), ..Machine::default() };
    let ecc = "[[accelerators]]\nname = 'GPU'\necc = true\n";
    let machine = stated_of(known.clone(), &ecc.repeat(2)).unwrap();
    assert!(machine.accelerators.iter().all(|gpu| gpu.ecc == Some(true)));
    assert_eq!(machine.supplied, ["accelerators.GPU.ecc"]);
    for (text, want) in [
        (ecc.repeat(3), "there is no further `GPU`"),
        (tpu.into(), "there is no `TPU`; there are: GPU, GPU"),
        ("accelerator_count = 3".into(), "measured as 2"),
    ] {
        let error = stated_of(known.clone(), &text).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    let none = Machine { accelerator_count: Some(0), ..Machine::default() };
    assert!(stated_of(none, tpu).unwrap_err().contains("there are: none"));
}

#[test]
fn a_stated_serial_number_is_kept_as_its_digest() {
    let digest = identity::board_serial("S123");
    let machine = stated("board_serial = 'S123'").unwrap();
    assert_eq!(
        (&machine.board_serial, &machine.supplied[..]),
        (&digest, &["board_serial".into()][..])
    );
    let known = Machine { board_serial: digest, ..measured() };
    assert_eq!(stated_of(known.clone(), "board_serial = 'S123'").unwrap(), known);
    let error = stated_of(known, "board_serial = 'S124'").unwrap_err();
    assert!(error.ends_with("`board_serial` differs from the measured one"), "{error}");
}
