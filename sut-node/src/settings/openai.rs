//! Settings of the engine `openai`.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::ValueEnum;
use http::{HeaderValue, Uri};
use netdiv_transport::security::{ClientTls, Token};
use serde::{Deserialize, Serialize};

use crate::{
    model::served::ServedModel,
    settings::{
        error::ConfigError,
        range::{MAX_TIMEOUT_MS, within},
    },
};

/// Keys of the engine `openai`; all but the dialect are those of `kserve` too.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub struct OpenaiArgs {
    /// openai, kserve: where the serving engine listens, as `http://HOST:PORT` or `https://HOST:PORT`; with several, a sample goes to
    /// the one with the fewest under way
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    pub url: Option<Vec<String>>,
    /// openai: which serving engine it is [default: vllm]
    #[arg(long, value_name = "ENGINE")]
    pub openai_dialect: Option<Dialect>,
    /// openai, kserve: send the token in this file with each request
    #[arg(long, value_name = "FILE")]
    pub openai_token_file: Option<PathBuf>,
    /// openai, kserve: take only servers with a certificate of this authority, in PEM; needed for https
    #[arg(long, value_name = "FILE")]
    pub openai_ca: Option<PathBuf>,
    /// openai, kserve: how long a serving engine may give no token, or no answer, before the sample fails, in milliseconds
    /// [default: 45000]
    #[arg(long, value_name = "MS")]
    pub openai_timeout_ms: Option<u64>,
}

/// Which serving engine: they differ in their requests and answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// vLLM, `/v1/completions`
    #[default]
    Vllm,
    /// SGLang, `/generate`
    Sglang,
    /// TensorRT-LLM's trtllm-serve, `/v1/completions`
    Trtllm,
    /// llama.cpp's llama-server, `/completion`
    Llamacpp,
}

/// Settings of the engine `openai`.
#[derive(Clone)]
pub struct OpenaiConfig {
    /// Where the serving engines listen, at least one; each with nothing but a scheme, a host and a port.
    pub urls: Vec<Uri>,
    /// Which serving engine it is.
    pub dialect: Dialect,
    /// What it serves.
    pub model: ServedModel,
    /// The header `authorization`.
    pub token: Option<HeaderValue>,
    /// Whom it trusts.
    pub tls: ClientTls,
    /// Longest time without a token.
    pub timeout: Duration,
}

impl fmt::Debug for OpenaiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { urls, dialect, model, token: _, tls: _, timeout } = self;
        let mut fields = f.debug_struct("OpenaiConfig");
        fields.field("urls", urls).field("dialect", dialect).field("model", model);
        fields.field("timeout", timeout).finish_non_exhaustive()
    }
}

/// Where serving engines are, and how they are spoken to.
#[derive(Clone)]
pub struct ServersConfig {
    /// Where they listen, at least one; each with nothing but a scheme, a host and a port.
    pub urls: Vec<Uri>,
    /// The header `authorization`.
    pub token: Option<HeaderValue>,
    /// Whom the node trusts.
    pub tls: ClientTls,
    /// Longest time without a token, or an answer.
    pub timeout: Duration,
}

impl fmt::Debug for ServersConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { urls, token: _, tls: _, timeout } = self;
        let mut fields = f.debug_struct("ServersConfig");
        fields.field("urls", urls).field("timeout", timeout).finish_non_exhaustive()
    }
}

/// A LoadGen node gives a node up that has not answered for 60 s, and the reason is to be named before that.
const TIMEOUT_MS: u64 = 45_000;

impl OpenaiArgs {
    /// A key that is set, besides the dialect.
    pub(super) fn any(&self) -> Option<&'static str> {
        let Self { url, openai_dialect: _, openai_token_file, openai_ca, openai_timeout_ms } = self;
        let keys = [
            ("url", url.is_some()),
            ("openai-token-file", openai_token_file.is_some()),
            ("openai-ca", openai_ca.is_some()),
            ("openai-timeout-ms", openai_timeout_ms.is_some()),
        ];
        keys.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    /// Checks the settings and fills in the defaults; reads what is known of the model, the token and the certificates.
    pub(super) fn resolve(&self, model: Option<&Path>) -> Result<OpenaiConfig, ConfigError> {
        let ServersConfig { urls, token, tls, timeout } = self.servers()?;
        let model = ServedModel::read(model.ok_or(ConfigError::NoServer)?)?;
        let dialect = self.openai_dialect.unwrap_or_default();
        if dialect == Dialect::Llamacpp && model.min_tokens > 1 {
            return Err(ConfigError::NoLeastTokens(model.min_tokens));
        }
        Ok(OpenaiConfig { urls, dialect, model, token, tls, timeout })
    }

    /// Checks where the servers are, and reads the token and the certificates.
    pub(super) fn servers(&self) -> Result<ServersConfig, ConfigError> {
        let Some(urls @ [_, ..]) = self.url.as_deref() else { return Err(ConfigError::NoServer) };
        let urls = urls.iter().map(|url| address(url)).collect::<Result<Vec<_>, _>>()?;
        if self.openai_ca.is_none()
            && let Some(url) = urls.iter().find(|url| url.scheme_str() == Some("https"))
        {
            return Err(ConfigError::NoAuthority(url.to_string()));
        }
        let token = self.openai_token_file.as_deref().map(Token::read).transpose()?;
        let timeout_ms = self.openai_timeout_ms.unwrap_or(TIMEOUT_MS);
        Ok(ServersConfig {
            urls,
            token: token.map(|token| token.header()),
            tls: match &self.openai_ca {
                Some(ca) => ClientTls::trusting_authority(ca)?,
                None => ClientTls::trusting_nobody()?,
            },
            timeout: Duration::from_millis(within(
                "openai-timeout-ms",
                timeout_ms,
                1..=MAX_TIMEOUT_MS,
            )?),
        })
    }
}

/// An address with nothing but a scheme, a host and a port.
fn address(text: &str) -> Result<Uri, ConfigError> {
    let refused = |why| ConfigError::Url { url: text.into(), why };
    // What follows an @ is not all that could be printed.
    if text.contains('@') {
        return Err(ConfigError::Url {
            url: "…".into(),
            why: "give a token with --openai-token-file, not in the address",
        });
    }
    let url: Uri = text.parse().map_err(|_| refused("it is no address; write http://HOST:PORT"))?;
    match (url.scheme_str(), url.path_and_query().map(|path| path.as_str())) {
        (Some("http" | "https"), None | Some("/")) => Ok(url),
        (Some("http" | "https"), _) => {
            Err(refused("leave out what follows HOST:PORT; --openai-dialect chooses the path"))
        }
        _ => Err(refused("it has to begin with http:// or https://")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        for url in ["http://a:8000", "https://a", "http://[::1]:8000/", "http://10.0.0.7:80"] {
            assert!(address(url).is_ok(), "{url}");
        }
        for (url, words) in [
            ("a:8000", "begin with http://"),
            ("unix:///run/engine", "no address"),
            ("ftp://a:21", "begin with http://"),
            ("http://a:8000/v1", "leave out"),
            ("http://a:8000/?x=1", "leave out"),
            ("http://", "no address"),
            ("http://a b", "no address"),
            ("http://user:secret@a", "--openai-token-file"),
        ] {
            let error = address(url).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
