//! Engine without a model: returns answers of a chosen size after a chosen time. It accepts any
//! sample, and measures the network and the batcher.

use std::{thread, time::Duration};

use bytes::Bytes;
use netdiv_contract::limits;
use netdiv_node_common::process::{ByteCount, TimeSpan};
use serde::Serialize;

use crate::{
    engine::{
        interface::{BatchAnswers, BatchRunner, EngineKind, SequentialEngine},
        settings::{EngineSettings, NodeSettings},
        shared_args::Given,
    },
    ground::{
        error::EngineError,
        range::{bytes, time},
        serialized::microseconds,
    },
    model::{identity::Model, payload::Payload},
};

/// Keys of the engine `echo`.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Answers")]
pub struct EchoArgs {
    /// Bytes of each response; 0 for the sample's own bytes
    #[arg(long, value_name = "BYTES", default_value = "8", hide_short_help = true)]
    pub echo_answer_bytes: ByteCount,
    /// Time of each batch
    #[arg(long, value_name = "TIME", default_value = "0s", hide_short_help = true)]
    pub echo_batch: TimeSpan,
    /// Additional time of each sample in a batch
    #[arg(long, value_name = "TIME", default_value = "0s", hide_short_help = true)]
    pub echo_sample: TimeSpan,
}

/// Settings of the engine `echo`, which responds without a model, in batches that take a set time.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename = "echo")]
pub struct EchoConfig {
    /// Bytes of each response; 0: the sample's own bytes.
    pub answer_bytes: usize,
    /// Time that each batch takes.
    #[serde(rename = "batch_us", serialize_with = "microseconds")]
    pub per_batch: Duration,
    /// Additional time that a batch takes for each of its samples.
    #[serde(rename = "sample_us", serialize_with = "microseconds")]
    pub per_sample: Duration,
}

impl EchoConfig {
    pub(super) const KEYS: &[&str] = &["batch_timeout"];

    pub(super) fn resolve(keys: &EchoArgs, _: &mut Given<'_>) -> anyhow::Result<Self> {
        let time = |key, given| time(key, given, TimeSpan::ZERO);
        let most = limits::MAX_PAYLOAD_BYTES;
        Ok(Self {
            answer_bytes: bytes("echo-answer-bytes", keys.echo_answer_bytes, 0..=most)?,
            per_batch: time("echo-batch", keys.echo_batch)?,
            per_sample: time("echo-sample", keys.echo_sample)?,
        })
    }
}

impl EngineSettings for EchoConfig {
    fn load(&self, node: &NodeSettings) -> Result<(Model, Vec<EngineKind>), EngineError> {
        let engine =
            |_| EngineKind::Batched(SequentialEngine::boxed(Echo { settings: self.clone() }));
        let answer_bytes = self.answer_bytes as u64;
        let model = Model { answer_bytes, ..Model::any_bytes("echo") };
        Ok((model, (0..node.instances).map(engine).collect()))
    }
}

struct Echo {
    settings: EchoConfig,
}

impl Echo {
    /// Returns the first bytes of the sample, padded with zeros if the sample is too short. A
    /// shorter answer is a copy: a slice would keep the whole sample in memory after the sample's
    /// permit was released.
    fn answer(&self, sample: &Bytes) -> Bytes {
        let want = self.settings.answer_bytes;
        if want == 0 || want == sample.len() {
            return sample.clone();
        }
        if want < sample.len() {
            return Bytes::copy_from_slice(&sample[..want]);
        }
        sample.iter().copied().chain(std::iter::repeat(0)).take(want).collect()
    }
}

impl BatchRunner for Echo {
    fn infer(&mut self, batch: &[Payload]) -> Result<BatchAnswers, EngineError> {
        let samples = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let pause = self.settings.per_batch + self.settings.per_sample * samples;
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        let answers = batch.iter().map(|sample| Ok(self.answer(sample.bytes()))).collect();
        Ok(BatchAnswers { answers, token_counts: Vec::new(), prepare: Duration::ZERO })
    }
}

#[cfg(test)]
mod tests {
    use netdiv_contract::layout::InputLayout;

    use super::*;

    #[test]
    fn answers_have_the_chosen_size() {
        for (answer_bytes, want) in [(0, "abc"), (2, "ab"), (3, "abc"), (5, "abc\0\0")] {
            let settings =
                EchoConfig { answer_bytes, per_batch: Duration::ZERO, per_sample: Duration::ZERO };
            let sample = Payload::read(&InputLayout::default(), "abc".into()).unwrap();
            let answers = Echo { settings }.infer(&[sample]).unwrap();
            assert_eq!(answers.responses().unwrap(), [want]);
        }
    }

    #[test]
    fn an_answer_keeps_no_longer_sample_in_memory() {
        let settings =
            EchoConfig { answer_bytes: 8, per_batch: Duration::ZERO, per_sample: Duration::ZERO };
        let sample = Bytes::from(vec![7; 1 << 20]);
        let answer = Echo { settings }.answer(&sample);
        assert_eq!(answer, [7; 8][..]);
        assert!(sample.is_unique(), "the answer shares the sample's bytes");
    }
}
