//! `object-detection`: a sample is an image as a tensor, or a JPEG file. The model's outputs are
//! candidates: boxes, each with a score and a label. The response is the candidates after
//! non-maximum suppression, in the layout of the official accuracy log (RetinaNet on Open Images).

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout};
use rayon::ThreadPool;
use serde::Deserialize;

use crate::model::{
    manifest::{Dimension, Manifest},
    payload::Payload,
    workload::{Job, Workload},
    workloads::{
        classification::{ImageFormat, pixels},
        parameters,
        rows::{OutputRow, PerSample, Rows},
        tensors::wire_layout,
    },
};

#[derive(Debug)]
pub(super) struct Detection {
    layout: InputLayout,
    samples: ImageFormat,
    height: usize,
    width: usize,
    labels: DataType,
    rules: SuppressionRules,
    threads: Arc<ThreadPool>,
}

/// Rules that select detections from candidates. The defaults are the reference's (MLCommons
/// training, RetinaNet).
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SuppressionRules {
    samples: ImageFormat,
    /// Minimum score of a candidate, exclusive.
    score_threshold: f32,
    /// Maximum overlap (intersection over union) of two candidates of a class. Beyond it, only the
    /// better one is kept.
    nms_threshold: f32,
    /// Maximum number of detections; the best are kept.
    max_detections: usize,
}

impl Default for SuppressionRules {
    fn default() -> Self {
        Self {
            samples: ImageFormat::Tensor,
            score_threshold: 0.05,
            nms_threshold: 0.5,
            max_detections: 300,
        }
    }
}

impl Detection {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        let rules: SuppressionRules = parameters::read(manifest)?;
        let [input] = parameters::exactly("input", &manifest.inputs)?;
        let (height, width) = pixels(input, &parameters::fixed(input)?)?;
        let [boxes, scores, labels] = parameters::exactly("outputs", &manifest.outputs)?;
        parameters::expect(boxes, &[DataType::Float32], 2)?;
        parameters::expect(scores, &[DataType::Float32], 1)?;
        parameters::expect(labels, &[DataType::Int32, DataType::Int64], 1)?;
        let candidates = &scores.dimensions[0];
        if boxes.dimensions != [candidates.clone(), Dimension::Fixed(4)]
            || labels.dimensions != scores.dimensions
        {
            return Err("boxes, scores and labels must be [K, 4], [K] and [K]".into());
        }
        let layout = match rules.samples {
            ImageFormat::Tensor => wire_layout(manifest),
            ImageFormat::Jpeg => InputLayout::default(),
        };
        let (labels, samples) = (labels.data_type, rules.samples);
        Ok(Self { layout, samples, height, width, labels, rules, threads: threads.clone() })
    }

    fn detections(&self, boxes: &[u8], scores: &[u8], labels: &[u8]) -> Bytes {
        let label = |place: usize| match self.labels {
            DataType::Int32 => i64::from(bytemuck::cast_slice::<_, i32>(labels)[place]),
            _ => bytemuck::cast_slice::<_, i64>(labels)[place],
        };
        let corners = bytemuck::cast_slice::<_, [f32; 4]>(boxes);
        let scores = bytemuck::cast_slice::<_, f32>(scores);
        let candidates =
            scores.iter().enumerate().filter(|(_, score)| **score > self.rules.score_threshold);
        let candidates = candidates.map(|(place, score)| Candidate {
            corners: corners[place],
            score: *score,
            label: label(place),
        });
        let (height, width) = (self.height as f32, self.width as f32);
        let mut answer = Vec::new();
        for found in suppress(candidates.collect(), &self.rules) {
            let [left, top, right, bottom] = found.corners;
            // The first number is the image's index in the QSL, which the node does not know. The
            // official script uses LoadGen's own index.
            let row = [
                0.0,
                top / height,
                left / width,
                bottom / height,
                right / width,
                found.score,
                found.label as f32,
            ];
            answer.extend(row.iter().flat_map(|number| number.to_le_bytes()));
        }
        answer.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    /// Left, top, right, bottom, in pixels.
    corners: [f32; 4],
    score: f32,
    label: i64,
}

/// Applies non-maximum suppression within each class. Returns the remaining candidates, the best
/// first.
fn suppress(mut candidates: Vec<Candidate>, rules: &SuppressionRules) -> Vec<Candidate> {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if kept.len() == rules.max_detections {
            break;
        }
        let rival = |other: &Candidate| {
            other.label == candidate.label
                && overlap(&other.corners, &candidate.corners) > rules.nms_threshold
        };
        if !kept.iter().any(rival) {
            kept.push(candidate);
        }
    }
    kept
}

/// Returns the intersection over union of two boxes.
fn overlap(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let area = |c: &[f32; 4]| (c[2] - c[0]) * (c[3] - c[1]);
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let both = width * height;
    both / (area(a) + area(b) - both)
}

impl Workload for Detection {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    fn may_be_empty(&self) -> bool {
        true
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let threads = self.threads.clone();
        Rows::job(self, threads, batch)
    }
}

impl PerSample for Detection {
    fn fill(&self, row: &mut [u8], sample: &[u8]) -> Result<(), String> {
        match self.samples {
            ImageFormat::Tensor => row.copy_from_slice(sample),
            ImageFormat::Jpeg => {
                netdiv_image::stretch(&netdiv_image::decode(sample)?, self.height, self.width, row)
            }
        }
        Ok(())
    }

    fn answer(&self, row: OutputRow<'_>) -> Bytes {
        self.detections(row.of(0), row.of(1), row.of(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_of_two_that_overlap_stays_within_its_class() {
        let candidate = |left: f32, score, label| Candidate {
            corners: [left, 0.0, left + 10.0, 10.0],
            score,
            label,
        };
        let (best, rival, other) =
            (candidate(0.0, 0.9, 1), candidate(1.0, 0.8, 1), candidate(0.0, 0.7, 2));
        // An overlap of exactly the threshold suppresses nothing: 5 of 15.
        let (apart, beside) = (candidate(20.0, 0.6, 1), candidate(25.0, 0.5, 1));
        let rules = SuppressionRules { nms_threshold: 5.0 / 15.0, ..SuppressionRules::default() };
        let all = vec![apart, rival, beside, best, other];
        assert_eq!(suppress(all.clone(), &rules), [best, other, apart, beside]);
        let rules = SuppressionRules { max_detections: 2, ..rules };
        assert_eq!(suppress(all, &rules), [best, other]);
        assert_eq!(suppress(vec![], &rules), []);
    }
}
