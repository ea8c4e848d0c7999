//! What a run leaves beside its result, so that it can be looked at: what was counted second by second (`series.csv`), and how long
//! samples took (`histograms.hlog`). The forms are described in docs/RECORDS.md.

pub(crate) mod histograms;
pub(crate) mod run;
pub(crate) mod series;
pub(crate) mod unchanged;
