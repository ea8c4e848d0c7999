//! Every fault has its verdict: each is struck at real processes over real sockets, and what the run makes of it is
//! compared with what docs/RELIABILITY.md promises.
//!
//! `NETDIV_WRITE_FAULTS=1` writes what was seen into that document; `NETDIV_FAULT=words` strikes only the faults whose
//! names have these words.

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

/// Faults struck at the same time: most of a fault's time is waiting.
const AT_ONCE: usize = 6;

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
    let seen = side_by_side(AT_ONCE, &chosen, Fault::strike);
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
