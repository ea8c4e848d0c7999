//! Variables of the environment that look like a setting and are no setting.
//!
//! A setting that was lost costs a run, and may be found out after it; so a variable that is nearly an option ends the program at
//! its start, with the name that was meant. Any other variable stays unnoticed, also one that begins with `NETDIV_`: it may be the
//! other program's, a script's or a plug-in's, and Kubernetes makes some from the name of each Service.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};
use netdiv_contract::said::said;

use crate::{
    old_keys::{UNITS, is_time},
    variables::{ALIKE, ASKED_ONCE, OTHER_VARIABLES, PREFIX, variable},
};

/// Names of so many letters may differ in one of them, and longer ones in two: short names are too much alike.
const ONE_SLIP: usize = 4;
const TWO_SLIPS: usize = 8;

/// What is wrong with these variables, which are names with values; `None` if nothing is.
pub(crate) fn refusal(
    command: &Command,
    variables: impl Iterator<Item = (String, String)>,
) -> Option<String> {
    let mut options = Vec::new();
    all_options(command, &mut options);
    let mut wrong: Vec<_> = variables
        .filter(|(_, value)| !value.is_empty() && !is_address_of_service(value))
        .filter_map(|(name, _)| Some((meant(&name, &options)?, name)))
        .map(|(what_to_do, name)| {
            format!("the environment variable {} sets nothing: {what_to_do}", said(&name))
        })
        .collect();
    wrong.sort();
    (!wrong.is_empty()).then(|| format!("{}\n\nUnset what is not meant.\n", wrong.join("\n  ")))
}

/// What to do about a variable that sets nothing; `None` where it does, or is not ours.
fn meant(name: &str, options: &[&Arg]) -> Option<String> {
    let upper = name.to_uppercase().replace('-', "_");
    if !upper.starts_with(PREFIX.trim_end_matches('_')) {
        return None;
    }
    let named = || options.iter().filter_map(|option| Some((*option, option.get_long()?)));
    let once = named().find(|(option, long)| is_asked_once(option, long) && variable(long) == name);
    if let Some((_, long)) = once {
        return Some(format!("give --{long} on the command line"));
    }
    let asked = |long: &str| ASKED_ONCE.contains(&long);
    let settings = named().filter(|(_, long)| !asked(long)).map(|(_, long)| variable(long));
    let known: Vec<_> = settings.chain(OTHER_VARIABLES.map(Into::into)).collect();
    if known.iter().any(|known| known == name) || ALIKE.contains(&name) {
        return None;
    }
    let of_old_key = named().filter(|(option, _)| is_time(option)).find_map(|(_, long)| {
        let new = variable(long);
        let unit = upper.strip_prefix(&new)?.strip_prefix('_')?.to_lowercase();
        UNITS.contains(&&*unit).then(|| format!("write {new}=10{unit}"))
    });
    of_old_key.or_else(|| {
        let slips = |known: &String| Some((slips(&upper, known)?, known.clone()));
        let near: BTreeSet<_> = known.iter().filter_map(slips).collect();
        let fewest = near.first()?.0;
        let nearest: Vec<_> = near
            .iter()
            .filter(|(slips, _)| *slips == fewest)
            .map(|(_, known)| &known[..])
            .collect();
        Some(format!("did you mean {}?", nearest.join(" or ")))
    })
}

/// Whether a program that was to do this would do something else without it. Variables such as `NETDIV_VERSION` may be anybody's.
fn is_asked_once(option: &Arg, long: &str) -> bool {
    ASKED_ONCE.contains(&long) && matches!(option.get_action(), ArgAction::SetTrue | ArgAction::Set)
}

fn all_options<'a>(command: &'a Command, options: &mut Vec<&'a Arg>) {
    options.extend(command.get_arguments());
    command.get_subcommands().for_each(|command| all_options(command, options));
}

/// Whether a value is what Kubernetes tells pods of a Service: the variable of one that is called `netdiv-node` is
/// `NETDIV_NODE_PORT`.
fn is_address_of_service(value: &str) -> bool {
    ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme))
}

