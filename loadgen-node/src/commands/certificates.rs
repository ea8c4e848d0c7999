//! `loadgen-node certificates`: certificates for a lab.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use netdiv_node_common::process::TimeSpan;
use netdiv_transport::{
    discovery::{Nodes, PORT},
    security::{Authority, CertificateError, Subject, VALID_FOR, make_requests},
};

use crate::{RunError, output::say};

/// Options of `loadgen-node certificates`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Certificates")]
pub(crate) struct CertificatesArgs {
    /// Nodes that the certificates are for, named as in docs/OPERATING.md#name-the-nodes; a port
    /// has no effect
    #[arg(long, value_name = "NODES", required_unless_present_any = ["clients", "sign"])]
    hosts: Vec<String>,
    /// Names of clients (LoadGen nodes) [default: client, with a new authority]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    clients: Vec<String>,
    /// Folder for the files; none of them may exist [default: the folder of --authority, else
    /// certificates]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Validity of the certificates, from a minute to ten years [default: 365d]
    #[arg(long, value_name = "TIME")]
    valid_for: Option<TimeSpan>,
    /// Keep the new authority's key (ca.key), so that more certificates can be signed later
    #[arg(long, conflicts_with_all = ["authority", "requests", "sign"])]
    keep_authority: bool,
    /// Sign with the authority in this folder (ca.pem, ca.key) instead of a new one
    #[arg(long, value_name = "DIR", conflicts_with = "requests")]
    authority: Option<PathBuf>,
    /// Make keys and requests (NAME.csr) for your own authority, and no certificates
    #[arg(long, conflicts_with_all = ["sign", "valid_for"])]
    requests: bool,
    /// Requests (NAME.csr) to sign with --authority
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        requires = "authority",
        conflicts_with_all = ["hosts", "clients"]
    )]
    sign: Vec<PathBuf>,
}

impl CertificatesArgs {
    pub(super) fn execute(&self) -> Result<u8, RunError> {
        let output = self.output.as_deref().or(self.authority.as_deref());
        let output = output.unwrap_or(Path::new("certificates"));
        let hosts = self.hosts()?;
        let made = self.make(output, &hosts);
        let written = made.map_err(|error| RunError::Usage(error.to_string()))?;
        say(format_args!("{} in {}", written.join(", "), output.display()))?;
        Ok(0)
    }

    /// Returns the names or IP addresses of the nodes.
    fn hosts(&self) -> Result<Vec<String>, RunError> {
        if self.hosts.is_empty() {
            return Ok(Vec::new());
        }
        let (option, patience) = ("--hosts", Duration::ZERO);
        let nodes = Nodes { option, named: &self.hosts, port: PORT, expected: None, patience };
        let hosts = nodes.hosts().map_err(|error| RunError::Usage(error.to_string()))?;
        Ok(hosts.into_iter().map(|(host, _)| host).collect())
    }

    fn make(&self, output: &Path, hosts: &[String]) -> Result<Vec<String>, CertificateError> {
        let valid_for = self.valid_for.map_or(VALID_FOR, TimeSpan::duration);
        if !self.sign.is_empty() {
            let requests: Result<Vec<_>, _> =
                self.sign.iter().map(|p| Subject::of_request(p)).collect();
            return self.authority(valid_for)?.sign(output, &requests?, valid_for);
        }
        let is_first = self.authority.is_none() && self.clients.is_empty();
        let first = [String::from("client")];
        let clients = if is_first { &first[..] } else { &self.clients };
        let subjects = Subject::all(hosts, clients)?;
        if self.requests {
            return make_requests(output, &subjects);
        }
        self.authority(valid_for)?.certify(output, &subjects, valid_for)
    }

    fn authority(&self, valid_for: Duration) -> Result<Authority, CertificateError> {
        match &self.authority {
            Some(folder) => Authority::open(folder),
            None if self.keep_authority => Authority::new_to_keep(),
            None => Authority::new(valid_for),
        }
    }
}
