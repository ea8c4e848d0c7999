//! A number as the only element of a tensor of any type.

use crate::model::decoupled::InputValue;

/// Returns the number's bytes, little-endian, or `None` if the type is unsupported or cannot hold
/// the number.
pub(super) fn bytes(number: InputValue, data_type: &str) -> Option<Vec<u8>> {
    macro_rules! whole {
        ($number:expr, $type:ty) => {
            <$type>::try_from($number).ok().map(|number| number.to_le_bytes().to_vec())
        };
    }
    match (number, data_type) {
        (InputValue::Bool(truth), "BOOL") => Some(vec![u8::from(truth)]),
        (InputValue::Integer(number), "INT8") => whole!(number, i8),
        (InputValue::Integer(number), "INT16") => whole!(number, i16),
        (InputValue::Integer(number), "INT32") => whole!(number, i32),
        (InputValue::Integer(number), "INT64") => whole!(number, i64),
        (InputValue::Integer(number), "UINT8") => whole!(number, u8),
        (InputValue::Integer(number), "UINT16") => whole!(number, u16),
        (InputValue::Integer(number), "UINT32") => whole!(number, u32),
        (InputValue::Integer(number), "UINT64") => whole!(number, u64),
        (InputValue::Integer(number), "FP32") => Some((number as f32).to_le_bytes().to_vec()),
        (InputValue::Integer(number), "FP64") => Some((number as f64).to_le_bytes().to_vec()),
        (InputValue::Float(number), "FP32") => Some((number as f32).to_le_bytes().to_vec()),
        (InputValue::Float(number), "FP64") => Some(number.to_le_bytes().to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_types_or_are_refused() {
        assert_eq!(bytes(InputValue::Integer(-2), "INT32"), Some(vec![0xfe, 0xff, 0xff, 0xff]));
        assert_eq!(bytes(InputValue::Integer(1), "FP32"), Some(1_f32.to_le_bytes().to_vec()));
        assert_eq!(bytes(InputValue::Float(0.5), "FP64"), Some(0.5_f64.to_le_bytes().to_vec()));
        assert_eq!(bytes(InputValue::Bool(true), "BOOL"), Some(vec![1]));
        for (number, data_type) in [
            (InputValue::Integer(300), "UINT8"),
            (InputValue::Integer(-1), "UINT64"),
            (InputValue::Integer(1), "BOOL"),
            (InputValue::Float(1.0), "INT32"),
            (InputValue::Integer(1), "BYTES"),
        ] {
            assert_eq!(bytes(number, data_type), None, "{data_type}");
        }
    }
}
