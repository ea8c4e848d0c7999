//! Settings of the batcher.

use netdiv_contract::limits::MAX_BATCH;
use netdiv_node_common::{
    process::{ByteCount, TimeSpan, unknown_key},
    words::with_suggestion,
};
use serde::{Deserialize, Serialize};

use crate::{
    batching::batcher::BatchLimits,
    ground::range::{bytes, time, within},
};

/// Headings under which the help lists options that only some engines have.
const WAITING: &str = "Batching by time";
const PLUGINS: &str = "Batching of plug-ins";

/// Keys of the batcher, also of `[batching.SCENARIO]` in a manifest.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Batching")]
pub struct BatchingArgs {
    /// Maximum batch size in samples [default: depends on the engine]
    ///
    /// Defaults: onnx, torch and plug-ins 32, serving engines 256, echo and tokens 1024, decoder 1,
    /// python: the class's.
    #[arg(long, value_name = "SAMPLES")]
    pub max_batch: Option<usize>,
    /// Maximum time a sample waits for its batch to fill [default: 1ms; echo: 0s]
    #[arg(long, value_name = "TIME", help_heading = WAITING)]
    pub batch_timeout: Option<TimeSpan>,
    /// Maximum batch size in tokens, padding included [default: any]
    ///
    /// In recommendation, these are user-item pairs.
    #[arg(long, value_name = "TOKENS", help_heading = PLUGINS)]
    pub max_batch_tokens: Option<usize>,
    /// Maximum batch size in bytes of its samples [default: any]
    #[arg(long, value_name = "BYTES", hide_short_help = true)]
    pub max_batch_bytes: Option<ByteCount>,
    /// Lengths of buckets, in tokens; a batch has samples of one bucket [default: none]
    ///
    /// Samples are padded to the length of their bucket.
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', hide_short_help = true, help_heading = PLUGINS)]
    pub buckets: Option<Vec<usize>>,
    /// Batch sizes; smaller batches are filled up with zeros [default: any]
    ///
    /// For devices that are faster with some sizes.
    #[arg(long, value_name = "SAMPLES", value_delimiter = ',', hide_short_help = true, help_heading = PLUGINS)]
    pub batch_sizes: Option<Vec<usize>>,
}

impl BatchingArgs {
    /// Returns these keys, with missing values from `other`.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            max_batch: self.max_batch.or(other.max_batch),
            batch_timeout: self.batch_timeout.or(other.batch_timeout),
            max_batch_tokens: self.max_batch_tokens.or(other.max_batch_tokens),
            max_batch_bytes: self.max_batch_bytes.or(other.max_batch_bytes),
            buckets: self.buckets.clone().or_else(|| other.buckets.clone()),
            batch_sizes: self.batch_sizes.clone().or_else(|| other.batch_sizes.clone()),
        }
    }

    /// Returns the name of an option that is set, without the leading dashes; `None` if all are
    /// missing.
    pub(crate) fn first_set_option(&self) -> Option<String> {
        let given = serde_json::to_value(self).unwrap_or_default();
        let mut given = given.as_object()?.iter().filter(|(_, value)| !value.is_null());
        given.next().map(|(key, _)| key.replace('_', "-"))
    }

    /// Checks the settings and fills in the defaults. `max_batch` and `timeout` are the defaults of
    /// the engine.
    pub(crate) fn resolve(
        &self,
        max_batch: usize,
        timeout: TimeSpan,
    ) -> anyhow::Result<BatchLimits> {
        let at_least_one = |key, value: Option<usize>| {
            value.map(|value| within(key, value, 1..=usize::MAX)).transpose()
        };
        Ok(BatchLimits {
            max_batch: within("max-batch", self.max_batch.unwrap_or(max_batch), 1..=MAX_BATCH)?,
            timeout: time("batch-timeout", self.batch_timeout.unwrap_or(timeout), TimeSpan::ZERO)?,
            max_tokens: at_least_one("max-batch-tokens", self.max_batch_tokens)?,
            max_bytes: self
                .max_batch_bytes
                .map(|given| bytes("max-batch-bytes", given, 1..=usize::MAX))
                .transpose()?,
            buckets: steps("buckets", self.buckets.as_deref())?,
            is_padded: false,
        })
    }

    /// Returns the values of `--batch-sizes`, ascending. Adds `max_batch` if all of them are
    /// smaller. Returns an empty list if the option is missing.
    pub(crate) fn sizes(&self, max_batch: usize) -> anyhow::Result<Vec<usize>> {
        let mut sizes = steps("batch-sizes", self.batch_sizes.as_deref())?;
        if sizes.last().is_some_and(|largest| *largest < max_batch) {
            sizes.push(max_batch);
        }
        Ok(sizes)
    }

    /// Reads a table `[batching.NAME]` of a manifest. Fails with a text if the table has an unknown
    /// key or an invalid value.
    pub(crate) fn from_table(table: toml::Table) -> Result<Self, String> {
        let unknown = |key: &String| Some(format!("`{key}`: {}", unknown_key::<Self>(key)?));
        match table.keys().find_map(unknown) {
            Some(why) => Err(why),
            None => table.try_into().map_err(|e: toml::de::Error| with_suggestion(e.message())),
        }
    }
}

/// Returns the numbers in ascending order without duplicates. Fails for 0.
fn steps(key: &str, steps: Option<&[usize]>) -> anyhow::Result<Vec<usize>> {
    let mut steps = steps.unwrap_or_default().to_vec();
    for step in &steps {
        within(key, *step, 1..=1 << 30)?;
    }
    steps.sort_unstable();
    steps.dedup();
    Ok(steps)
}
