//! Injects each fault into a run of real processes over real sockets, and compares the end of the
//! run with the verdict that docs/RELIABILITY.md promises. The *struck node* is the node that the
//! fault affects. The *good node* is a second node of the run, without a fault.
//!
//! `NETDIV_WRITE_FAULTS=1` writes the verdicts to docs/generated/faults-grpc.md or faults-quic.md.
//! `NETDIV_FAULT=TEXT` injects only the faults whose names contain TEXT.

mod before_run;
mod credentials;
mod fault;
mod network;
mod node_replies;
mod nodes;
mod redispatch;
mod responses;
mod stage;
mod table;
mod tokens;

use e2e::side_by_side;

use fault::Fault;

/// Number of faults that are tested at the same time. Most of a test's time is waiting.
const AT_ONCE: usize = 6;

/// Prints the name of a fault if its checks panic.
struct NameOnPanic<'a>(&'a str);

impl Drop for NameOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("not as promised: {}", self.0);
        }
    }
}

#[test]
fn every_fault_has_its_verdict() {
    let only = std::env::var("NETDIV_FAULT").unwrap_or_default();
    let papers = credentials::Credentials::new();
    let all = [
        nodes::faults(),
        redispatch::faults(),
        tokens::faults(),
        node_replies::faults(),
        network::faults(&papers),
        before_run::faults(&papers),
    ];
    let chosen: Vec<Fault> =
        all.into_iter().flatten().filter(|fault| fault.name.contains(&only)).collect();
    assert!(!chosen.is_empty(), "no fault has {only:?} in its name");
    let seen = side_by_side(AT_ONCE, &chosen, |fault| {
        let _name = NameOnPanic(&fault.name);
        fault.strike()
    });
    let rows: Vec<_> =
        chosen.iter().zip(&seen).filter_map(|(f, s)| Some((f, s.as_ref()?))).collect();
    println!("{}", table::of(&rows));
    let broken: Vec<_> =
        chosen.iter().zip(&seen).filter(|(_, seen)| seen.is_none()).map(|(f, _)| &f.name).collect();
    assert!(broken.is_empty(), "not as promised: {broken:#?}");
    if only.is_empty() && std::env::var_os("NETDIV_WRITE_FAULTS").is_some() {
        table::write(&table::of(&rows));
    }
}
