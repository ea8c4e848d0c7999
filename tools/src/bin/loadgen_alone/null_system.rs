//! A system and a data set that do as little as LoadGen allows.

use std::sync::OnceLock;

use loadgen_sys::{Abort, QuerySampleLibrary, Samples, SystemUnderTest, complete};

/// System that responds at once, and a data set of empty samples.
#[derive(Default)]
pub(crate) struct NullSystem {
    resident_at_first_query: OnceLock<u64>,
}

impl NullSystem {
    /// Returns the peak resident memory when the first query was issued, in bytes; `None` if
    /// another system received the queries.
    pub(crate) fn resident_at_first_query(&self) -> Option<u64> {
        self.resident_at_first_query.get().copied()
    }
}

impl SystemUnderTest for NullSystem {
    fn name(&self) -> Result<String, Abort> {
        Ok("nothing".into())
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        self.resident_at_first_query.get_or_init(|| loadgen_node::process().peak_resident_bytes);
        complete(samples.map(|sample| (sample.response_id, &b"nothing."[..])));
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

impl QuerySampleLibrary for NullSystem {
    fn name(&self) -> String {
        "nothing".into()
    }

    fn total_sample_count(&self) -> usize {
        1024
    }

    fn performance_sample_count(&self) -> usize {
        1024
    }

    fn load_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }

    fn unload_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }
}
