//! How samples become batches.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    batching::batcher::Rules,
    settings::range::{OutOfRange, within},
};

/// Keys of the batcher. They are also those of `[batching.SCENARIO]` in a manifest.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct BatchingArgs {
    /// Longest batch, in samples [default: 32; openai, vllm-grpc, kserve: 256; echo, tokens: 1024; decoder: 1]
    #[arg(long, value_name = "SAMPLES")]
    pub max_batch: Option<usize>,
    /// Longest time a sample waits for others to fill its batch, in microseconds [default: 1000; echo: 0];
    /// engines of tokens have none
    #[arg(long, value_name = "US")]
    pub batch_timeout_us: Option<u64>,
    /// Longest batch in tokens (or user-item pairs), padding included [default: any]
    #[arg(long, value_name = "TOKENS")]
    pub max_batch_tokens: Option<usize>,
    /// Longest batch in bytes of its samples [default: any]
    #[arg(long, value_name = "BYTES")]
    pub max_batch_bytes: Option<usize>,
    /// Lengths in tokens: samples run with those of the same bucket, padded to its length [default: all together]
    #[arg(long, value_name = "TOKENS", value_delimiter = ',')]
    pub buckets: Option<Vec<usize>>,
    /// Plug-in engines: sizes that batches are filled up to with zeros, where a device likes some better than others
    /// [default: as they come]
    #[arg(long, value_name = "SAMPLES", value_delimiter = ',')]
    pub batch_sizes: Option<Vec<usize>>,
}

/// Settings of the batcher.
#[derive(Debug, Clone)]
pub struct Batching {
    /// Longest batch, in samples.
    pub max_batch: usize,
    /// Longest time a sample waits for others.
    pub timeout: Duration,
    /// Longest batch, in tokens.
    pub max_tokens: Option<usize>,
    /// Longest batch, in bytes.
    pub max_bytes: Option<usize>,
    /// Lengths that samples are sorted by, ascending.
    pub buckets: Vec<usize>,
}

/// Longest batch; the samples in flight, a few times as many, still fit 32 bits.
const MAX_BATCH: usize = 1 << 16;

/// Longest time that a sample may wait, in microseconds: a day.
const MAX_TIMEOUT_US: u64 = 86_400_000_000;

impl BatchingArgs {
    /// These, and what they leave open from `other`.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            max_batch: self.max_batch.or(other.max_batch),
            batch_timeout_us: self.batch_timeout_us.or(other.batch_timeout_us),
            max_batch_tokens: self.max_batch_tokens.or(other.max_batch_tokens),
            max_batch_bytes: self.max_batch_bytes.or(other.max_batch_bytes),
            buckets: self.buckets.clone().or_else(|| other.buckets.clone()),
            batch_sizes: self.batch_sizes.clone().or_else(|| other.batch_sizes.clone()),
        }
    }

    /// A key that is set.
    pub(super) fn any(&self) -> Option<&'static str> {
        let Self {
            max_batch,
            batch_timeout_us,
            max_batch_tokens,
            max_batch_bytes,
            buckets,
            batch_sizes,
        } = self;
        let keys = [
            ("max-batch", max_batch.is_some()),
            ("batch-timeout-us", batch_timeout_us.is_some()),
            ("max-batch-tokens", max_batch_tokens.is_some()),
            ("max-batch-bytes", max_batch_bytes.is_some()),
            ("buckets", buckets.is_some()),
            ("batch-sizes", batch_sizes.is_some()),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    /// Checks the settings and fills in the defaults.
    pub(super) fn resolve(
        &self,
        max_batch: usize,
        timeout_us: u64,
    ) -> Result<Batching, OutOfRange> {
        let at_least_one = |key, value: Option<usize>| {
            value.map(|value| within(key, value, 1..=usize::MAX)).transpose()
        };
        Ok(Batching {
            max_batch: within("max-batch", self.max_batch.unwrap_or(max_batch), 1..=MAX_BATCH)?,
            timeout: Duration::from_micros(within(
                "batch-timeout-us",
                self.batch_timeout_us.unwrap_or(timeout_us),
                0..=MAX_TIMEOUT_US,
            )?),
            max_tokens: at_least_one("max-batch-tokens", self.max_batch_tokens)?,
            max_bytes: at_least_one("max-batch-bytes", self.max_batch_bytes)?,
            buckets: steps("buckets", self.buckets.as_deref())?,
        })
    }

    /// The batch sizes, ascending; the longest batch is one of them, where there are any.
    pub(super) fn sizes(&self, max_batch: usize) -> Result<Vec<usize>, OutOfRange> {
        let mut sizes = steps("batch-sizes", self.batch_sizes.as_deref())?;
        if sizes.last().is_some_and(|largest| *largest < max_batch) {
            sizes.push(max_batch);
        }
        Ok(sizes)
    }

    /// From a table of a manifest; an error text when it holds anything else.
    pub(crate) fn of_table(table: toml::Table) -> Result<Self, String> {
        let known: Self =
            table.clone().try_into().map_err(|e: toml::de::Error| e.message().to_owned())?;
        let taken = toml::Table::try_from(&known).map_err(|error| error.to_string())?;
        match table.keys().find(|key| !taken.contains_key(*key)) {
            Some(key) => Err(format!("`{key}`: there is no such setting")),
            None => Ok(known),
        }
    }
}

/// Numbers above 0, ascending, each once.
fn steps(key: &'static str, steps: Option<&[usize]>) -> Result<Vec<usize>, OutOfRange> {
    let mut steps = steps.unwrap_or_default().to_vec();
    for step in &steps {
        within(key, *step, 1..=1 << 30)?;
    }
    steps.sort_unstable();
    steps.dedup();
    Ok(steps)
}

impl Batching {
    /// The batcher's rules; `pads`: samples of a batch are padded to the longest.
    pub(crate) fn rules(&self, pads: bool) -> Rules {
        Rules {
            samples: self.max_batch,
            tokens: self.max_tokens,
            pads,
            bytes: self.max_bytes,
            age: self.timeout,
            buckets: self.buckets.clone(),
        }
    }
}
