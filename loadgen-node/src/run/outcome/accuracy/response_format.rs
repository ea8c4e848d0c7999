//! Format of a benchmark's responses.

#[derive(Debug)]
pub(crate) enum ResponseFormat {
    /// float32 values, a multiple of `group`, each within these bounds.
    Floats { group: usize, least: f32, most: f32 },
    /// uint8 values, each at most `most`.
    Bytes { most: u8 },
    /// This number of uint8 values.
    Pixels(usize),
    /// An int32 that is not negative.
    Class,
    /// Token ids, int32, at least one.
    Tokens,
}

impl ResponseFormat {
    /// Fails with the reason if a response does not have this format.
    pub(crate) fn check(&self, data: &[u8]) -> Result<(), String> {
        match self {
            Self::Floats { group, least, most } => {
                let (floats, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || !floats.len().is_multiple_of(*group) {
                    return Err(format!("has {} bytes", data.len()));
                }
                let bounds = least..=most;
                let float = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
                match floats.iter().map(float).find(|float| !bounds.contains(&float)) {
                    Some(float) => Err(format!("holds {float}")),
                    None => Ok(()),
                }
            }
            Self::Tokens => {
                let (ids, rest) = data.as_chunks::<4>();
                if !rest.is_empty() || ids.is_empty() {
                    return Err(format!("has {} bytes", data.len()));
                }
                match ids.iter().map(|id| i32::from_le_bytes(*id)).find(|id| *id < 0) {
                    Some(id) => Err(format!("holds {id}")),
                    None => Ok(()),
                }
            }
            Self::Class => match data.try_into().map(i32::from_le_bytes) {
                Err(_) => Err(format!("has {} bytes", data.len())),
                Ok(class) if class < 0 => Err(format!("holds {class}")),
                Ok(_) => Ok(()),
            },
            Self::Pixels(pixels) => {
                let got = data.len();
                (got == *pixels).then_some(()).ok_or_else(|| format!("has {got} bytes"))
            }
            Self::Bytes { most } => match data.iter().find(|byte| *byte > most) {
                Some(byte) => Err(format!("holds {byte}")),
                None => Ok(()),
            },
        }
    }
}
