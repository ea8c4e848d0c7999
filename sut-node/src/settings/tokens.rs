//! Settings of the engine `tokens`.

use std::{path::PathBuf, str::FromStr, time::Duration};

use netdiv_node_common::{process::TimeSpan, resources::files};
use serde::{Deserialize, Serialize};

use crate::{
    ground::range::{OutOfRange, within},
    settings::error::ConfigError,
};

/// Keys of the engine `tokens`.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "The engine tokens (engines: tokens)")]
pub struct TokensArgs {
    /// Time until the first token of an output [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub tokens_ttft: Option<TimeSpan>,
    /// Time for each further token [default: 0s]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub tokens_tpot: Option<TimeSpan>,
    /// Tokens of an output, one number or `LEAST-MOST`, of which the prompt chooses [default: 256]
    #[arg(long, value_name = "TOKENS", hide_short_help = true)]
    pub tokens_output: Option<OutputLength>,
    /// A file with a line `TTFT_US,TPOT_US,TOKENS` for each kind of output, of which the prompt chooses, in place of
    /// the three above
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tokens_schedule: Option<PathBuf>,
    /// Number of token ids, which are 0 and up [default: 32000]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub tokens_vocabulary: Option<u32>,
}

/// Settings of the engine `tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokensConfig {
    /// Kinds of outputs, at least one.
    pub outputs: Vec<OutputKind>,
    /// Number of token ids.
    pub vocabulary: u32,
}

/// How long outputs of a kind are, and take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OutputKind {
    /// Time until the first token, in microseconds.
    pub ttft_us: u64,
    /// Time for each further token, in microseconds.
    pub tpot_us: u64,
    /// Tokens.
    pub tokens: OutputLength,
}

impl OutputKind {
    /// Time until the first token.
    pub fn ttft(&self) -> Duration {
        Duration::from_micros(self.ttft_us)
    }

    /// Time for each further token.
    pub fn tpot(&self) -> Duration {
        Duration::from_micros(self.tpot_us)
    }
}

/// The least and most tokens of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "String")]
pub struct OutputLength {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// Tokens of the longest output: more than any benchmark's.
const MOST_TOKENS: u32 = 1 << 20;

/// Longest time until a token, in microseconds: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Kinds of a schedule. All of them are part of the settings that the node publishes.
const MOST_KINDS: usize = 4096;

/// Least vocabulary: the engine leaves the first few ids out, which most models keep for padding and for the end.
const LEAST_VOCABULARY: u32 = 16;

impl FromStr for OutputLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let number =
            |text: &str| text.trim().parse().ok().filter(|n| (1..=MOST_TOKENS).contains(n));
        match (number(least), number(most)) {
            (Some(least), Some(most)) if least <= most => Ok(Self { least, most }),
            _ => Err(format!(
                "`{text}` is no number of tokens; give one from 1 to {MOST_TOKENS}, or two as LEAST-MOST"
            )),
        }
    }
}

/// As a settings file has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u32),
    Text(String),
}

impl TryFrom<Written> for OutputLength {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(number) => number.to_string().parse(),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<OutputLength> for String {
    fn from(OutputLength { least, most }: OutputLength) -> Self {
        if least == most { least.to_string() } else { format!("{least}-{most}") }
    }
}

impl TokensArgs {
    /// Checks the settings and fills in the defaults; reads the schedule.
    pub(super) fn resolve(&self) -> Result<TokensConfig, ConfigError> {
        let vocabulary = self.tokens_vocabulary.unwrap_or(32_000);
        within("tokens-vocabulary", vocabulary, LEAST_VOCABULARY..=i32::MAX as u32)?;
        let outputs = match &self.tokens_schedule {
            None => vec![OutputKind {
                ttft_us: micros("tokens-ttft", self.tokens_ttft)?,
                tpot_us: micros("tokens-tpot", self.tokens_tpot)?,
                tokens: self.tokens_output.unwrap_or(OutputLength { least: 256, most: 256 }),
            }],
            Some(path) => {
                let Self { tokens_ttft, tokens_tpot, tokens_output, .. } = self;
                if tokens_ttft.or(*tokens_tpot).is_some() || tokens_output.is_some() {
                    return Err(ConfigError::ScheduleAndTimes);
                }
                let refused = |why: String| ConfigError::Schedule { path: path.clone(), why };
                let text = files::read_text(path).map_err(|error| refused(error.to_string()))?;
                schedule(&text).map_err(refused)?
            }
        };
        Ok(TokensConfig { outputs, vocabulary })
    }
}

/// Microseconds until a token.
fn micros(key: &'static str, given: Option<TimeSpan>) -> Result<u64, OutOfRange> {
    let time = given.unwrap_or(TimeSpan::ZERO);
    within(key, time, TimeSpan::ZERO..=TimeSpan::from_micros(LONGEST_US))?;
    Ok(u64::try_from(time.duration().as_micros()).unwrap_or(LONGEST_US))
}

/// The kinds of a schedule, line by line; empty lines and those that begin with # are left out.
fn schedule(text: &str) -> Result<Vec<OutputKind>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let kind = |(number, line): (usize, &str)| {
        let wrong = || format!("line {}: `{line}` is not TTFT_US,TPOT_US,TOKENS", number + 1);
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        let [ttft, tpot, tokens] = fields[..] else { return Err(wrong()) };
        let time = |text: &str| text.parse().ok().filter(|us| *us <= LONGEST_US).ok_or_else(wrong);
        let tokens = tokens.parse().map_err(|why| format!("line {}: {why}", number + 1))?;
        Ok(OutputKind { ttft_us: time(ttft)?, tpot_us: time(tpot)?, tokens })
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
        assert_eq!(kinds[1].ttft(), Duration::from_millis(7));
        for (text, words) in [
            ("", "no line"),
            ("1,2", "line 1: `1,2` is not"),
            ("1,2,3\n1,2,0", "line 2: `0` is no number of tokens"),
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
