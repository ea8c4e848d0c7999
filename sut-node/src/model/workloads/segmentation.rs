//! `segmentation`: a sample is a volume of any size. The model processes one window of it at a
//! time; the response is a uint8 label for each voxel (3D-UNet on KiTS19).
//!
//! Windows half overlap. The model's output for each is weighted with a Gaussian, so that its
//! middle counts more than its rim, and added up; the class with the largest sum wins. The
//! reference divides by the sum of the weights first. That sum is equal for all classes and changes
//! no label.

use std::sync::Arc;

use bytes::Bytes;
use netdiv_contract::layout::{DataType, InputLayout, TensorSpec};
use rayon::{ThreadPool, prelude::*};
use serde::Deserialize;

use crate::model::{
    manifest::Manifest,
    payload::Payload,
    workload::{Job, Pass, SampleResponse, Workload, bad_sample, rows_of},
    workloads::parameters,
};

const F32: usize = size_of::<f32>();

#[derive(Debug)]
pub(super) struct Segmentation {
    layout: InputLayout,
    /// Length of a side of the cubic window, in voxels.
    window: usize,
    classes: usize,
    /// Number of windows in a pass.
    rows: usize,
    weights: Vec<f32>,
    threads: Arc<ThreadPool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SegmentationParameters {
    /// Number of windows in a pass.
    windows: usize,
}

impl Default for SegmentationParameters {
    fn default() -> Self {
        Self { windows: 4 }
    }
}

/// Maximum length of a window's side, in voxels: the weights of such a window take half a gigabyte.
/// A window of the benchmark has 128.
const LONGEST_WINDOW: usize = 512;

/// Maximum size of the sums that are needed for a volume, one for each class and voxel, in bytes.
const MAX_SUM_BYTES: usize = 8 << 30;

impl Segmentation {
    pub(super) fn new(manifest: &Arc<Manifest>, threads: &Arc<ThreadPool>) -> Result<Self, String> {
        let SegmentationParameters { windows } = parameters::read(manifest)?;
        let [input] = parameters::exactly("input", &manifest.inputs)?;
        let [output] = parameters::exactly("output", &manifest.outputs)?;
        parameters::expect(input, &[DataType::Float32], 4)?;
        parameters::expect(output, &[DataType::Float32], 4)?;
        let (taken, given) = (parameters::fixed(input)?, parameters::fixed(output)?);
        let (window, classes) = (taken[1], given[0]);
        let cube = [window; 3];
        if taken[0] != 1
            || taken[1..] != cube
            || given[1..] != cube
            || window % 2 == 1
            || window > LONGEST_WINDOW
            || classes > 256
        {
            return Err(format!(
                "input and output must be [1, R, R, R] and [classes, R, R, R], with an even R of at most {LONGEST_WINDOW} \
                 and at most 256 classes"
            ));
        }
        let spec = TensorSpec { shape: vec![1, -1, -1, -1], ..input.spec() };
        Ok(Self {
            layout: InputLayout { tensors: vec![spec] },
            window,
            classes,
            rows: windows.max(1),
            weights: weights(window),
            threads: threads.clone(),
        })
    }

    /// Returns depth, height and width of a volume, in voxels. Fails if the size is unsupported.
    fn shape(&self, payload: &Payload) -> Result<[usize; 3], String> {
        let volume = &payload.tensors()[0].shape;
        let shape = [volume[1], volume[2], volume[3]];
        let stride = self.window / 2;
        let fits = |length: &usize| *length >= self.window && length.is_multiple_of(stride);
        let each = self.classes * F32;
        let sums = shape.iter().try_fold(each, |product, n| product.checked_mul(*n));
        match sums {
            Some(1..=MAX_SUM_BYTES) if shape.iter().all(fits) => Ok(shape),
            _ => Err(format!(
                "a volume of {shape:?} voxels; each side must be a multiple of {stride} and at least {}, and the \
                 volume at most {} voxels",
                self.window,
                MAX_SUM_BYTES / each
            )),
        }
    }

    /// Returns the first voxel of each window (z, y, x), in the order of the reference.
    fn starts(&self, shape: [usize; 3]) -> Vec<[usize; 3]> {
        let stride = self.window / 2;
        let along = |length: usize| (0..=length - self.window).step_by(stride);
        let mut starts = Vec::new();
        for z in along(shape[0]) {
            for y in along(shape[1]) {
                starts.extend(along(shape[2]).map(|x| [z, y, x]));
            }
        }
        starts
    }
}

/// Returns the weight of each voxel of a window: the cube root of the product of three Gaussians.
/// Their standard deviation is an eighth of the window, their maximum is 1 (reference:
/// `inference_utils.py`, `gaussian_kernel`).
fn weights(window: usize) -> Vec<f32> {
    let sigma = window as f64 / 8.0;
    let middle = (window as f64 - 1.0) / 2.0;
    let square = |n: usize| (n as f64 - middle).powi(2);
    // Squared distance of the voxels next to the middle, whose weight is 1.
    let least = 3.0 * 0.25;
    let mut weights = Vec::with_capacity(window.pow(3));
    for z in 0..window {
        for y in 0..window {
            for x in 0..window {
                let distance = square(z) + square(y) + square(x) - least;
                weights.push((-distance / (6.0 * sigma * sigma)).exp() as f32);
            }
        }
    }
    weights
}

impl Workload for Segmentation {
    fn layout(&self) -> InputLayout {
        self.layout.clone()
    }

    /// Counts the label of each voxel. The sums of the classes are not counted: only one volume at
    /// a time has them.
    fn working_bytes(&self, decoded: u64) -> u64 {
        decoded / F32 as u64
    }

