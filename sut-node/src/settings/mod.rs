//! Settings: the keys of the command line and the file, and their resolved form.

pub(crate) mod args;
pub(crate) mod config;
pub(crate) mod fabric;
pub(crate) mod network;
pub(crate) mod published;
