//! LoadGen's own logs, read back: what counts is what they say.

mod accuracy;
mod detail;
mod digests;
pub(crate) mod elapsed;
mod ends;
mod error;
pub(crate) mod moment;
pub(crate) mod readable;
mod summary;
mod truncated;

pub(crate) use accuracy::for_each_entry;
pub use accuracy::{Response, read_responses, responses};
pub(crate) use detail::OF_EACH_SET;
pub use detail::{DetailLog, latencies, metric, token_metric};
pub use digests::{digest, digests};
pub use ends::check_ends;
pub use error::LogError;
pub(crate) use summary::{Score, Summary};
pub(crate) use truncated::{TruncatedLog, is_truncated};
