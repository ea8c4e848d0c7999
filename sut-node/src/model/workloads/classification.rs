//! `image-classification`: a sample is an image as a tensor, or a JPEG file. The response is an
//! int32 label.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout};
use rayon::ThreadPool;
use serde::Deserialize;

use crate::model::{
    manifest::{Manifest, Shape},
    payload::Payload,
    workload::{Job, Workload},
    workloads::{
        parameters,
        rows::{OutputRow, PerSample, Rows},
        tensors::{Stack, wire_layout},
    },
};

#[derive(Debug)]
pub(super) struct Classification {
    manifest: Arc<Manifest>,
    layout: InputLayout,
    /// Pre-processing, if samples are JPEG files.
    jpeg: Option<Arc<Jpeg>>,
    threads: Arc<ThreadPool>,
}

#[derive(Debug)]
struct Jpeg {
    short_side: usize,
    height: usize,
    width: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassificationParameters {
    #[serde(default)]
    samples: ImageFormat,
    /// Length of the short side of a decoded image before it is cropped, in pixels.
    resize: Option<usize>,
}

/// Form of the samples on the wire.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ImageFormat {
    /// The model's input tensor.
    #[default]
    Tensor,
    /// A JPEG file.
    Jpeg,
}

impl Classification {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        let ClassificationParameters { samples, resize } = parameters::read(manifest)?;
        let [input] = parameters::exactly("input", &manifest.inputs)?;
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        parameters::expect(output, &[DataType::Float32], 1)?;
        parameters::fixed(output)?;
        let lengths = parameters::fixed(input)?;
        let (layout, jpeg) = match samples {
            ImageFormat::Tensor => (wire_layout(manifest), None),
            ImageFormat::Jpeg => {
                let (height, width) = pixels(input, &lengths)?;
                // Like the reference: 256 pixels for a crop of 224 pixels (VGG's 87.5 %).
                let short_side = resize.unwrap_or(height.min(width) * 256 / 224);
                if short_side > netdiv_image::MAX_SIDE {
                    let most = netdiv_image::MAX_SIDE;
                    return Err(format!("resize = {short_side}: at most {most} pixels"));
                }
                (InputLayout::default(), Some(Arc::new(Jpeg { short_side, height, width })))
            }
        };
        Ok(Self { manifest: manifest.clone(), layout, jpeg, threads: threads.clone() })
    }
}

/// Returns height and width of the model's input, in pixels. `lengths` are the dimensions of the
/// input. Fails if the input does not accept decoded images.
pub(super) fn pixels(input: &Shape, lengths: &[usize]) -> Result<(usize, usize), String> {
    match (input.data_type, lengths) {
        (DataType::Uint8, [height, width, 3]) => {
            netdiv_image::check_size(*width, *height).map(|()| (*height, *width))
        }
        _ => Err(format!("{} must be uint8[height, width, 3] for JPEG samples", input.name)),
    }
}

impl Workload for Classification {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        match &self.jpeg {
            Some(jpeg) => Rows::job(jpeg.clone(), self.threads.clone(), batch),
            None => Stack::job(&self.manifest, &self.threads, batch, |_| Ok(()), label),
        }
    }
}

/// Returns the label of a sample: the index of the largest logit, as int32 bytes. `logits` are
/// float32 bytes.
pub(super) fn label(logits: &[u8]) -> Bytes {
    let logits: &[f32] = bytemuck::cast_slice(logits);
    Bytes::copy_from_slice(&(first_largest(logits) as i32).to_le_bytes())
}

/// Returns the index of the first largest element. Like NumPy, returns the first element that is
/// not a number, if there is one.
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

impl PerSample for Jpeg {
    fn fill(&self, row: &mut [u8], sample: &[u8]) -> Result<(), String> {
        let resized =
            netdiv_image::resize_short_side(netdiv_image::decode(sample)?, self.short_side)?;
        netdiv_image::centre_crop(&resized, self.height, self.width, row)
    }

    fn answer(&self, row: OutputRow<'_>) -> Bytes {
        label(row.of(0))
    }
}
