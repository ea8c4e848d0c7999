//! `loadgen-node certificates`: certificates for a lab.

use std::path::PathBuf;

use netdiv_transport::security::make_certificates;

use crate::{RunError, output::say};

/// Keys of `loadgen-node certificates`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Certificates")]
pub struct CertificatesArgs {
    /// Names or IP addresses by which the nodes are reached
    #[arg(long, value_name = "HOST", value_delimiter = ',', required = true)]
    hosts: Vec<String>,
    /// Folder for the files; none of them may exist
    #[arg(long, value_name = "DIR", default_value = "certificates")]
    output: PathBuf,
}

impl CertificatesArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let written = make_certificates(&self.output, &self.hosts)
            .map_err(|error| RunError::Usage(error.to_string()))?;
        say(format_args!("{} in {}", written.join(", "), self.output.display()))?;
        Ok(0)
    }
}
