//! From LoadGen's logs and our own counts to a verdict and `result.json`.

pub(crate) mod accuracy;
pub(crate) mod conclude;
mod judgement;
pub(crate) mod record;
