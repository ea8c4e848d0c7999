//! Page of a sweep.

use crate::recording::sweep::SweepRecord;

pub(crate) fn sweep(record: &SweepRecord) -> String {
    record.benchmark.clone()
}
