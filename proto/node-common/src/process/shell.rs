//! Subcommands of both programs for packages and shells: completions and man pages.

use std::{io, path::PathBuf};

use clap::{Command, Subcommand};
use clap_complete::Shell;

use crate::process::{command_line::command, say};

const COMPLETIONS: &str = "\
Examples:\n\
\x20 loadgen-node completions bash >~/.local/share/bash-completion/completions/loadgen-node\n\
\x20 sut-node completions bash >~/.local/share/bash-completion/completions/sut-node\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  no such shell, or the output cannot be written";

const MAN: &str = "\
Examples:\n\
\x20 loadgen-node man ~/.local/share/man/man1\n\
\x20 sut-node man ~/.local/share/man/man1\n\
\n\
Exit codes:\n\
\x20 0  done\n\
\x20 2  a file cannot be written";

/// Subcommand that writes files about the command line.
#[derive(Debug, Clone, Subcommand)]
pub enum ShellCommand {
    /// Print the completion of this program for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Write man pages of this program and its commands
    #[command(after_help = MAN)]
    Man {
        /// Existing folder for the man pages
        folder: PathBuf,
    },
}

impl ShellCommand {
    /// Executes the subcommand for the program with the command line `program`.
    pub fn execute(&self, program: Command) -> io::Result<()> {
        let mut program = command(program);
        match self {
            Self::Completions { shell } => {
                let (name, mut text) = (program.get_name().to_owned(), Vec::new());
                clap_complete::generate(*shell, &mut program, &name, &mut text);
                // clap_complete 4.6 writes a name's dash in two ways, so that bash finds no subcommand.
                let (broken, right) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
                say(String::from_utf8_lossy(&text).replace(&broken, &right).trim_end())
            }
            Self::Man { folder } => {
                clap_mangen::generate_to(described(program), folder).map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
                })
            }
        }
    }
}

/// Shows the descriptions that short help omits, since man pages omit what it omits.
fn described(command: Command) -> Command {
    command.mut_args(|option| option.hide_short_help(false)).mut_subcommands(described)
}
