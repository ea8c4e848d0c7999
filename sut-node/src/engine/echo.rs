//! Engine without a model: returns answers of a chosen size after a chosen time. It accepts any
//! sample, and measures the network and the batcher.

use std::{thread, time::Duration};

use bytes::Bytes;

use crate::{
    engine::{interface::Inference, sequential::BatchRunner},
    ground::error::EngineError,
    model::payload::Payload,
    settings::echo::EchoConfig,
};

pub(super) struct Echo {
    settings: EchoConfig,
}

impl Echo {
    pub(super) fn new(settings: EchoConfig) -> Self {
        Self { settings }
    }

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
    fn infer(&mut self, batch: &[Payload]) -> Result<Inference, EngineError> {
        let samples = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let pause = self.settings.per_batch + self.settings.per_sample * samples;
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        let answers = batch.iter().map(|sample| Ok(self.answer(sample.bytes()))).collect();
        Ok(Inference { answers, prepare: Duration::ZERO })
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
            let answers = Echo::new(settings).infer(&[sample]).unwrap();
            assert_eq!(answers.responses().unwrap(), [want]);
        }
    }

    #[test]
    fn an_answer_keeps_no_longer_sample_in_memory() {
        let settings =
            EchoConfig { answer_bytes: 8, per_batch: Duration::ZERO, per_sample: Duration::ZERO };
        let sample = Bytes::from(vec![7; 1 << 20]);
        let answer = Echo::new(settings).answer(&sample);
        assert_eq!(answer, [7; 8][..]);
        assert!(sample.is_unique(), "the answer shares the sample's bytes");
    }
}
