//! The evidence about this machine and what runs on it.

use netdiv_evidence::{Machine, System};

use crate::{
    error::NodeError,
    model::identity::Model,
    settings::{config::Config, published::Published},
};

/// The evidence that the rules require: measured from the system, and supplied by the operator where it cannot be measured.
pub(crate) fn machine(config: &Config, model: &Model) -> Result<Machine, NodeError> {
    let Published { text, sha256 } = Published::new(config, model.found.as_ref())?;
    let mut machine = Machine {
        program: Some(format!("sut-node {}", env!("CARGO_PKG_VERSION"))),
        framework: Some(model.framework.clone()).filter(|text| !text.is_empty()),
        settings_sha256: Some(sha256),
        settings: Some(text),
        ..System::default().machine()
    };
    if let Some(statement) = &config.evidence {
        statement.supply(&mut machine)?;
    }
    Ok(machine)
}
