//! Page of a sweep.

use crate::sweep::record::SweepRecord;

pub(crate) fn sweep(record: &SweepRecord) -> String {
    record.benchmark.clone()
}
