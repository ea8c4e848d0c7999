//! Workloads: layouts of a benchmark's samples and responses, and their processing.

pub(crate) mod classification;
mod detection;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod dry_run;
mod node_classification;
mod parameters;
mod question_answering;
mod recommendation;
mod rows;
mod segmentation;
mod tensors;
mod text_to_image;

use std::sync::Arc;

use rayon::ThreadPool;

use self::{
    classification::Classification, detection::Detection, node_classification::NodeClassification,
    question_answering::QuestionAnswering, recommendation::Recommendation,
    segmentation::Segmentation, tensors::TensorsWorkload, text_to_image::TextToImage,
};
use crate::model::{
    manifest::{Manifest, WorkloadName},
    workload::Workload,
};

/// Creates the workload that a manifest names, which processes samples on `threads`. Fails with a
/// text if the manifest does not fit its workload.
pub(crate) fn of_manifest(
    manifest: &Arc<Manifest>,
    threads: &Arc<ThreadPool>,
) -> Result<Arc<dyn Workload>, String> {
    Ok(match manifest.workload {
        WorkloadName::Tensors => Arc::new(TensorsWorkload::new(manifest, threads)?),
        WorkloadName::ImageClassification => Arc::new(Classification::new(manifest, threads)?),
        WorkloadName::ObjectDetection => Arc::new(Detection::new(manifest, threads)?),
        WorkloadName::QuestionAnswering => Arc::new(QuestionAnswering::new(manifest)?),
        WorkloadName::Segmentation => Arc::new(Segmentation::new(manifest, threads)?),
        WorkloadName::TextToImage => Arc::new(TextToImage::new(manifest)?),
        WorkloadName::NodeClassification => Arc::new(NodeClassification::new(manifest, threads)?),
        WorkloadName::Recommendation => Arc::new(Recommendation::new(manifest)?),
    })
}

#[cfg(test)]
#[path = "../../../tests/workloads/mod.rs"]
mod tests;
