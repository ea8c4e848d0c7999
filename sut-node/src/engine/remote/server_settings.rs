//! Settings of the serving engines behind the node, over HTTP and over gRPC.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail, ensure};
use http::{HeaderValue, Uri, uri::PathAndQuery};
use netdiv_node_common::process::TimeSpan;
use netdiv_transport::security::{ClientTls, Token};
use serde::Serialize;

use crate::ground::{
    range::{MILLISECOND, limit},
    serialized::{count, milliseconds},
};

/// Keys of serving engines.
#[derive(Debug, Clone, clap::Args, Serialize)]
#[command(next_help_heading = "Serving engines")]
pub struct ServersArgs {
    /// Addresses of the serving engines: `http://HOST:PORT` or `https://HOST:PORT`
    ///
    /// openai also accepts `h2c://HOST:PORT`, HTTP/2 without TLS. With several addresses, a sample
    /// goes to the serving engine with the fewest requests in flight.
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    pub url: Option<Vec<String>>,
    /// Send the token in this file with each request
    #[arg(long, value_name = "FILE")]
    pub url_token_file: Option<PathBuf>,
    /// Accept only servers with a certificate of this authority, in PEM
    ///
    /// Required for https.
    #[arg(long, value_name = "FILE")]
    pub url_ca: Option<PathBuf>,
    /// Maximum time without a token or a response before a sample fails
    // A LoadGen node removes a node that has not answered for 60 s, and the reason must be reported
    // before that.
    #[arg(long, value_name = "TIME", default_value = "45s")]
    pub url_timeout: TimeSpan,
}

/// Scheme of URLs for HTTP/2 without TLS, which the client uses without negotiation (prior
/// knowledge).
pub(crate) const H2C: &str = "h2c";

/// Addresses of serving engines, with the credentials and the time limit for them.
#[derive(Debug, Clone, Serialize)]
pub struct ServersConfig {
    /// Addresses, at least one, each with only a scheme, a host and a port.
    #[serde(rename = "servers", serialize_with = "count")]
    pub urls: Vec<Uri>,
    /// Value of the header `authorization`, which contains the token and is marked as sensitive;
    /// `None`: no such header.
    #[serde(skip)]
    pub token: Option<HeaderValue>,
    /// TLS settings, with the authority that must have signed the servers' certificates.
    #[serde(skip)]
    pub tls: ClientTls,
    /// Maximum time that a server may send neither a token nor a response, before its sample fails.
    #[serde(rename = "timeout_ms", serialize_with = "milliseconds")]
    pub timeout: Duration,
    /// Maximum time to wait for servers that are still loading their models.
    #[serde(skip)]
    pub start_timeout: Duration,
}

impl ServersConfig {
    /// Returns the addresses of the serving engines, as HOST:PORT.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let address = |url: &Uri| {
            let port = if url.scheme_str() == Some("https") { 443 } else { 80 };
            format!("{}:{}", url.host().unwrap_or_default(), url.port_u16().unwrap_or(port))
        };
        self.urls.iter().map(address).collect()
    }
}

/// Defaults of the maximum number of samples in flight in a serving engine, equal to vLLM's, and of
/// the time that they wait for others.
pub(crate) const SERVED_BATCHING: (usize, TimeSpan) = (256, TimeSpan::ZERO);

/// Keys of engines that call serving engines, besides the engine's own.
pub(crate) const SERVER_KEYS: [&str; 6] =
    ["model", "engine_start_timeout", "url", "url_token_file", "url_ca", "url_timeout"];

impl ServersArgs {
    /// Checks the addresses of the servers, and reads the token and the certificates. `over_http`
    /// is true for servers over HTTP, and false for gRPC.
    pub(crate) fn resolve(
        &self,
        start_timeout: Duration,
        over_http: bool,
    ) -> anyhow::Result<ServersConfig> {
        let Some(urls @ [_, ..]) = self.url.as_deref() else {
            bail!(
                "openai and kserve need --url, the address of the serving engine (docs/ENGINES.md)"
            );
        };
        let urls = urls.iter().map(|url| address(url, over_http)).collect::<Result<Vec<_>, _>>()?;
        if self.url_ca.is_none()
            && let Some(url) = urls.iter().find(|url| url.scheme_str() == Some("https"))
        {
            bail!(
                "--url {url}: https needs --url-ca, the authority that signs the server's certificate"
            );
        }
        let token = self.url_token_file.as_deref().map(Token::read).transpose()?;
        Ok(ServersConfig {
            urls,
            token: token.map(|token| token.header()),
            tls: match &self.url_ca {
                Some(ca) => ClientTls::trusting_authority(ca)?,
                None => ClientTls::without_authority()?,
            },
            timeout: limit("url-timeout", self.url_timeout, MILLISECOND)?,
            start_timeout,
        })
    }
}