/// In how many letters a name differs from a variable's, where these are few.
fn slips(name: &str, known: &str) -> Option<usize> {
    let most = match known.len().saturating_sub(PREFIX.len()) {
        TWO_SLIPS.. => 2,
        ONE_SLIP.. => 1,
        _ => 0,
    };
    // Names that are much longer or shorter need no comparison.
    let slips =
        (name.len().abs_diff(known.len()) <= most).then(|| strsim::osa_distance(name, known))?;
    (slips <= most).then_some(slips)
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::TimeSpan;

    #[derive(Debug, clap::Args)]
    struct Keys {
        #[arg(long)]
        nodes: Option<String>,
        #[arg(long)]
        nodes_port: Option<u16>,
        #[arg(long)]
        connect_timeout: Option<TimeSpan>,
        #[arg(long)]
        pin: Option<String>,
        #[arg(long)]
        mode: Option<String>,
        #[arg(long)]
        json: bool,
    }

    fn refused(name: &str, value: &str) -> Option<String> {
        let command = Command::new("x").subcommand(Keys::augment_args(Command::new("y")));
        refusal(&command, [(name.to_owned(), value.to_owned())].into_iter())
    }

    #[test]
    fn a_variable_that_is_nearly_an_option_is_refused_with_the_one_that_was_meant() {
        for (name, meant) in [
            ("NETDIV_NODE", "did you mean NETDIV_MODE or NETDIV_NODES?"),
            ("NETDIV_NODESS", "did you mean NETDIV_NODES?"),
            ("NETDIV_NDOES", "did you mean NETDIV_NODES?"),
            ("netdiv_nodes", "did you mean NETDIV_NODES?"),
            ("NETDIVNODES", "did you mean NETDIV_NODES?"),
            ("NETDIV_NODES-PORT", "did you mean NETDIV_NODES_PORT?"),
            ("NETDIV_NODE_PROT", "did you mean NETDIV_NODES_PORT?"),
            ("NETDIV_CONECT_TIMEOUTS", "did you mean NETDIV_CONNECT_TIMEOUT?"),
            ("NETDIV_CONNECT_TIMEOUT_MS", "write NETDIV_CONNECT_TIMEOUT=10ms"),
            ("NETDIV_CONTAINER_IMGE", "did you mean NETDIV_CONTAINER_IMAGE?"),
            ("NETDIV_JSON", "give --json on the command line"),
        ] {
            let why = refused(name, "1").unwrap_or_default();
            assert!(why.contains(&format!("{name} sets nothing: {meant}")), "{name}: {why}");
        }
    }

    #[test]
    fn what_is_an_option_or_something_else_stays() {
        let service = "tcp://10.0.0.1:50051";
        for (name, value) in [
            ("NETDIV_NODES", "a"),
            ("NETDIV_NODE", ""),
            ("NETDIV_SEED", "1"),
            ("NETDIV_BIN", "/opt"),
            ("NETDIV_HOME", "/opt"),
            ("NETDIV_VERSION", "1"),
            ("NETDIV_MY_PLUGIN", "1"),
            ("NETDIV", "1"),
            ("NODE", "1"),
            ("NETDIV_PORT", service),
            ("NETDIV_NODE_PORT", service),
            ("NETDIV_NODE_PORT_50051_TCP", service),
            ("NETDIV_NODE_PORT_50051_TCP_ADDR", "10.0.0.1"),
            ("NETDIV_NODE_PORT_50051_TCP_PORT", "50051"),
            ("NETDIV_NODE_PORT_50051_TCP_PROTO", "tcp"),
            ("NETDIV_NODE_SERVICE_HOST", "10.0.0.1"),
            ("NETDIV_NODE_SERVICE_PORT", "50051"),
            ("NETDIV_NODE_SERVICE_PORT_GRPC", "50051"),
        ] {
            assert_eq!(refused(name, value), None, "{name}={value}");
        }
        assert_eq!(refused(&format!("NETDIV_{}", "NODES".repeat(10_000)), "1"), None);
    }

    #[test]
    fn all_that_are_wrong_are_named_at_once() {
        let command = Keys::augment_args(Command::new("x"));
        let wrong = ["NETDIV_NODE", "NETDIV_CONECT_TIMEOUT"].map(|name| (name.into(), "1".into()));
        let why = refusal(&command, wrong.into_iter()).unwrap_or_default();
        assert!(why.contains("NETDIV_NODES?") && why.contains("NETDIV_CONNECT_TIMEOUT?"), "{why}");
    }
}
