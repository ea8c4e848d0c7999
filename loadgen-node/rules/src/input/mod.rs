//! Reading of files, with bounds: regular files and their SHA-256, and JSON whose objects have each
//! key once.

pub(crate) mod files;
pub(crate) mod json;
