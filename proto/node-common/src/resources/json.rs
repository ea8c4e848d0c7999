//! JSON that a program wrote, and a user, a copy or a disk may have damaged.

use serde::de::DeserializeOwned;

/// Parses a value. The error names the path of the invalid value, such as `nodes[0].latency_ns`, its
/// line and its column.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_error_names_the_path_of_the_value() {
        let parse = |text: &str| from_slice::<BTreeMap<String, Vec<u8>>>(text.as_bytes());
        assert_eq!(parse(r#"{"a": [1, 2]}"#).unwrap()["a"], [1, 2]);
        for (text, want) in [
            (
                r#"{"a": [1], "b": [2, "x"]}"#,
                "b[1]: invalid type: string \"x\", expected u8 at line 1",
            ),
            ("{\"a\":\n 7}", "a: invalid type: integer `7`, expected a sequence at line 2"),
            (r#"{"a": [1]} {"#, "trailing characters at line 1"),
            ("", "EOF while parsing a value"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
    }
}
