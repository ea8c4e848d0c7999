//! Turns the node's memory and a model's results into tensors of libtorch.

use std::{ffi::CStr, fmt, slice};

use netdiv_contract::layout::{DataType, type_name};
use netdiv_plugin::abi;
use tch::{Device, IValue, Kind, Tensor};

use crate::failure::Failure;

/// An input or output of the manifest.
pub(crate) struct Spec {
    pub(crate) name: String,
    /// Number of the type in the ABI.
    pub(crate) data_type: u32,
    /// Lengths, the batch first; -1: any.
    pub(crate) shape: Vec<i64>,
}

impl Spec {
    /// Reads `count` specs of the caller.
    ///
    /// # Safety
    ///
    /// The specs and their names are valid, as the ABI requires.
    pub(crate) unsafe fn read(specs: *const abi::TensorSpec, count: u32) -> Vec<Self> {
        // SAFETY: as above.
        let specs = unsafe { slice::from_raw_parts(specs, count as usize) };
        let read = |spec: &abi::TensorSpec| {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(spec.name) }.to_string_lossy().into_owned();
            let shape = spec.shape[..(spec.rank as usize).min(abi::MAX_RANK)].to_vec();
            Self { name, data_type: spec.data_type, shape }
        };
        specs.iter().map(read).collect()
    }

    pub(crate) fn kind(&self) -> Result<Kind, Failure> {
        kind(self.data_type)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data_type = DataType::try_from(self.data_type as i32).map_or("unknown", type_name);
        write!(f, "{} {data_type} {:?}", self.name, self.shape)
    }
}

/// Returns the tensors of a model's result: a tensor, or a tuple or list of tensors.
pub(crate) fn tensors_of(value: IValue) -> Result<Vec<Tensor>, Failure> {
    let tensor = |value| match value {
        IValue::Tensor(tensor) => Ok(tensor),
        other => {
            Err(Failure::refused(format!("the model returns a {other:?} instead of a tensor")))
        }
    };
    match value {
        IValue::Tensor(tensor) => Ok(vec![tensor]),
        IValue::TensorList(tensors) => Ok(tensors),
        IValue::Tuple(values) => values.into_iter().map(tensor).collect(),
        _ => Err(Failure::refused(
            "the model returns neither a tensor nor a tuple of tensors".into(),
        )),
    }
}

/// Wraps the caller's memory in a tensor, without a copy.
pub(crate) fn view(tensor: &abi::Tensor) -> Result<Tensor, Failure> {
    let kind = kind(tensor.data_type)?;
    let shape = &tensor.shape[..(tensor.rank as usize).min(abi::MAX_RANK)];
    // SAFETY: the caller's tensor is contiguous and lives until the batch is finished. Views do not
    // outlive it.
    Ok(unsafe {
        Tensor::f_from_blob(tensor.data.cast::<u8>(), shape, &strides(shape), kind, Device::Cpu)
    }?)
}

fn kind(data_type: u32) -> Result<Kind, Failure> {
    match data_type {
        1 => Ok(Kind::Uint8),
        2 => Ok(Kind::Int8),
        3 => Ok(Kind::Int),
        4 => Ok(Kind::Int64),
        5 => Ok(Kind::Half),
        6 => Ok(Kind::Float),
        7 => Ok(Kind::Int16),
        other => Err(Failure::refused(format!("the data type {other} is unknown"))),
    }
}

/// Returns the strides of a contiguous tensor: for each dimension, the number of elements from one
/// index to the next.
fn strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for place in (1..shape.len()).rev() {
        strides[place - 1] = strides[place] * shape[place].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use netdiv_contract::layout::{DataType, element_bytes};

    use super::*;

    #[test]
    fn every_data_type_of_the_contract_is_as_long_in_libtorch() {
        for data_type in 1.. {
            let Ok(known) = DataType::try_from(data_type) else { break };
            let kind = kind(data_type as u32).map_err(|failure| failure.text);
            assert_eq!(kind.map(|kind| kind.elt_size_in_bytes()), Ok(element_bytes(known)));
        }
        for unknown in [0, 8, u32::MAX] {
            assert!(kind(unknown).is_err_and(|failure| failure.status == abi::REFUSED));
        }
    }

    #[test]
    fn strides_are_those_of_a_contiguous_tensor() {
        for shape in [&[][..], &[5], &[2, 3, 4], &[4, 0, 2], &[1, 1, 7]] {
            let tensor = Tensor::zeros(shape, (Kind::Uint8, Device::Cpu));
            assert_eq!(strides(shape), tensor.stride(), "{shape:?}");
        }
    }

    #[test]
    fn a_view_is_the_callers_memory() {
        let mut data = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut shape = [0; abi::MAX_RANK];
        shape[..2].copy_from_slice(&[2, 3]);
        let (at, bytes) = (data.as_mut_ptr().cast(), 24);
        let tensor = abi::Tensor { data_type: 6, rank: 2, shape, data: at, bytes };
        let mut seen = view(&tensor).map_err(|failure| failure.text).unwrap();
        assert_eq!((seen.size(), seen.double_value(&[1, 0])), (vec![2, 3], 4.0));
        let _ = seen.fill_(7.0);
        drop(seen);
        assert_eq!(data, [7.0; 6]);
    }

    #[test]
    fn a_model_gives_tensors_and_nothing_else() {
        let tensor = || Tensor::from_slice(&[1_i64]);
        let count = |value| tensors_of(value).map(|tensors| tensors.len());
        assert!(matches!(count(IValue::Tensor(tensor())), Ok(1)));
        assert!(matches!(count(IValue::TensorList(vec![tensor(), tensor()])), Ok(2)));
        let tuple = vec![IValue::Tensor(tensor()), IValue::Tensor(tensor())];
        assert!(matches!(count(IValue::Tuple(tuple)), Ok(2)));
        for (value, why) in [
            (IValue::Int(7), "neither a tensor nor a tuple"),
            (IValue::Tuple(vec![IValue::Int(7)]), "instead of a tensor"),
        ] {
            assert!(tensors_of(value).is_err_and(|failure| failure.text.contains(why)));
        }
    }
}
