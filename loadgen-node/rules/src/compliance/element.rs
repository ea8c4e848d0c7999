//! Responses as the numbers they are made of.

/// What kind of number a response is made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Element {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
}

/// One number. As for numpy, NaN is unlike itself, and both zeros are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
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
    /// The kind of that name.
    pub(super) fn of(word: &str) -> Result<Self, String> {
        Ok(match word {
            "uint8" | "int8" => Self::Int8,
            "int16" => Self::Int16,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float32" => Self::Float32,
            _ => return Err(format!("responses of type `{word}` cannot be compared")),
        })
    }

    /// Bytes of a number.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Int8 => 1,
            Self::Int16 => 2,
            Self::Int32 | Self::Float32 => 4,
            Self::Int64 => 8,
        }
    }

    /// All numbers of a response.
    pub(super) fn numbers(self, response: &[u8]) -> Result<Vec<Number>, String> {
        self.check(response.len())?;
        Ok(response.chunks_exact(self.size()).map(|bytes| self.read(bytes)).collect())
    }

    /// The first number of a response of `length` bytes that starts so; none if it is empty.
    pub(super) fn first(self, start: &[u8], length: usize) -> Result<Option<Number>, String> {
        self.check(length)?;
        Ok(start.get(..self.size()).map(|bytes| self.read(bytes)))
    }

    fn check(self, length: usize) -> Result<(), String> {
        match length % self.size() {
            0 => Ok(()),
            _ => Err(format!(
                "a response of {length} bytes is not made of numbers of {} bytes: is it of another type?",
                self.size()
            )),
        }
    }

    /// Little-endian, as all machines of this suite write them.
    fn read(self, bytes: &[u8]) -> Number {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = i64::from_le_bytes(wide);
        match self {
            Self::Int8 => Number::Whole(i64::from(bits as i8)),
            Self::Int16 => Number::Whole(i64::from(bits as i16)),
            Self::Int32 => Number::Whole(i64::from(bits as i32)),
            Self::Int64 => Number::Whole(bits),
            Self::Float32 => Number::Real(f32::from_bits(bits as u32)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian_and_whole() {
        let bytes = [0xfe, 0xff, 0xff, 0xff, 2, 0, 0, 0];
        let int32 = Element::of("int32").unwrap();
        assert_eq!(int32.numbers(&bytes).unwrap(), [Number::Whole(-2), Number::Whole(2)]);
        assert_eq!(int32.first(&bytes, 8).unwrap(), Some(Number::Whole(-2)));
        assert_eq!(int32.first(&[], 0).unwrap(), None);
        assert!(int32.numbers(&bytes[..3]).is_err());
        assert!(Element::of("float32").unwrap().numbers(&[0, 0, 0, 64]).unwrap()[0].is(2));
        assert!(Element::of("string").is_err());
    }
}
