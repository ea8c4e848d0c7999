//! The functions of the table on real models, against what transformers answers (tests/models/language_models.py).

mod answers;
mod driver;
mod graph;
mod refusals;
