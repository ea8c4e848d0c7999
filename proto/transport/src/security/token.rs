//! The bearer token: one secret that all nodes and clients of a closed lab share.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq as _;

use super::SecurityError;

/// Shortest token: 16 characters of 6 bits are more than anybody can try.
const SHORTEST: usize = 16;

/// A secret. It is never printed.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// The token in a file: one line of at least 16 visible ASCII characters.
    pub fn read(path: &Path) -> Result<Self, SecurityError> {
        let text = std::fs::read_to_string(path).map_err(|error| SecurityError::Unreadable {
            path: path.display().to_string(),
            error,
        })?;
        let token = text.trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecurityError::BadToken(path.display().to_string()));
        }
        Ok(Self(token.into()))
    }

    /// Whether a stranger's text is the token; takes as long for one that begins well as for any other.
    fn is(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }

    pub(crate) fn text(&self) -> String {
        self.0.to_string()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        // Visible ASCII is always a header's value.
        let value = HeaderValue::from_str(&format!("Bearer {}", self.0));
        let mut value = value.unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

/// The token that a node asks for. Its file can be read again while the node runs.
#[derive(Debug)]
pub struct ServerToken {
    path: PathBuf,
    current: RwLock<Token>,
}

impl ServerToken {
    /// The token in a file.
    pub fn load(path: PathBuf) -> Result<Self, SecurityError> {
        let current = RwLock::new(Token::read(&path)?);
        Ok(Self { path, current })
    }

    /// Reads the file again; what was read before stays in use when that fails. For calls to come.
    pub fn reload(&self) -> Result<(), SecurityError> {
        let new = Token::read(&self.path)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Whether a stranger's text is the token.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.current.read().unwrap_or_else(PoisonError::into_inner).is(text)
    }

    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.strip_prefix("Bearer ")).is_some_and(|text| self.is(text))
    }
}
