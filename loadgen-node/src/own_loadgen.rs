//! The LoadGen in this program, and the rounds that it can run.

use clap::builder::{Resettable, Str};
use loadgen_sys::{Mode, Scenario, TestSettings};
use netdiv_rules::book::{Round, RoundName, Table};

use crate::RunError;

/// Returns the round whose seeds LoadGen's embedded mlperf.conf has.
pub(crate) fn round(table: &Table) -> Option<&Round> {
    let mut settings = TestSettings::new(Scenario::Server, Mode::Performance);
    settings.from_config(None, "*").ok()?;
    table.round_of_seeds(|setting| settings.field(setting)?.parse().ok())
}

/// Fails for a round whose seeds LoadGen does not have.
pub(crate) fn check_round(table: &Table, name: RoundName) -> Result<(), RunError> {
    let wanted = table.known_round(name).map_err(RunError::Usage)?;
    let own = round(table);
    if own == Some(wanted) {
        return Ok(());
    }
    let own = own.map_or_else(|| "no known round".into(), |own| format!("round {}", own.name));
    Err(RunError::Usage(format!(
        "--round {name}: LoadGen {} in this program has the seeds of {own}; {}",
        loadgen_sys::version(),
        table.build_for(wanted)
    )))
}

/// Returns the text that `--version` prints: the program's version and git revision, its LoadGen, and
/// the round that it can run. Returns nothing without that option, so that no other command reads
/// the table at its start.
pub(crate) fn version() -> Resettable<Str> {
    if !std::env::args_os().any(|arg| arg == "--version") {
        return Resettable::Reset;
    }
    let round = Table::builtin().ok().and_then(round);
    let round = round.map_or_else(|| "no known round".into(), |own| format!("round {}", own.name));
    let loadgen = loadgen_sys::version();
    let text = format!("{}\nLoadGen {loadgen}: runs {round}", env!("NETDIV_VERSION"));
    Resettable::Value(text.into())
}
