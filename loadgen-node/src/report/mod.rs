//! Output for users: tables for the terminal, pages and pictures.

pub(crate) mod benchmarks;
mod columns;
pub(crate) mod comparison;
pub(crate) mod fabric;
mod fabric_matrix;
mod fabric_result;
mod fabric_rounds;
mod lateness;
pub(crate) mod listing;
pub(crate) mod nodes;
pub(crate) mod page;
mod part;
pub(crate) mod probe;
pub(crate) mod run;
pub(crate) mod statement;
pub(crate) mod sweep;
mod table;
pub(crate) mod tax;
