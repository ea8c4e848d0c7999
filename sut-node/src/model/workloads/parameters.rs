//! Table `[parameters]` of a manifest, and requirements of a workload on its inputs and outputs.

use netdiv_contract::layout::{DataType, type_name};
use serde::de::DeserializeOwned;

use crate::model::manifest::{Manifest, Shape};

/// Reads the parameters into the workload's own struct, which rejects unknown keys.
pub(super) fn read<T: DeserializeOwned>(manifest: &Manifest) -> Result<T, String> {
    toml::Value::Table(manifest.parameters.clone())
        .try_into()
        .map_err(|error: toml::de::Error| format!("[parameters]: {}", error.message()))
}

/// Returns the inputs or outputs if there are exactly `N`. `what` names them in the error.
pub(super) fn exactly<'a, const N: usize>(
    what: &str,
    shapes: &'a [Shape],
) -> Result<&'a [Shape; N], String> {
    shapes.try_into().map_err(|_| {
        format!("the workload requires {N} {what}, but the manifest names {}", shapes.len())
    })
}

/// Fails unless a tensor has one of the types and this number of dimensions (without the batch).
pub(super) fn expect(shape: &Shape, types: &[DataType], rank: usize) -> Result<(), String> {
    if types.contains(&shape.data_type) && shape.dimensions.len() == rank {
        return Ok(());
    }
    let types: Vec<_> = types.iter().map(|known| type_name(*known)).collect();
    Err(format!(
        "{} must be {} with {rank} dimensions besides the batch, but the manifest states {} with {}",
        shape.name,
        types.join(" or "),
        type_name(shape.data_type),
        shape.dimensions.len()
    ))
}

/// Returns the lengths of a shape. Fails if one is free.
pub(super) fn fixed(shape: &Shape) -> Result<Vec<usize>, String> {
    shape.fixed().ok_or_else(|| format!("{} must have fixed lengths", shape.name))
}
