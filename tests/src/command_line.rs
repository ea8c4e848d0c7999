//! Checks of a program's command line. Tests of both programs include this file by its path.

use std::ffi::OsStr;

use clap::Command;
use netdiv_node_common::process::{OTHER_VARIABLES, command};

/// Checks the help and the options of a program and its commands, and the index of the commands in
/// docs/README.md.
pub(crate) fn check(program: &Command) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/README.md");
    let index = index(program);
    assert!(std::fs::read_to_string(page).unwrap().contains(&index), "it has to have:\n{index}");
    let program = command(program.clone());
    check_help(&program, &program);
    program.get_subcommands().for_each(|command| check_help(&program, command));
    let count = check_options(&program);
    assert!(count > 80, "{count} options");
}

/// Returns a row for each command, with the first sentence of its help.
fn index(program: &Command) -> String {
    let row = |command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        format!("| `{}` | {about} |\n", command.get_name())
    };
    let rows: String = program.get_subcommands().map(row).collect();
    format!("| `{}` | purpose |\n|---|---|\n{rows}<!-- ", program.get_name())
}

/// Asserts that a command's help has exit codes and two examples, and that the examples parse.
fn check_help(program: &Command, command: &Command) {
    let (own, name) = (program.get_name(), command.get_name());
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, codes) = help.split_once("\n\nExit codes:\n").expect(name);
    assert!(codes.starts_with("  0  "), "{name} has no exit code 0");
    let examples: Vec<_> = examples.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(examples.len() >= 2, "{name} has fewer than two examples");
    for example in examples {
        let is_own = example.starts_with(own);
        let is_ours = example.starts_with("loadgen-node ") || example.starts_with("sut-node ");
        assert!(is_ours, "{name}: {example} starts with no program");
        let line = example.split('>').next().unwrap_or_default();
        let words = line.split_whitespace().map(|word| word.trim_matches('\''));
        let parsed = is_own.then(|| program.clone().try_get_matches_from(words));
        assert!(parsed.is_none_or(|parsed| parsed.is_ok()), "{name}: {example} does not parse");
    }
}

/// Asserts that each option is in a group of the help, and that its variable has no other meaning.
/// Returns the number of options.
fn check_options(command: &Command) -> usize {
    let mut count = command.get_subcommands().map(check_options).sum::<usize>();
    for option in command.get_arguments() {
        let Some(variable) = option.get_env().and_then(OsStr::to_str) else { continue };
        assert!(option.get_help_heading().is_some(), "{variable} is in no group of the help");
        assert!(!OTHER_VARIABLES.contains(&variable), "{variable} has another meaning");
        count += 1;
    }
    count
}
