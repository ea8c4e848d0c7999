//! Engine without a model, which responds token by token, like a language model.

pub(super) mod settings;
pub(super) mod streams;
