//! `image-classification`: an image, or a JPEG file; the answer is an int32 label.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_proto::layout::{DataType, InputLayout};
use rayon::{ThreadPool, prelude::*};
use serde::Deserialize;

use super::{
    Answer, Job, Pass, Workload, bad_sample, image, parameters, rows_of,
    tensors::{Stack, wire_layout},
};
use crate::manifest::Manifest;

#[derive(Debug)]
pub(super) struct Classification {
    manifest: Arc<Manifest>,
    layout: InputLayout,
    jpeg: Option<Jpeg>,
}

#[derive(Debug, Clone)]
struct Jpeg {
    short_side: usize,
    height: usize,
    width: usize,
    threads: Arc<ThreadPool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    samples: Samples,
    /// The short side of a decoded image before it is cropped, in pixels.
    resize: Option<usize>,
}

/// What travels.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Samples {
    /// The model's input.
    #[default]
    Tensor,
    /// A JPEG file.
    Jpeg,
}

impl Classification {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        let Parameters { samples, resize } = parameters::read(manifest)?;
        let [input] = parameters::exactly("input", &manifest.inputs)?;
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        parameters::expect(output, &[DataType::Float32], 1)?;
        parameters::fixed(output)?;
        let lengths = parameters::fixed(input)?;
        let (layout, jpeg) = match samples {
            Samples::Tensor => (wire_layout(manifest), None),
            Samples::Jpeg => {
                let (height, width) = pixels(input, &lengths)?;
                // The reference: 256 for 224 (VGG's 87.5 %).
                let short_side = resize.unwrap_or(height.min(width) * 256 / 224);
                (
                    InputLayout::default(),
                    Some(Jpeg { short_side, height, width, threads: threads.clone() }),
                )
            }
        };
        Ok(Self { manifest: manifest.clone(), layout, jpeg })
    }
}

/// Height and width of an input that decoded images fit.
pub(super) fn pixels(
    input: &crate::manifest::Shape,
    lengths: &[usize],
) -> Result<(usize, usize), String> {
    match (input.data_type, lengths) {
        (DataType::Uint8, [height, width, 3]) => Ok((*height, *width)),
        _ => Err(format!("{} must be uint8[height, width, 3] for JPEG samples", input.name)),
    }
}

impl Workload for Classification {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn job(self: Arc<Self>, batch: Vec<Bytes>) -> Box<dyn Job> {
        match &self.jpeg {
            Some(jpeg) => Box::new(Decode::new(jpeg.clone(), batch)),
            None => {
                let stack = Stack::new(self.manifest.clone(), self.layout.clone(), batch);
                Box::new(Classify(stack))
            }
        }
    }

    fn warm_up(&self, rows: &[usize], _: &[usize]) -> Vec<Pass> {
        rows.iter().map(|rows| Pass { rows: *rows, lengths: Vec::new() }).collect()
    }
}

/// The label of one sample's logits.
fn label(logits: &[u8]) -> Bytes {
    let logits: &[f32] = bytemuck::cast_slice(logits);
    Bytes::copy_from_slice(&(first_largest(logits) as i32).to_le_bytes())
}

/// The place of the first largest element; of the first that is not a number, if there is one (as NumPy has it).
pub(crate) fn first_largest<T: PartialOrd>(elements: &[T]) -> usize {
    let mut best = 0;
    for (place, element) in elements.iter().enumerate() {
        if element.partial_cmp(element).is_none() {
            return place;
        }
        if *element > elements[best] {
            best = place;
        }
    }
    best
}

/// Samples that are the model's input.
struct Classify(Stack);

impl Job for Classify {
    fn next_pass(&mut self) -> Option<Pass> {
        self.0.next_pass()
    }

    fn fill(&mut self, inputs: &mut [&mut [u8]]) {
        self.0.fill(inputs);
    }

    fn take(&mut self, outputs: &[&[u8]]) {
        self.0.take_rows(outputs[0], label);
    }

    fn answers(self: Box<Self>) -> Vec<Answer> {
        self.0.into_answers()
    }
}

/// Samples that are JPEG files. One that cannot be decoded leaves its row empty and gets an error.
struct Decode {
    jpeg: Jpeg,
    batch: Vec<Bytes>,
    asked: bool,
    answers: Vec<Answer>,
}

impl Decode {
    fn new(jpeg: Jpeg, batch: Vec<Bytes>) -> Self {
        Self { jpeg, batch, asked: false, answers: Vec::new() }
    }
}

impl Job for Decode {
    fn next_pass(&mut self) -> Option<Pass> {
        let rows = self.batch.len();
        (!std::mem::replace(&mut self.asked, true)).then_some(Pass { rows, lengths: Vec::new() })
    }

    fn fill(&mut self, inputs: &mut [&mut [u8]]) {
        let Jpeg { short_side, height, width, .. } = self.jpeg;
        let decode = |to: &mut [u8], file: &[u8]| {
            let resized = image::resize_short_side(image::decode(file)?, short_side)?;
            image::centre_crop(&resized, height, width, to)
        };
        self.answers = decode_all(&self.jpeg.threads, inputs[0], &self.batch, decode);
    }

    fn take(&mut self, outputs: &[&[u8]]) {
        let rows = rows_of(outputs[0], self.batch.len());
        for (answer, logits) in self.answers.iter_mut().zip(rows) {
            if let Ok(bytes) = answer {
                *bytes = label(logits);
            }
        }
    }

    fn answers(self: Box<Self>) -> Vec<Answer> {
        self.answers
    }
}

/// Decodes all files, each into its row; an empty answer for each that went well, until the model gives one.
pub(super) fn decode_all(
    threads: &ThreadPool,
    rows: &mut [u8],
    files: &[Bytes],
    decode: impl Fn(&mut [u8], &[u8]) -> Result<(), String> + Sync,
) -> Vec<Answer> {
    let row_bytes = rows.len() / files.len().max(1);
    threads.install(|| {
        rows.par_chunks_exact_mut(row_bytes.max(1))
            .zip(files)
            .map(|(row, file)| match decode(row, file) {
                Ok(()) => Ok(Bytes::new()),
                Err(why) => {
                    row.fill(0);
                    Err(bad_sample(why))
                }
            })
            .collect()
    })
}
