//! Conversion of responses into numbers.

use netdiv_contract::layout::{DataType, element_bytes};

use crate::book::ElementType;

/// Type of the numbers in a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element(DataType);

/// A number in a response. As in NumPy, NaN differs from itself, and both zeros are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i64),
    Real(f32),
}

impl Number {
    pub(super) fn is(self, whole: i64) -> bool {
        match self {
            Self::Whole(number) => number == whole,
            Self::Real(number) => f64::from(number) == whole as f64,
        }
    }
}

impl Element {
    /// Types that token ids may have.
    pub(super) const TOKENS: [Self; 2] = [Self(DataType::Int32), Self(DataType::Int64)];

    /// Creates the element of type `kind`. Fails if numbers of that type cannot be compared.
    pub(super) fn of(kind: Option<ElementType>) -> Result<Self, String> {
        use DataType::{Float32, Int8, Int32, Int64, Uint8};
        let kind = kind.ok_or("the table does not state the element type of its responses")?;
        match kind.data_type() {
            known @ (Uint8 | Int8 | Int32 | Int64 | Float32) => Ok(Self(known)),
            _ => Err(format!("responses of type {kind} cannot be compared")),
        }
    }

    const fn size(self) -> usize {
        element_bytes(self.0)
    }

    pub(super) fn numbers(self, response: &[u8]) -> Result<Vec<Number>, String> {
        self.check_length(response.len())?;
        Ok(response.chunks_exact(self.size()).map(|bytes| self.read(bytes)).collect())
    }

    /// Returns the first number of a response of `length` bytes that begins with `start`; `None` if
    /// it is empty.
    pub(super) fn first(self, start: &[u8], length: usize) -> Result<Option<Number>, String> {
        self.check_length(length)?;
        Ok(start.get(..self.size()).map(|bytes| self.read(bytes)))
    }

    fn check_length(self, length: usize) -> Result<(), String> {
        match length % self.size() {
            0 => Ok(()),
            _ => Err(format!(
                "the length of a response, {length} bytes, is not a multiple of {}: check its element type",
                self.size()
            )),
        }
    }

    /// Decodes a number in little-endian order, which all machines of this suite use.
    fn read(self, bytes: &[u8]) -> Number {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = i64::from_le_bytes(wide);
        match self.0 {
            DataType::Float32 => Number::Real(f32::from_bits(bits as u32)),
            // The official scripts read bytes as signed.
            DataType::Uint8 | DataType::Int8 => Number::Whole(i64::from(bits as i8)),
            DataType::Int32 => Number::Whole(i64::from(bits as i32)),
            _ => Number::Whole(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian_and_whole() {
        let bytes = [0xfe, 0xff, 0xff, 0xff, 2, 0, 0, 0];
        let of = |word: &str| Element::of(ElementType::try_from(word.to_owned()).ok());
        let int32 = of("int32").unwrap();
        assert_eq!(int32.numbers(&bytes).unwrap(), [Number::Whole(-2), Number::Whole(2)]);
        assert_eq!(int32.first(&bytes, 8).unwrap(), Some(Number::Whole(-2)));
        assert_eq!(int32.first(&[], 0).unwrap(), None);
        assert!(int32.numbers(&bytes[..3]).is_err());
        assert!(of("float32").unwrap().numbers(&[0, 0, 0, 64]).unwrap()[0].is(2));
        assert!(of("float16").is_err() && of("string").is_err());
    }
}