/// Returns the path of the file that describes the model of the serving engines.
pub(crate) fn served_model_file(model: Option<&Path>) -> anyhow::Result<&Path> {
    model.context(
        "openai and kserve need --model, a file that describes the serving engine's model (docs/ENGINES.md#the-models-file)",
    )
}

/// Reads an address. Fails if it is not a scheme, a host and a port, or if it contains anything
/// else.
fn address(text: &str, over_http: bool) -> anyhow::Result<Uri> {
    let refused = |why| anyhow::anyhow!("--url {text}: {why}");
    // The address may contain a secret before the @, and must not be printed.
    ensure!(!text.contains('@'), "--url …: give a token with --url-token-file, not in the address");
    let url: Uri = text.parse().map_err(|_| refused("not an address; write http://HOST:PORT"))?;
    match (url.scheme_str(), over_http) {
        (Some("http" | "https"), _) | (Some(H2C), true) => {}
        (Some(H2C), false) => return Err(refused("gRPC is always HTTP/2; write http://HOST:PORT")),
        (_, true) => return Err(refused("it must begin with http://, https:// or h2c://")),
        (_, false) => return Err(refused("it must begin with http:// or https://")),
    }
    match url.path_and_query().map(|path| path.as_str()) {
        None | Some("" | "/") => Ok(url),
        // The base of the OpenAI API, as other clients expect it.
        Some("/v1" | "/v1/") if over_http => {
            let mut parts = url.clone().into_parts();
            parts.path_and_query = Some(PathAndQuery::from_static("/"));
            Uri::from_parts(parts).map_err(|_| refused("not an address; write http://HOST:PORT"))
        }
        Some(_) => {
            Err(refused("remove everything after HOST:PORT; the engine determines the path"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::args::Args;

    #[test]
    fn each_engine_has_its_keys() {
        let url = "url = ['http://a:8000']";
        for (text, words) in [
            ("engine = 'openai'".to_owned(), "kserve need --url"),
            ("engine = 'kserve'".to_owned(), "kserve need --url"),
            (format!("engine = 'openai'\n{url}"), "kserve need --model"),
            (format!("engine = 'kserve'\n{url}"), "kserve need --model"),
            (
                format!("engine = 'kserve'\n{url}\nopenai_dialect = 'sglang'"),
                "--openai-dialect belongs to the engine openai",
            ),
            (format!("engine = 'tokens'\n{url}"), "--url belongs to the engine openai, kserve"),
            (
                "engine = 'openai'\nurl = ['https://a:1']\nmodel = 'x'".into(),
                "https needs --url-ca",
            ),
        ] {
            let args = Args::of(&format!("name = 'a'\n{text}"));
            let error = args.resolve().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        let (openai, grpc) = (true, false);
        for url in ["http://a:8000", "https://a", "http://[::1]:8000/", "http://10.0.0.7:80"] {
            assert!(address(url, openai).is_ok() && address(url, grpc).is_ok(), "{url}");
        }
        assert!(address("h2c://a:8000", openai).is_ok());
        for url in ["http://a:8000/v1", "http://a:8000/v1/"] {
            assert_eq!(address(url, openai).unwrap(), "http://a:8000/");
        }
        for (url, over_http, words) in [
            ("a:8000", openai, "begin with http://"),
            ("unix:///run/engine", openai, "not an address"),
            ("ftp://a:21", openai, "begin with http://"),
            ("grpc://a:21", grpc, "begin with http://"),
            ("h2c://a:21", grpc, "gRPC is always HTTP/2"),
            ("http://a:8000/v1", grpc, "remove everything"),
            ("http://a:8000/v1/models", openai, "remove everything"),
            ("http://a:8000/?x=1", grpc, "remove everything"),
            ("h2c://a:8000/v2", openai, "remove everything"),
            ("http://", openai, "not an address"),
            ("http://a b", openai, "not an address"),
            ("http://user:secret@a", grpc, "--url-token-file"),
        ] {
            let error = address(url, over_http).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
