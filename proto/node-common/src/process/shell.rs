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
                clap_complete::generate(*shell, &mut program, name, &mut text);
                say(String::from_utf8_lossy(&text).trim_end())
            }
            Self::Man { folder } => {
                let in_folder = |error: io::Error| {
                    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
                };
                clap_mangen::generate_to(program, folder).map_err(in_folder)
            }
        }
    }
}
