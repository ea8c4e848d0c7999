//! Element types of tensors, as in the wire contract, with their names.

use std::fmt;

use netdiv_contract::layout::{DataType, element_bytes, type_name};
use serde::{Deserialize, Serialize};

/// Type of a tensor's elements: uint8, int8, int16, int32, int64, float16 or float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ElementType(DataType);

impl ElementType {
    /// Iterates over all element types.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).map_while(|number| DataType::try_from(number).ok()).skip(1).map(Self)
    }

    /// Returns the element type that a tensor's description names.
    pub fn of(tensor: &str) -> Option<Self> {
        Self::all().find(|one| one.is_in(tensor))
    }

    /// Returns the type in the wire contract.
    pub fn data_type(self) -> DataType {
        self.0
    }

    /// Name of the type, such as `uint8`.
    pub fn word(self) -> &'static str {
        type_name(self.0)
    }

    /// Size of an element in bytes.
    pub fn bytes(self) -> u64 {
        element_bytes(self.0) as u64
    }

    /// Returns true if a tensor's description, such as `image uint8 [3, 224, 224]`, names this
    /// type.
    pub fn is_in(self, tensor: &str) -> bool {
        tensor.split(|c: char| !c.is_alphanumeric()).any(|word| word == self.word())
    }
}

impl TryFrom<String> for ElementType {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::all().find(|one| one.word() == word).ok_or_else(|| {
            let words: Vec<_> = Self::all().map(Self::word).collect();
            format!("unsupported data type `{word}`; use one of {}", words.join(", "))
        })
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl From<ElementType> for String {
    fn from(one: ElementType) -> Self {
        one.word().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_but_the_unspecified_one_has_a_word_and_a_size() {
        let words: Vec<_> = ElementType::all().map(ElementType::word).collect();
        assert_eq!(words, ["uint8", "int8", "int32", "int64", "float16", "float32", "int16"]);
        assert_eq!(
            ElementType::all().map(ElementType::bytes).sum::<u64>(),
            1 + 1 + 4 + 8 + 2 + 4 + 2
        );
        for one in ElementType::all() {
            assert_eq!(ElementType::try_from(one.to_string()), Ok(one));
            assert!(one.is_in(&format!("image {one}[3, 224]")) && !one.is_in("bytes"));
        }
        assert!(ElementType::try_from("unspecified".to_owned()).is_err());
    }
}
