//! Every fault has its verdict: each is struck at real processes over real sockets, and what the run makes of it is
//! compared with what docs/RELIABILITY.md promises.
//!
//! `NETDIV_WRITE_FAULTS=1` writes what was seen into that document; `NETDIV_FAULT=words` strikes only the faults whose
//! names have these words.

#[path = "faults/answers.rs"]
mod answers;
#[path = "faults/before.rs"]
mod before;
#[path = "faults/fault.rs"]
mod fault;
#[path = "faults/network.rs"]
mod network;
#[path = "faults/nodes.rs"]
mod nodes;
#[path = "faults/papers.rs"]
mod papers;
#[path = "faults/redispatch.rs"]
mod redispatch;
#[path = "faults/responses.rs"]
mod responses;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/table.rs"]
mod table;
#[path = "faults/tokens.rs"]
mod tokens;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

use fault::Fault;
use stage::Seen;

/// Faults struck at the same time: most of a fault's time is waiting.
const AT_ONCE: usize = 4;

#[test]
fn every_fault_has_its_verdict() {
    let only = std::env::var("NETDIV_FAULT").unwrap_or_default();
    let papers = papers::Papers::new();
    let all = [
        nodes::faults(),
        redispatch::faults(),
        tokens::faults(),
        answers::faults(),
        network::faults(&papers),
        before::faults(&papers),
    ];
    let chosen: Vec<Fault> =
        all.into_iter().flatten().filter(|fault| fault.name.contains(&only)).collect();
    let next = Mutex::new(chosen.iter().enumerate());
    let seen: Mutex<Vec<Option<Seen>>> = Mutex::new(chosen.iter().map(|_| None).collect());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().expect("no holder panics").next();
                    let Some((place, fault)) = taken else { return };
                    // A fault that does not end as promised must not hide the others; the panic has said what it was.
                    if let Ok(saw) = catch_unwind(AssertUnwindSafe(|| fault.strike())) {
                        seen.lock().expect("no holder panics")[place] = Some(saw);
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().expect("no holder panics");
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
