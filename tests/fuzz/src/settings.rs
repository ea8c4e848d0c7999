//! Files of an operator: settings, models, machines, certificates and tokens.

use std::{path::PathBuf, time::Duration};

use netdiv_dataset::EMBEDDED;
use netdiv_machine::evidence::{Machine, Statement};
use netdiv_transport::{
    discovery::{self, Nodes},
    security::{ClientTls, ServerTls, TlsFiles, Token},
};
use sut_node::{
    Args,
    fuzzing::{FuzzedWorkload, read_language_model},
};

use crate::input::with_file;

/// Reads a node's settings file. Files that it names are not opened.
pub(crate) fn settings(data: &[u8]) {
    with_file(data, |path| {
        let Ok(mut args) = netdiv_node_common::process::read_settings::<Args>(path) else {
            return;
        };
        let network = &mut args.network;
        for path in [
            &mut network.tls_certificate,
            &mut network.tls_key,
            &mut network.tls_client_ca,
            &mut network.token_file,
            &mut args.evidence,
            &mut args.engine.tokens.tokens_schedule,
            &mut args.engine.shared.servers.url_token_file,
            &mut args.engine.shared.servers.url_ca,
        ] {
            *path = None;
        }
        let is_file = |model: &mut PathBuf| !EMBEDDED.iter().any(|name| model.as_os_str() == *name);
        args.engine.shared.model.take_if(is_file);
        let _ = args.resolve();
    });
}

/// Reads a file of nodes. Names in it are not resolved.
pub(crate) fn nodes(data: &[u8]) {
    with_file(data, |path| {
        let named = [format!("@{}", path.display())];
        let (option, port, patience) = ("--nodes", discovery::PORT, Duration::ZERO);
        let _ = Nodes { option, named: &named, port, expected: None, patience }.hosts();
    });
}

/// Reads a model's manifest and its workload, a language model's manifest, and the description of a
/// served model.
pub(crate) fn manifests(data: &[u8]) {
    with_file(data, |path| {
        let _ = FuzzedWorkload::read(path);
        read_language_model(path);
    });
}

/// Joins a hostile statement about a machine with measured evidence.
pub(crate) fn evidence(data: &[u8]) {
    let measured = include_str!("../machine.toml");
    with_file(data, |path| {
        let Ok(stated) = Statement::read(path) else { return };
        for measured in [Machine::default(), toml::from_str(measured).unwrap_or_default()] {
            let mut machine = measured.clone();
            let joined = stated.supply(&mut machine);
            assert!(joined.is_ok() || machine == measured, "an error changes nothing");
        }
    });
}

/// Reads certificates, keys and tokens.
pub(crate) fn secrets(data: &[u8]) {
    with_file(data, |path| {
        let file = || Some(path.to_path_buf());
        let (ca, certificate, key) = (file(), file(), file());
        let _ = ServerTls::load(TlsFiles { ca: None, certificate: file(), key: file() });
        let _ = ClientTls::load(&TlsFiles { ca: file(), ..TlsFiles::default() });
        let _ = ServerTls::load(TlsFiles { ca, certificate, key });
        let _ = Token::read(path);
    });
}
