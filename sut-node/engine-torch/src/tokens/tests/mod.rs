//! Tests of the table's functions on real models, against the outputs of transformers
//! (tests/models/language_models.py).

mod answers;
mod driver;
mod graph;
mod refusals;
