//! Environment variables that resemble a setting but set nothing.
//!
//! A lost setting costs a run, so a variable whose name resembles an option ends the program at its
//! start. Any other variable is ignored, even with the prefix `NETDIV_`: it may belong to the other
//! program, a script or a plug-in, and Kubernetes derives some from the name of each Service.

use std::collections::BTreeSet;

use crate::{
    process::{
        unknown::{Successor, all_options, successor},
        variables::{ASKED_ONCE, OTHER_VARIABLES, PREFIX, SIMILAR_VARIABLES, variable},
    },
    sanitise::sanitise,
};
use clap::{Arg, ArgAction, Command};

/// Returns an error text that names the variables which resemble an option but set nothing; `None`
/// if no variable does. Each variable is a name and a value.
pub(crate) fn refusal(
    command: &Command,
    variables: impl Iterator<Item = (String, String)>,
) -> Option<String> {
    let options = all_options(command);
    // Kubernetes passes the address of a Service to pods: NETDIV_NODE_PORT is the address of
    // `netdiv-node`.
    let is_address =
        |value: &str| ["tcp://", "udp://", "sctp://"].iter().any(|s| value.starts_with(s));
    let mut wrong: Vec<_> = variables
        .filter(|(_, value)| !value.is_empty() && !is_address(value))
        .filter_map(|(name, _)| {
            let remedy = remedy(&name, &options)?;
            Some(format!("the environment variable {} sets nothing: {remedy}", sanitise(&name)))
        })
        .collect();
    wrong.sort();
    (!wrong.is_empty())
        .then(|| format!("{}\n\nUnset the variables that you do not need.\n", wrong.join("\n  ")))
}

/// Returns the remedy for a variable that sets nothing, or `None` if it sets something or is not a
/// netdiv variable.
fn remedy(name: &str, options: &[&Arg]) -> Option<String> {
    let upper = name.to_uppercase().replace('-', "_");
    let rest = upper.strip_prefix(PREFIX.trim_end_matches('_'))?;
    let longs = || options.iter().filter_map(|option| Some((*option, option.get_long()?)));
    // Variables such as NETDIV_VERSION may have another owner: a program that only prints ignores
    // its settings.
    let acts = |option: &Arg| matches!(option.get_action(), ArgAction::SetTrue | ArgAction::Set);
    let is_once = |long: &str| ASKED_ONCE.contains(&long);
    let mut once = longs().filter(|(option, long)| is_once(long) && acts(option));
    if let Some((_, once)) = once.find(|(_, long)| variable(long) == name) {
        return Some(format!("give --{once} on the command line"));
    }
    let set = longs().filter(|(_, long)| !is_once(long)).map(|(_, long)| variable(long));
    let known: Vec<_> = set.chain(OTHER_VARIABLES.map(Into::into)).collect();
    if known.iter().any(|known| known == name) || SIMILAR_VARIABLES.contains(&name) {
        return None;
    }
    match successor(options.iter().copied(), &rest.trim_start_matches('_').to_lowercase()) {
        Some(Successor::Time(time, unit)) => {
            return Some(format!("write {}=10{unit}", variable(&time)));
        }
        Some(Successor::Feature(instead)) => return Some(instead.into()),
        None => {}
    }
    let near: BTreeSet<_> =
        known.iter().filter_map(|known| Some((slips(&upper, known)?, known))).collect();
    let fewest = near.first()?.0;
    let nearest = near.iter().take_while(|(slips, _)| *slips == fewest);
    let nearest: Vec<_> = nearest.map(|(_, known)| known.as_str()).collect();
    Some(format!("did you mean {}?", nearest.join(" or ")))
}

/// Returns the number of typing errors between two names, if it is small: one for names of four
/// letters, two for eight.
fn slips(name: &str, known: &str) -> Option<usize> {
    let maximum = (known.len().saturating_sub(PREFIX.len()) / 4).min(2);
    let is_close = name.len().abs_diff(known.len()) <= maximum;
    is_close.then(|| strsim::osa_distance(name, known)).filter(|slips| *slips <= maximum)
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::process::TimeSpan;

    #[derive(Debug, clap::Args)]
    struct MisspeltTestOptions {
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
        let command =
            Command::new("x").subcommand(MisspeltTestOptions::augment_args(Command::new("y")));
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
            ("NETDIV_OTLP", "traces are no longer sent; use --metrics"),
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
        let command = MisspeltTestOptions::augment_args(Command::new("x"));
        let wrong = ["NETDIV_NODE", "NETDIV_CONECT_TIMEOUT"].map(|name| (name.into(), "1".into()));
        let why = refusal(&command, wrong.into_iter()).unwrap_or_default();
        assert!(why.contains("NETDIV_NODES?") && why.contains("NETDIV_CONNECT_TIMEOUT?"), "{why}");
    }
}
