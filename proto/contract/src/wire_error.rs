//! Errors of a stream of messages.

use crate::limits::MAX_HEADER_BYTES;

/// Invalid bytes where a message is expected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    /// The prefix announces a longer message than the limit allows.
    #[error("message too large: {announced} bytes, the limit is {limit}")]
    TooLong {
        /// Length in the prefix, in bytes.
        announced: usize,
        /// Limit, in bytes.
        limit: usize,
    },
    /// The flag byte is unknown.
    #[error("a message begins with flag {0}; only uncompressed messages (flag 0) are supported")]
    Flag(u8),
    /// The bytes after a prefix are not the expected message.
    #[error("damaged message: {0}")]
    Damaged(#[from] prost::DecodeError),
    /// The stream ended in the middle of a message.
    #[error("the stream ended in the middle of a message")]
    Truncated,
}

/// Error of a stream of messages. With the feature `grpc` it converts into a `tonic::Status`.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes are not valid messages.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// The message keeps more memory alive than its payload accounts for: it has long unknown
    /// fields.
    #[error(
        "a message has {header} bytes beside its payload of {payload}; at most {MAX_HEADER_BYTES} are allowed"
    )]
    Header {
        /// Bytes of the message beside the payload.
        header: usize,
        /// Length of the payload, in bytes.
        payload: usize,
    },
    /// The peer ended the call with a failure.
    #[error("{message}")]
    Ended {
        /// gRPC status code.
        code: i32,
        /// The peer's text, sanitised for display.
        message: String,
    },
}

#[cfg(feature = "grpc")]
impl From<WireError> for tonic::Status {
    fn from(error: WireError) -> Self {
        let text = error.to_string();
        match error {
            WireError::Framing(FramingError::TooLong { .. }) => Self::out_of_range(text),
            WireError::Framing(FramingError::Flag(_)) => Self::unimplemented(text),
            WireError::Framing(FramingError::Damaged(_) | FramingError::Truncated)
            | WireError::Header { .. } => Self::invalid_argument(text),
            WireError::Ended { code, .. } => Self::new(tonic::Code::from_i32(code), text),
        }
    }
}
