//! The compliance tests: TEST01, TEST04 and TEST06 as in tag v5.0.1 of mlcommons/inference
//! (`compliance/nvidia`), TEST07 and TEST09 by their official scripts.
//!
//! [`audit_config`] makes LoadGen run a test, and [`verify`] verifies the run. A run that an
//! official script fails never passes here. [`Part::stricter`] lists violations of requirements
//! beyond the script's.

mod accuracy_txt;
mod audit_config;
#[cfg(test)]
#[path = "../../tests/compliance/mod.rs"]
mod cases;
mod element;
mod official;
mod part;
mod performance;
mod test01;
mod test06;
mod verify;

pub use accuracy_txt::{Metrics, accuracy_hash, accuracy_of, printed_accuracy, with_hash};
pub use audit_config::audit_config;
pub(crate) use audit_config::other_settings;
pub(crate) use official::{figure, issued, other_counts, other_statements, values_of};
pub use part::{ComplianceError, Part, responses_file};
pub(crate) use performance::compare as speed;
pub use test01::{baseline, compare_baseline};
pub use verify::{Reference, Verification, verify};
pub(crate) use verify::{first_number, responses, tokens};
