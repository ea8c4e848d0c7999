//! JSON whose objects have one value for each key. If a key has two different values, programs
//! differ in the one they use.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// Suffix of an error about a repeated key.
pub(crate) const REPEATED_KEY: &str = "appears twice";

/// A value in which no object has two different values for a key, at any depth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UniqueKeyJson(pub(crate) Value);

/// Parses a file's content. The error names the repeated key, or the path, line and column of the
/// invalid value.
pub(crate) fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice::<UniqueKeyJson>(json).map_err(|error| error.to_string())?;
    netdiv_node_common::resources::json::from_slice(json)
}

impl<'de> Deserialize<'de> for UniqueKeyJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(UniqueKeyJson(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let UniqueKeyJson(value) = object.next_value()?;
            match map.get(&key) {
                Some(other) if *other != value => {
                    return Err(A::Error::custom(format!("the key `{key}` {REPEATED_KEY}")));
                }
                _ => map.insert(key, value),
            };
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_there_once_at_any_depth() {
        let text =
            r#"{"a": 18446744073709551615, "b": [{"c": -1}, {"c": 1.5, "d": null}], "e": true}"#;
        let UniqueKeyJson(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        for alike in [r#"{"a": 1, "a": 1}"#, r#"[{"a": "x", "b": [], "a": "x"}]"#] {
            assert!(from_slice::<Value>(alike.as_bytes()).is_ok(), "{alike}");
        }
        for twice in [r#"{"a": 1, "a": 2}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#] {
            let error = from_slice::<Value>(twice.as_bytes()).unwrap_err();
            assert!(error.starts_with("the key `a` appears twice"), "{error}");
        }
        assert!(from_slice::<Vec<u8>>(b"{}").unwrap_err().contains("line 1"));
    }
}
