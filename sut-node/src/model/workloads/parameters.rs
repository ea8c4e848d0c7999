//! `[parameters]` of a manifest, and what a workload asks of its inputs and outputs.

use netdiv_contract::layout::{DataType, type_name};
use serde::de::DeserializeOwned;

use crate::model::manifest::{Manifest, Shape};

/// The parameters as the workload's own struct, which refuses unknown keys.
pub(super) fn read<T: DeserializeOwned>(manifest: &Manifest) -> Result<T, String> {
    toml::Value::Table(manifest.parameters.clone())
        .try_into()
        .map_err(|error: toml::de::Error| format!("[parameters]: {}", error.message()))
}

/// Exactly so many inputs or outputs.
pub(super) fn exactly<'a, const N: usize>(
    what: &str,
    shapes: &'a [Shape],
) -> Result<&'a [Shape; N], String> {
    shapes
        .try_into()
        .map_err(|_| format!("the workload has {N} {what}, the manifest names {}", shapes.len()))
}

/// A tensor of that type and number of dimensions (the batch left out).
pub(super) fn expect(shape: &Shape, types: &[DataType], rank: usize) -> Result<(), String> {
    if types.contains(&shape.data_type) && shape.dimensions.len() == rank {
        return Ok(());
    }
    let types: Vec<_> = types.iter().map(|known| type_name(*known)).collect();
    Err(format!(
        "{} must be {} with {rank} dimensions besides the batch, the manifest says {} with {}",
        shape.name,
        types.join(" or "),
        type_name(shape.data_type),
        shape.dimensions.len()
    ))
}

/// The lengths of a shape that has no free one.
pub(super) fn fixed(shape: &Shape) -> Result<Vec<usize>, String> {
    shape.fixed().ok_or_else(|| format!("{} must have fixed lengths", shape.name))
}
