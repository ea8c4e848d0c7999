//! Settings of the engine `tokens`, which responds token by token, without a model.

use std::{iter, path::PathBuf, str::FromStr, time::Duration};

use anyhow::ensure;
use netdiv_node_common::{
    process::{TimeSpan, parse_keys},
    resources::files,
};
use serde::Serialize;

use crate::{
    engine::shared_args::Given,
    ground::{
        range::{time, within},
        serialized::microseconds,
    },
};

/// Keys of the engine `tokens`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Outputs")]
pub struct TokensArgs {
    /// Time until the first token of an output
    #[arg(long, value_name = "TIME", default_value = "0s", hide_short_help = true)]
    pub tokens_ttft: TimeSpan,
    /// Time of each further token
    #[arg(long, value_name = "TIME", default_value = "0s", hide_short_help = true)]
    pub tokens_tpot: TimeSpan,
    /// Number of tokens of an output, or a range `MINIMUM-MAXIMUM`
    ///
    /// The prompt determines the number within the range.
    #[arg(long, value_name = "TOKENS", default_value = "256", hide_short_help = true)]
    pub tokens_output: OutputLength,
    /// File with a line `TTFT_US,TPOT_US,TOKENS` for each kind of output
    ///
    /// The prompt determines the kind. Replaces --tokens-ttft, --tokens-tpot and --tokens-output.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tokens_schedule: Option<PathBuf>,
    /// Number of token ids, which start at 0
    #[arg(long, value_name = "N", default_value_t = 32_000, hide_short_help = true)]
    pub tokens_vocabulary: u32,
}

/// Settings of the engine `tokens`, which responds token by token, without a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename = "tokens")]
pub struct TokensConfig {
    /// Kinds of outputs, at least one. The prompt determines the kind of an output.
    pub outputs: Vec<OutputKind>,
    /// Number of token ids, which start at 0.
    pub vocabulary: u32,
}

/// Kind of output: the number of its tokens, and the times at which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OutputKind {
    /// Time until the first token.
    #[serde(rename = "ttft_us", serialize_with = "microseconds")]
    pub ttft: Duration,
    /// Time from each token to the next.
    #[serde(rename = "tpot_us", serialize_with = "microseconds")]
    pub tpot: Duration,
    /// Number of tokens.
    pub tokens: OutputLength,
}

/// Range of the number of tokens of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct OutputLength {
    /// Minimum number of tokens.
    pub min: u32,
    /// Maximum number of tokens.
    pub max: u32,
}

/// Maximum number of tokens of an output: more than any benchmark has.
const MAX_OUTPUT_TOKENS: u32 = 1 << 20;

/// Maximum time until a token in a schedule, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Maximum number of kinds in a schedule. All of them are part of the settings that the node
/// publishes.
const MOST_KINDS: usize = 4096;

/// Minimum vocabulary. The engine omits the first few ids, which most models reserve for padding
/// and for the end.
const MIN_VOCABULARY: u32 = 16;

impl FromStr for OutputLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let number =
            |text: &str| text.trim().parse().ok().filter(|n| (1..=MAX_OUTPUT_TOKENS).contains(n));
        match (number(min), number(max)) {
            (Some(min), Some(max)) if min <= max => Ok(Self { min, max }),
            _ => Err(format!(
                "`{text}` is not a number of tokens; write a number from 1 to {MAX_OUTPUT_TOKENS}, or a range MINIMUM-MAXIMUM"
            )),
        }
    }
}

impl From<OutputLength> for String {
    fn from(OutputLength { min: least, max: most }: OutputLength) -> Self {
        if least == most { least.to_string() } else { format!("{least}-{most}") }
    }
}

impl TokensConfig {
    pub(in crate::engine) const KEYS: &[&str] = &[];

    /// Checks the settings and fills in the defaults. Reads the schedule.
    pub(in crate::engine) fn resolve(
        keys: &TokensArgs,
        given: &mut Given<'_>,
    ) -> anyhow::Result<Self> {
        let ids = MIN_VOCABULARY..=i32::MAX as u32;
        let vocabulary = within("tokens-vocabulary", keys.tokens_vocabulary, ids)?;
        let outputs = match &keys.tokens_schedule {
            None => vec![OutputKind {
                ttft: time("tokens-ttft", keys.tokens_ttft, TimeSpan::ZERO)?,
                tpot: time("tokens-tpot", keys.tokens_tpot, TimeSpan::ZERO)?,
                tokens: keys.tokens_output,
            }],
            Some(path) => {
                let replaced =
                    |keys: &TokensArgs| (keys.tokens_ttft, keys.tokens_tpot, keys.tokens_output);
                ensure!(
                    replaced(keys) == replaced(&parse_keys(iter::empty::<&str>())?),
                    "--tokens-schedule replaces --tokens-ttft, --tokens-tpot and --tokens-output; remove them"
                );
                let refused =
                    |why: String| anyhow::anyhow!("--tokens-schedule {}: {why}", path.display());
                let text = files::read_text(path).map_err(|error| refused(error.to_string()))?;
                schedule(&text).map_err(refused)?
            }
        };
        given.longest_output = outputs.iter().map(|kind| kind.tokens.max).max();
        Ok(Self { outputs, vocabulary })
    }
}

/// Returns the kinds of output that a schedule states, one for each line. Skips empty lines and
/// lines that begin with #.
fn schedule(text: &str) -> Result<Vec<OutputKind>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let kind = |(number, line): (usize, &str)| {
        let wrong = || format!("line {}: `{line}` is not TTFT_US,TPOT_US,TOKENS", number + 1);
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let [ttft, tpot, tokens] = fields[..] else { return Err(wrong()) };
        let time = |text: &str| {
            let us = text.parse().ok().filter(|us| *us <= LONGEST_US).ok_or_else(wrong)?;
            Ok::<_, String>(Duration::from_micros(us))
        };
        let tokens = tokens.parse().map_err(|why| format!("line {}: {why}", number + 1))?;
        Ok(OutputKind { ttft: time(ttft)?, tpot: time(tpot)?, tokens })
    };
    let kinds = lines.map(kind).collect::<Result<Vec<_>, _>>()?;
    match kinds.len() {
        0 => Err("it has no line TTFT_US,TPOT_US,TOKENS".into()),
        1..=MOST_KINDS => Ok(kinds),
        count => Err(format!("it has {count} lines, more than {MOST_KINDS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_line_by_line() {
        let kinds = schedule("# short\n5000,100,256\n\n 7000, 0, 1-9 \n").unwrap();
        let words: Vec<String> = kinds.iter().map(|kind| kind.tokens.into()).collect();
        assert_eq!(words, ["256", "1-9"]);
        assert_eq!(kinds[1].ttft, Duration::from_millis(7));
        for (text, words) in [
            ("", "no line"),
            ("1,2", "line 1: `1,2` is not"),
            ("1,2,3\n1,2,0", "line 2: `0` is not a number of tokens"),
            ("1,2,9-3", "`9-3`"),
            ("-1,2,3", "is not TTFT_US"),
            ("1,3600000001,3", "is not TTFT_US"),
            ("1,2,1048577", "from 1 to 1048576"),
        ] {
            let error = schedule(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
