//! The rule book as data: every benchmark, each figure with the section that it comes from, the rounds, and the releases
//! of LoadGen. All of it is in `table.toml`, which `table_file.rs` reads and checks.

mod benchmark;
mod element_type;
pub(crate) mod formats;
pub mod listing;
mod round;
pub(crate) mod system_fields;
mod table;
mod table_file;
#[cfg(test)]
mod tests;

pub(crate) use benchmark::as_written;
pub use benchmark::{
    Bandwidth, Benchmark, Compression, Difference, Elements, Quality, Suite, Test, TokenLatencies,
    TokenLimits,
};
pub use element_type::ElementType;
pub use formats::Formats;
pub use round::{Package, Release, Round, RoundName, Seeds};
pub use table::{Need, Refused, Table};
pub use table_file::TableError;
