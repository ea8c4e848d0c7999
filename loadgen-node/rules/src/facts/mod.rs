//! What the files of a run say, read once: each kind of file has one reader, and so have the machines in the evidence.
//!
//! - [`files`]: regular files and their SHA-256; [`official_log`]: LoadGen's logs; [`result`]: `result.json`
//! - [`json`]: JSON whose objects have each key once
//! - [`machines`]: the machines of a run and what tells them apart; [`interfaces`]: which adapters carry their traffic
//! - [`running`]: what runs at the nodes
//! - [`measurements`]: what the maker of a measurements file takes from the record, and its check compares
//! - [`markdown_links`]: where a document leads
//! - [`counted`]: things of a kind; [`fabric`]: the permitted fabrics; [`rate`]: bits per second, read and written

pub(crate) mod counted;
pub(crate) mod fabric;
pub(crate) mod files;
pub(crate) mod interfaces;
pub(crate) mod json;
pub(crate) mod machines;
pub(crate) mod markdown_links;
pub(crate) mod measurements;
pub mod official_log;
pub(crate) mod rate;
pub mod result;
pub(crate) mod running;
