//! `loadgen-node ids`: a data set of token ids.

use std::{fs::File, io::BufWriter, path::PathBuf};

use netdiv_dataset::{Rows, read_prompts, write_ids};

use crate::{RunError, output::say, units::count};

/// Options of `loadgen-node ids`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct IdsArgs {
    /// Prompts: a .npy array of int32 or int64 with a row for each; .json, a list of lists of ids;
    /// or .jsonl, a list of ids in each line
    input: PathBuf,
    /// File to write; it must not exist
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// .npy: number of tokens in each row, in another .npy file
    #[arg(long, value_name = "FILE")]
    lengths: Option<PathBuf>,
    /// .npy: id that pads the rows; it is removed from both ends of each row
    #[arg(long, value_name = "ID")]
    pad: Option<i32>,
    /// .jsonl: key of the ids in an object
    #[arg(long, value_name = "NAME", default_value = "input_ids")]
    key: String,
}

impl IdsArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let rows = Rows { lengths: self.lengths.as_deref(), pad: self.pad };
        let prompts = read_prompts(&self.input, &self.key, &rows)?;
        let failed = |error| RunError::Usage(format!("{}: {error}", self.output.display()));
        let file = File::create_new(&self.output).map_err(failed)?;
        write_ids(&mut BufWriter::new(file), &prompts).map_err(failed)?;
        let lengths = || prompts.iter().map(Vec::len);
        say(format_args!(
            "{} of {} to {} tokens, {} in all, in {}",
            count(prompts.len(), "prompt"),
            lengths().min().unwrap_or(0),
            lengths().max().unwrap_or(0),
            lengths().sum::<usize>(),
            self.output.display()
        ))?;
        Ok(0)
    }
}