    fn job(self: Arc<Self>, batch: Arc<[Payload]>) -> Box<dyn Job> {
        let mut groups = Vec::new();
        let volume = |(place, payload): (usize, &Payload)| {
            let shape = self.shape(payload)?;
            let starts = self.starts(shape);
            groups.extend(starts.chunks(self.rows).map(|starts| (place, starts.to_vec())));
            Ok(Volume { shape, windows_left: starts.len(), sums: Vec::new(), labels: Bytes::new() })
        };
        let volumes = batch.iter().enumerate().map(volume).collect();
        Box::new(Windows { workload: self, batch, volumes, groups, asked: 0, taken: 0 })
    }

    /// A row is a window. The last group of a volume is filled up.
    fn row_steps(&self, _: &[usize]) -> Vec<usize> {
        vec![self.rows]
    }

    fn warm_up(&self, _: &[usize], _: &[usize]) -> Vec<Pass> {
        vec![Pass::of_rows(self.rows)]
    }
}

/// Yields the index in the volume of the voxel at which each row of a window begins, in the
/// window's order.
fn rows(
    shape: &[usize; 3],
    start: [usize; 3],
    window: usize,
) -> impl Iterator<Item = usize> + use<> {
    let [_, height, width] = *shape;
    let row = move |z: usize, y: usize| ((start[0] + z) * height + start[1] + y) * width + start[2];
    (0..window).flat_map(move |z| (0..window).map(move |y| row(z, y)))
}

/// A batch, in groups of windows that run one after the other.
struct Windows {
    workload: Arc<Segmentation>,
    batch: Arc<[Payload]>,
    volumes: Vec<Result<Volume, String>>,
    /// Windows of each pass: the index of their sample in the batch, and their starts.
    groups: Vec<(usize, Vec<[usize; 3]>)>,
    asked: usize,
    taken: usize,
}

struct Volume {
    shape: [usize; 3],
    windows_left: usize,
    /// Sums of the model's weighted outputs, by class and voxel; empty before the first and after
    /// the last window.
    sums: Vec<f32>,
    labels: Bytes,
}

impl Volume {
    fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Adds the model's output for a window to the sums. After the last window, sets the labels.
    fn add(&mut self, start: [usize; 3], output: &[f32], workload: &Segmentation) {
        let (window, voxels) = (workload.window, self.voxels());
        self.sums.resize(workload.classes * voxels, 0.0);
        let shape = &self.shape;
        let add = |(sums, output): (&mut [f32], &[f32])| {
            let parts = output.chunks_exact(window).zip(workload.weights.chunks_exact(window));
            for (at, (output, weights)) in rows(shape, start, window).zip(parts) {
                for ((sum, value), weight) in
                    sums[at..][..window].iter_mut().zip(output).zip(weights)
                {
                    *sum += value * weight;
                }
            }
        };
        workload.threads.install(|| {
            let classes = output.par_chunks_exact(window.pow(3));
            self.sums.par_chunks_exact_mut(voxels).zip(classes).for_each(add);
        });
        self.windows_left -= 1;
        if self.windows_left == 0 {
            self.labels = self.classify();
            self.sums = Vec::new();
        }
    }

    /// Returns the label of each voxel: the first class with the largest sum.
    fn classify(&self) -> Bytes {
        let voxels = self.voxels();
        let mut labels = vec![0; voxels];
        let mut best = self.sums[..voxels].to_vec();
        for (class, sums) in self.sums.chunks_exact(voxels).enumerate().skip(1) {
            for ((label, best), sum) in labels.iter_mut().zip(&mut best).zip(sums) {
                if *sum > *best {
                    (*label, *best) = (class as u8, *sum);
                }
            }
        }
        labels.into()
    }
}

impl Job for Windows {
    fn next_pass(&mut self) -> Option<Pass> {
        let (_, starts) = self.groups.get(self.asked)?;
        self.asked += 1;
        Some(Pass::of_rows(starts.len()))
    }

    fn write_inputs(&mut self, inputs: &mut [&mut [u8]]) {
        let (place, starts) = &self.groups[self.asked - 1];
        let (Ok(volume), [tensor]) = (&self.volumes[*place], self.batch[*place].tensors()) else {
            return;
        };
        let row_bytes = self.workload.window * F32;
        let mut to = inputs[0].chunks_exact_mut(row_bytes);
        for start in starts {
            for (at, to) in rows(&volume.shape, *start, self.workload.window).zip(&mut to) {
                to.copy_from_slice(&tensor.data[at * F32..][..row_bytes]);
            }
        }
    }

    fn read_outputs(&mut self, outputs: &[&[u8]]) {
        let (place, starts) = &self.groups[self.taken];
        self.taken += 1;
        let Ok(volume) = &mut self.volumes[*place] else { return };
        for (start, output) in starts.iter().zip(rows_of(outputs[0], starts.len())) {
            volume.add(*start, bytemuck::cast_slice(output), &self.workload);
        }
    }

    fn answers(self: Box<Self>) -> Vec<SampleResponse> {
        let answer = |volume: Result<Volume, String>| match volume {
            Ok(volume) => Ok(volume.labels),
            Err(why) => Err(bad_sample(why)),
        };
        self.volumes.into_iter().map(answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_one_in_the_middle_and_never_zero() {
        let weights = weights(128);
        let at = |z: usize, y: usize, x: usize| weights[(z * 128 + y) * 128 + x];
        assert_eq!((at(63, 63, 63), at(64, 63, 64)), (1.0, 1.0));
        // Computed separately, by the reference's construction.
        assert!((at(0, 0, 0) - 3.8e-4).abs() < 1e-5, "{}", at(0, 0, 0));
    }
}
