//! Whether what is stated of data types leaves out one that was used.

use std::collections::BTreeSet;

use super::stated::pieces;

/// Data types in a text, each by one name.
fn types(text: &str) -> BTreeSet<String> {
    let one = |word: String| match word.as_str() {
        "fp16" | "half" => Some("float16".to_owned()),
        "fp32" | "float" | "tf32" => Some("float32".into()),
        "fp64" | "double" => Some("float64".into()),
        "bf16" => Some("bfloat16".into()),
        "uint8" | "uint16" | "uint32" | "uint64" | "int4" | "int8" | "int16" | "int32"
        | "int64" | "fp4" | "fp8" | "float16" | "float32" | "float64" | "bfloat16" | "bool" => {
            Some(word)
        }
        _ => None,
    };
    pieces(text).into_iter().filter_map(one).collect()
}

/// Whether a text about data types leaves out one that was used. Where what was used is not of a type, such as bytes, that
/// cannot be told.
pub(crate) fn leaves_out_types(stated: &str, used: &str) -> bool {
    !types(used).is_subset(&types(stated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_by_any_of_their_names() {
        assert!(!leaves_out_types("fp32", "float32[3, 224, 224]"));
        assert!(!leaves_out_types("int64", "input_ids int64 [384] mask int64 [384]"));
        assert!(!leaves_out_types("fp32", "bytes") && !leaves_out_types("JPEG", "bytes"));
        assert!(leaves_out_types("fp32", "image uint8 [3, 224, 224]"));
        assert!(leaves_out_types("JPEG", "uint8[3, 224, 224]"));
    }
}
