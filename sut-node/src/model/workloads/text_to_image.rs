//! `text-to-image`: a sample is the token ids of a prompt, from both tokenizers or from the first
//! alone. The response is the pixels of the image, as in the official accuracy log (Stable
//! Diffusion XL).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout};
use serde::Deserialize;

use crate::model::{
    manifest::Manifest,
    payload::Payload,
    workload::{Job, Workload, integers},
    workloads::{
        parameters,
        rows::{NumberRows, OutputRow},
        tensors::wire_layout,
    },
};

#[derive(Debug)]
pub(super) struct TextToImage {
    layout: InputLayout,
    image_bytes: u64,
    data_type: DataType,
    settings: TextToImageParameters,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TextToImageParameters {
    samples: PromptFormat,
    /// Number of token ids, which start at 0. A higher id would be read from memory beyond the
    /// model's table.
    vocabulary: i64,
    /// Id that ends a prompt. The default is CLIP's.
    end: i64,
}

impl Default for TextToImageParameters {
    fn default() -> Self {
        Self { samples: PromptFormat::Tensors, vocabulary: 49_408, end: 49_407 }
    }
}

/// Tensors of a sample on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PromptFormat {
    /// Ids of both tokenizers.
    Tensors,
    /// Ids of the first tokenizer; the node derives the second's.
    Ids,
}

/// Number of tokenizers, one for each text encoder.
const TOKENIZERS: usize = 2;

impl TextToImage {
    pub(super) fn new(manifest: &Arc<Manifest>) -> Result<Self, String> {
        let settings: TextToImageParameters = parameters::read(manifest)?;
        if settings.vocabulary < 1 || !(0..settings.vocabulary).contains(&settings.end) {
            return Err("[parameters]: end must be an id, from 0 to vocabulary - 1".into());
        }
        let inputs: &[_; TOKENIZERS] = parameters::exactly("inputs", &manifest.inputs)?;
        for input in inputs {
            parameters::expect(input, &[DataType::Int32, DataType::Int64], 1)?;
            parameters::fixed(input)?;
        }
        let data_type = inputs[0].data_type;
        if inputs[1].data_type != data_type || inputs[1].dimensions != inputs[0].dimensions {
            return Err("both inputs must be of one type and length".into());
        }
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        parameters::expect(output, &[DataType::Uint8], 3)?;
        let image_bytes = parameters::fixed(output)?.into_iter().map(|n| n as u64).product();
        let mut layout = wire_layout(manifest);
        if settings.samples == PromptFormat::Ids {
            layout.tensors.truncate(1);
        }
        Ok(Self { layout, image_bytes, data_type, settings })
    }

    /// Returns the ids of both tokenizers.
    fn ids(&self, payload: &Payload) -> Result<[Vec<i64>; TOKENIZERS], String> {
        let tensors = payload.tensors();
        let known = 0..self.settings.vocabulary;
        if let Some(id) = tensors.iter().flat_map(integers).find(|id| !known.contains(id)) {
            return Err(format!("id {id}; ids go from 0 to {}", known.end - 1));
        }
        let first: Vec<_> = integers(&tensors[0]).collect();
        let second = match tensors.get(1) {
            Some(second) => integers(second).collect(),
            None => self.padded_with_zeros(&first)?,
        };
        Ok([first, second])
    }

    /// Converts the first tokenizer's ids to the second tokenizer's. Both have the same vocabulary.
    /// After the end of the prompt, the first repeats the end id, and the second pads with zeros.
    fn padded_with_zeros(&self, ids: &[i64]) -> Result<Vec<i64>, String> {
        let end = self.settings.end;
        let at = ids.iter().position(|id| *id == end);
        let at = at.ok_or_else(|| format!("a prompt without its end, id {end}"))?;
        match ids[at..].iter().find(|id| **id != end) {
            Some(id) => Err(format!("id {id} after the end of the prompt, id {end}")),
            None => Ok([&ids[..=at], &vec![0; ids.len() - at - 1]].concat()),
        }
    }
}

impl Workload for TextToImage {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn working_bytes(&self, _: u64) -> u64 {
        self.image_bytes
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let prompts: Vec<_> = batch.iter().map(|payload| self.ids(payload)).collect();
        let image = |row: OutputRow<'_>, _: usize| Bytes::copy_from_slice(row.of(0));
        NumberRows::job(prompts, self.data_type, Vec::new(), image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_tokenizer_pads_with_zeros() {
        let settings = TextToImageParameters { vocabulary: 10, end: 9, samples: PromptFormat::Ids };
        let layout = InputLayout::default();
        let workload = TextToImage { layout, image_bytes: 0, data_type: DataType::Int32, settings };
        let padded = |ids: &[i64]| workload.padded_with_zeros(ids);
        assert_eq!(padded(&[8, 3, 9, 9, 9]).unwrap(), [8, 3, 9, 0, 0]);
        assert_eq!(padded(&[8, 3, 9]).unwrap(), [8, 3, 9]);
        assert!(padded(&[8, 3, 0]).unwrap_err().contains("without its end"));
        assert!(padded(&[8, 9, 3, 9]).unwrap_err().contains("id 3 after the end"));
    }
}
