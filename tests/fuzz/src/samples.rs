//! Samples in NumPy's format, and as a node's workloads read them.

use bytes::Bytes;
use netdiv_contract::layout;
use netdiv_dataset::{Dataset, labels, open};
use sut_node::fuzzing::FuzzedWorkload;

use crate::input::with_file;

/// Manifests of the tests' own models; one also limits the numbers of a sample.
const MODELS: [&str; 4] = [
    include_str!("../../models/bert.toml"),
    include_str!("../../models/bert-ids.toml"),
    concat!(include_str!("../../models/dlrm.toml"), "[parameters]\nwarm_up_pairs = 2\n"),
    include_str!("../../models/unet3d.toml"),
];

/// Manifests of models for JPEG files. Their inputs are made smaller, because the models are not
/// under test.
const IMAGE_MODELS: [&str; 2] = [
    include_str!("../../models/resnet50-jpeg.toml"),
    include_str!("../../models/retinanet-jpeg.toml"),
];

thread_local! {
    static RUNS: Vec<FuzzedWorkload> = runs(&MODELS);
    static IMAGE_RUNS: Vec<FuzzedWorkload> = runs(&IMAGE_MODELS);
}

fn runs(manifests: &[&str]) -> Vec<FuzzedWorkload> {
    let mut runs = Vec::new();
    for text in manifests {
        let text = text.replace("[64, 64, 3]", "[8, 8, 3]").replace("resize = 73", "resize = 9");
        let text = text.replace("[128, 128, 3]", "[16, 8, 3]");
        with_file(text.as_bytes(), |path| {
            runs.extend(FuzzedWorkload::read(path));
        });
    }
    assert_eq!(runs.len(), manifests.len(), "a model of the tests is unusable");
    runs
}

/// Runs tensors through the model that the first byte chooses.
pub(crate) fn samples(data: &[u8]) {
    let Some((model, sample)) = data.split_first() else { return };
    RUNS.with(|runs| run(&runs[usize::from(*model) % runs.len()], sample));
}

/// Decodes a JPEG file, once with cropping and once with stretching.
pub(crate) fn images(data: &[u8]) {
    let sample = Bytes::copy_from_slice(data);
    IMAGE_RUNS.with(|runs| {
        for model in runs {
            assert_eq!(model.answers(std::slice::from_ref(&sample)).len(), 1);
        }
    });
}

/// Runs a sample in a batch with itself: both responses exist and are equal, or neither exists.
fn run(model: &FuzzedWorkload, sample: &[u8]) {
    let sample = Bytes::copy_from_slice(sample);
    let answers = model.answers(&[sample.clone(), sample]);
    assert!(matches!(&answers[..], [] | [_, _]), "{} answers to two samples", answers.len());
    if let [one, other] = &answers[..] {
        assert_eq!(one, other);
    }
}

/// Reads a `.npy` file as labels and as samples.
pub(crate) fn arrays(data: &[u8]) {
    if let Ok(labels) = labels("labels.npy", Bytes::copy_from_slice(data)) {
        assert!(labels.len() <= data.len());
    }
    with_file(data, |path| {
        if let Ok(dataset) = open(&path.display().to_string()) {
            read_ends(dataset.as_ref());
        }
    });
}

/// Checks the first and the last sample against the layout.
fn read_ends(dataset: &dyn Dataset) {
    let takes = dataset.layout().unwrap_or_default();
    for index in [0, dataset.sample_count() - 1] {
        let Ok(sample) = dataset.read(index) else { continue };
        let payload = sample.into_payload(&takes);
        assert_eq!(payload.len() as u64, dataset.sample_bytes(index));
        assert!(layout::read(&takes, &payload).is_ok(), "{}", layout::describe(&takes));
    }
}
