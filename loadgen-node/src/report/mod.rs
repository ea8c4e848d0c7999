//! Output for users: tables for the terminal, pages and pictures.

pub(crate) mod benchmarks;
mod columns;
pub(crate) mod comparison;
pub(crate) mod fabric;
pub(crate) mod fabric_matrix;
pub(crate) mod fabric_plot;
mod fabric_result;
mod fabric_rounds;
pub(crate) mod listing;
pub(crate) mod nodes;
pub(crate) mod page;
pub(crate) mod probe;
pub(crate) mod run;
pub(crate) mod statement;
pub(crate) mod sweep;
mod table;
pub(crate) mod tax;
