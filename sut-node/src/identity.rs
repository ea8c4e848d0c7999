//! Which machine this is, and what runs on it.

use netdiv_evidence::{Machine, SupplyError, System};
use netdiv_proto::digest::in_hex;
use sha2::{Digest as _, Sha256};

use crate::{config::Config, engine::Model};

/// The host name, or nothing where it cannot be read.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The evidence that the rules ask for: what the system says, and what the operator states beside it.
pub(crate) fn machine(config: &Config, model: &Model) -> Result<Machine, SupplyError> {
    let mut machine = Machine {
        program: Some(format!("sut-node {}", env!("CARGO_PKG_VERSION"))),
        framework: Some(model.framework.clone()).filter(|text| !text.is_empty()),
        settings_sha256: Some(in_hex(&Sha256::digest(config.in_words()))),
        settings: Some(config.given.clone()),
        ..System::default().machine()
    };
    if let Some(file) = &config.evidence {
        netdiv_evidence::supply(&mut machine, file)?;
    }
    Ok(machine)
}
