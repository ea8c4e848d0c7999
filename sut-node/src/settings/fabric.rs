//! Settings for measuring the network to other nodes.

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use netdiv_transport::{
    Options, Transport,
    discovery::{Nodes, PORT},
    security::{ClientTls, TlsFiles, Token, is_loopback},
};
use serde::Serialize;

/// Keys for measuring the network to other nodes.
#[derive(Debug, Clone, Default, clap::Args, Serialize)]
#[command(next_help_heading = "Measuring the network to other nodes")]
pub struct FabricArgs {
    /// Nodes that this node may dial for `loadgen-node fabric --matrix` [default: none]
    ///
    /// For the engine none. Nodes are named as in docs/OPERATING.md#name-the-nodes.
    #[arg(long, value_name = "NODES")]
    pub fabric_peers: Option<Vec<String>>,
    /// Authority that signs these nodes' certificates, in PEM
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub fabric_ca: Option<PathBuf>,
    /// This node's certificate for nodes that require one from clients, in PEM
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub fabric_certificate: Option<PathBuf>,
    /// Key of --fabric-certificate, in PEM
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub fabric_key: Option<PathBuf>,
    /// File with the token that these nodes require
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub fabric_token_file: Option<PathBuf>,
}

/// Nodes that this node may dial, with the credentials for them.
#[derive(Debug, Clone)]
pub struct Peers {
    named: Vec<String>,
    tls: Option<ClientTls>,
    token: Option<Token>,
    /// Set if other machines may be dialled in plaintext.
    insecure: bool,
}

impl FabricArgs {
    /// Checks the settings and reads the files; `None` if no node may be dialled. `insecure` is the
    /// value of `--insecure`. `has_model` is true for every engine except `none`.
    pub(crate) fn resolve(&self, insecure: bool, has_model: bool) -> anyhow::Result<Option<Peers>> {
        let files = TlsFiles {
            ca: self.fabric_ca.clone(),
            certificate: self.fabric_certificate.clone(),
            key: self.fabric_key.clone(),
        };
        let any_file = files.ca.is_some() || files.certificate.is_some() || files.key.is_some();
        let Some(named) = self.fabric_peers.clone() else {
            ensure!(
                !any_file && self.fabric_token_file.is_none(),
                "--fabric-ca and the other --fabric options need --fabric-peers, the nodes that this node may dial"
            );
            return Ok(None);
        };
        // Only a node without a model answers at once.
        ensure!(!has_model, "--fabric-peers belongs to the engine none");
        ensure!(!(any_file && insecure), "--insecure and --fabric-ca exclude each other");
        let tls = any_file.then(|| ClientTls::load(&files)).transpose()?;
        let token = self.fabric_token_file.as_deref().map(Token::read).transpose()?;
        let peers = Peers { named, tls, token, insecure };
        // DNS names may be registered later.
        peers.nodes().addresses()?.iter().try_for_each(|address| peers.check(address))?;
        Ok(Some(peers))
    }
}

impl Peers {
    fn nodes(&self) -> Nodes<'_> {
        let (option, patience) = ("--fabric-peers", Duration::ZERO);
        Nodes { option, named: &self.named, port: PORT, expected: None, patience }
    }

    /// Returns the current addresses of the nodes, as HOST:PORT. Reads the files that
    /// `--fabric-peers` names again, and queries the DNS.
    pub(crate) fn discover(&self) -> anyhow::Result<Vec<String>> {
        Ok(self.nodes().discover()?)
    }

    /// Fails if an address must not be dialled. Another machine must prove its identity, unless
    /// `--insecure` is set.
    pub(crate) fn check(&self, address: &str) -> anyhow::Result<()> {
        ensure!(
            self.tls.is_some() || self.insecure || is_loopback(address),
            "--fabric-peers {address} is another machine: give --fabric-ca, the authority of its certificate, or serve with --insecure, \
             which also dials in plaintext"
        );
        Ok(())
    }

    /// Returns the options for dialling the nodes.
    pub(crate) fn options(&self, transport: Transport) -> Options {
        let (tls, token) = (self.tls.clone(), self.token.clone());
        Options { transport, tls, token, ..Options::default() }
    }
}

#[cfg(test)]
mod tests {
    use netdiv_transport::security::make_certificates;

    use super::*;

    #[test]
    fn a_node_dials_none_whom_it_cannot_trust() {
        let folder = tempfile::tempdir().unwrap();
        make_certificates(folder.path(), &["rack1".to_owned()]).unwrap();
        let file = |name: &str| Some(folder.path().join(name));
        let peers = |named: &str| Some(vec![named.to_owned()]);
        let given = FabricArgs { fabric_peers: peers("rack1,rack[2-3]:7"), ..Default::default() };
        let trusting = FabricArgs { fabric_ca: file("ca.pem"), ..given.clone() };
        let words = |args: &FabricArgs, insecure| match args.resolve(insecure, false) {
            Ok(peers) => peers.map_or("none".into(), |peers| {
                format!("{} by {}", peers.discover().unwrap().join(" "), peers.tls.is_some())
            }),
            Err(error) => error.to_string(),
        };
        let local = FabricArgs { fabric_peers: peers("localhost:7"), ..Default::default() };
        assert_eq!(words(&FabricArgs::default(), true), "none");
        assert_eq!(words(&local, false), "localhost:7 by false");
        assert_eq!(words(&given, true), "rack1:50051 rack2:7 rack3:7 by false");
        assert_eq!(words(&trusting, false), "rack1:50051 rack2:7 rack3:7 by true");
        let key = FabricArgs { fabric_key: file("rack1.key"), ..trusting.clone() };
        let absent = FabricArgs { fabric_token_file: file("absent"), ..local.clone() };
        let alone = FabricArgs { fabric_ca: file("ca.pem"), ..Default::default() };
        let sly = FabricArgs { fabric_peers: peers("localhost@10.0.0.5:7"), ..Default::default() };
        let v6 = FabricArgs { fabric_peers: peers("[::1]:7"), ..Default::default() };
        assert_eq!(words(&v6, false), "[::1]:7 by false");
        let empty = FabricArgs { fabric_peers: peers("rack1,,rack2"), ..Default::default() };
        for (args, insecure, part) in [
            (&sly, false, "--fabric-peers localhost@10.0.0.5:7 is another machine"),
            (&given, false, "--fabric-peers rack1:50051 is another machine: give --fabric-ca"),
            (&trusting, true, "--insecure and --fabric-ca exclude each other"),
            (&alone, false, "need --fabric-peers"),
            (&key, false, "certificate"),
            (&absent, false, "absent"),
            (&empty, true, "--fabric-peers"),
        ] {
            let words = words(args, insecure);
            assert!(words.contains(part), "{words}");
        }
        let refused = local.resolve(false, true).unwrap_err().to_string();
        assert_eq!(refused, "--fabric-peers belongs to the engine none");
    }
}
