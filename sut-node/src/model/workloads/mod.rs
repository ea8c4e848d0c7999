//! What a benchmark's samples and answers look like, and what is done with them around the model.

pub(crate) mod by_name;
pub(crate) mod classification;
mod detection;
#[cfg(feature = "fuzzing")]
pub(crate) mod dry_run;
mod image;
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
