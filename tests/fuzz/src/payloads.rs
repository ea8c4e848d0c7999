//! Payloads of messages.

use bytes::Bytes;
use netdiv_contract::{
    encoding,
    layout::{self, DataType, InputLayout, TensorSpec},
    probe,
};

use crate::input::LONGEST;

/// Decodes a compressed payload: the first byte is the encoding, the next two are the announced
/// length.
pub(crate) fn encodings(data: &[u8]) {
    let [encoding, low, high, payload @ ..] = data else { return };
    let announced = u64::from(*low) | u64::from(*high) << 8;
    decode(i32::from(*encoding), Bytes::copy_from_slice(payload), announced);
}

pub(crate) fn decode(encoding: i32, payload: Bytes, announced: u64) {
    if let Ok(plain) = encoding::decode(encoding, payload, announced, LONGEST) {
        assert!(plain.len() <= LONGEST && (encoding == 0 || plain.len() as u64 == announced));
    }
}

/// Reads a packed sample for several layouts, and packs it again.
pub(crate) fn layouts(data: &[u8]) {
    let spec = |data_type: DataType, shape: &[i64]| TensorSpec {
        name: String::new(),
        data_type: data_type as i32,
        shape: shape.to_vec(),
    };
    let ids = spec(DataType::Int64, &[-1]);
    for tensors in
        [vec![], vec![spec(DataType::Uint8, &[3])], vec![ids.clone()], vec![ids.clone(), ids]]
    {
        let _ = layout::read(&InputLayout { tensors }, data);
    }
    if let Ok(tensors) = layout::unpack(data) {
        assert_eq!(layout::pack(&tensors), data, "packing is canonical");
    }
}

/// Answers a sample as a node without a model does.
pub(crate) fn probes(data: &[u8]) {
    if let Some(bytes) = probe::answer_bytes(data) {
        assert_eq!(probe::sample(data.len(), bytes as usize)[..16], data[..16]);
    }
}
