//! Of N32: an audit.config belongs to a compliance test.

use crate::{book::Benchmark, compliance::audit_config};

/// Why LoadGen may not read such a file.
pub(crate) fn not_of_a_test(benchmark: &Benchmark, text: &str) -> Option<&'static str> {
    let is_its = benchmark.compliance.iter().any(|test| audit_config(*test, benchmark) == text);
    (!is_its).then_some(
        "it is not the file of a compliance test of this benchmark; leave it out, and make the tests with loadgen-node audit",
    )
}
