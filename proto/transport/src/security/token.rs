//! Bearer token: a secret shared by all nodes and clients of a closed lab.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use http::{HeaderMap, HeaderValue, header};
use parking_lot::RwLock;
use subtle::ConstantTimeEq as _;
use tonic::Status;

/// Minimum length of a token, in characters: a token of 16 random characters cannot be guessed.
const SHORTEST: usize = 16;

/// Error of certificates, keys or tokens: a text that names the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SecurityError(pub(crate) String);

impl SecurityError {
    /// Returns the error for a file that cannot be read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self(format!("cannot read {}: {error}", path.display()))
    }
}

/// Bearer token. Its text is secret and never printed.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token from a file: one line of at least 16 visible ASCII characters.
    pub fn read(path: &Path) -> Result<Self, SecurityError> {
        let text = netdiv_node_common::resources::files::read_text(path)
            .map_err(|error| SecurityError::unreadable(path, &error))?;
        let token = text.trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecurityError(format!(
                "{} holds no token: write one line of at least {SHORTEST} letters, digits or symbols",
                path.display()
            )));
        }
        Ok(Self(token.into()))
    }

    /// Returns true if a text is the token. Compares in constant time.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string()
    }

    /// Returns the header with which a call presents the token.
    pub fn header(&self) -> HeaderValue {
        // Visible ASCII is always a valid header value.
        let value = HeaderValue::from_str(&format!("Bearer {}", self.0));
        let mut value = value.unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// Token that a node requires. Its file can be reloaded while the node runs.
#[derive(Debug)]
pub struct ServerToken {
    path: PathBuf,
    current: RwLock<Token>,
}

impl ServerToken {
    /// Reads the token from a file.
    pub fn load(path: PathBuf) -> Result<Self, SecurityError> {
        let current = RwLock::new(Token::read(&path)?);
        Ok(Self { path, current })
    }

    /// Reloads the file. Connections that have presented the old token keep using it. If reloading
    /// fails, the old token stays in use.
    pub fn reload(&self) -> Result<(), SecurityError> {
        let new = Token::read(&self.path)?;
        *self.current.write() = new;
        Ok(())
    }

    /// Returns the token if the text equals it. Otherwise the error is the answer that refuses the
    /// call.
    pub(crate) fn check(&self, text: &str) -> Result<Token, Status> {
        let current = self.current.read();
        let refusal = "the token is missing or wrong; give --token-file with this node's token";
        if current.is(text) { Ok(current.clone()) } else { Err(Status::unauthenticated(refusal)) }
    }
}

/// Returns the token in a call's headers, or an empty text if there is no token. The name of the
/// scheme is case-insensitive (RFC 9110, section 11.1).
pub(crate) fn token_in(headers: &HeaderMap) -> &str {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match value.and_then(|value| value.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_of_a_token_has_no_case() {
        for (value, token) in [
            ("Bearer a-secret", "a-secret"),
            ("bearer a-secret", "a-secret"),
            ("BEARER  a-secret ", "a-secret"),
            ("Bearera-secret", ""),
            ("Bearer", ""),
            ("Basic a-secret", ""),
            ("a-secret", ""),
        ] {
            let value = HeaderValue::from_static(value);
            let headers = [(header::AUTHORIZATION, value)].into_iter().collect();
            assert_eq!(token_in(&headers), token);
        }
    }
}
