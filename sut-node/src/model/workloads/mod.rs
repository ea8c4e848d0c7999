//! Workloads: layouts of a benchmark's samples and responses, and their processing.

pub(crate) mod classification;
mod detection;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod dry_run;
pub(crate) mod factory;
mod node_classification;
mod parameters;
mod question_answering;
mod recommendation;
mod rows;
mod segmentation;
mod tensors;
mod text_to_image;

#[cfg(test)]
#[path = "../../../tests/workloads/mod.rs"]
mod tests;
