//! No model: answers of a chosen size after a chosen time. It takes any sample, and shows what the network and
//! the batcher can do.

use std::{thread, time::Duration};

use bytes::Bytes;

use crate::{
    engine::{error::EngineError, interface::Inference, one_by_one::Infer},
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

    /// The first bytes of the sample, and zeros when it is too short.
    fn answer(&self, sample: &Bytes) -> Bytes {
        let want = self.settings.answer_bytes;
        if want == 0 || want == sample.len() {
            return sample.clone();
        }
        if want < sample.len() {
            return sample.slice(..want);
        }
        sample.iter().copied().chain(std::iter::repeat(0)).take(want).collect()
    }
}

impl Infer for Echo {
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
}
