//! The rule book as data.
//!
//! `table.toml` contains the rounds and every benchmark, with the source of each figure.
//! `loadgens.toml` contains the LoadGen builds that rounds accept. `table_file.rs` reads and checks
//! both. `settings.toml` contains LoadGen's settings.

mod benchmark;
mod element_type;
pub(crate) mod formats;
mod loadgen;
mod round;
mod settings;
pub(crate) mod system_fields;
mod table;
mod table_file;
#[cfg(test)]
mod tests;

pub use benchmark::{
    AccuracyTest, AllowedDrafts, Bandwidth, Benchmark, Compression, Difference, Elements,
    LengthTest, Quality, SampleForm, Suite, Test, TokenLatencies, TokenLimits, rounded_target,
};
pub use element_type::ElementType;
pub use formats::Formats;
pub use loadgen::{BuiltLoadGen, LoadGen, Sources};
pub use round::{Round, RoundName, Seeds};
pub(crate) use settings::setting_number;
pub use settings::{Bound, LoadGenSetting};
pub use table::Table;
pub use table_file::TableError;
