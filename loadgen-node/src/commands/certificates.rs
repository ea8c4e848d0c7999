//! `loadgen-node certificates`: certificates for a lab.

use std::{path::PathBuf, time::Duration};

use netdiv_node_common::process::TimeSpan;
use netdiv_transport::{
    discovery::{Nodes, PORT},
    security::CertificateSet,
};

use crate::{RunError, output::say};

/// Options of `loadgen-node certificates`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct CertificatesArgs {
    /// Nodes that the certificates are for, named as in docs/OPERATING.md#name-the-nodes; a port
    /// has no effect
    #[arg(long, value_name = "NODES", required = true)]
    hosts: Vec<String>,
    /// Names of clients (LoadGen nodes)
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "client")]
    clients: Vec<String>,
    /// Folder for the files; none of them may exist
    #[arg(long, value_name = "DIR", default_value = "certificates")]
    output: PathBuf,
    /// Validity of the certificates, from a minute to ten years
    #[arg(long, value_name = "TIME", default_value = "365d")]
    valid_for: TimeSpan,
    /// Keep the authority's key (ca.key), so that openssl can sign more certificates
    #[arg(long)]
    keep_authority: bool,
}

impl CertificatesArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let (option, patience) = ("--hosts", Duration::ZERO);
        let nodes = Nodes { option, named: &self.hosts, port: PORT, expected: None, patience };
        let hosts = nodes.hosts().map_err(RunError::invalid)?;
        let set = CertificateSet {
            hosts: hosts.into_iter().map(|(host, _)| host).collect(),
            clients: self.clients.clone(),
            valid_for: self.valid_for.duration(),
            keep_authority: self.keep_authority,
        };
        let written = set.write(&self.output);
        let written = written.map_err(RunError::invalid)?;
        say(format_args!("{} in {}", written.join(", "), self.output.display()))?;
        Ok(0)
    }
}
