//! Errors that a server reports: in the body of a refusal, or as an event of a response.

use serde_json::Value;

use crate::engine::remote::refusal::short;

/// Returns the error that a server reports, if any: `{"error": …}` or `{"object": "error", …}`.
pub(super) fn fault(data: &str) -> Option<String> {
    // Most events are not errors, and need no second parsing.
    if !data.contains("error") {
        return None;
    }
    let value: Value = serde_json::from_str(data).ok()?;
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        _ if value.get("object").and_then(Value::as_str) == Some("error") => &value,
        _ => return None,
    };
    let message = error.get("message").unwrap_or(error);
    Some(short(message.as_str().map_or_else(|| message.to_string(), ToOwned::to_owned).as_str()))
}

/// Returns the error text of a refusal's body.
pub(super) fn refusal(body: &str) -> String {
    fault(body).unwrap_or_else(|| short(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_tokens() {
        for (data, words) in [
            (r#"{"error": {"message": "out of\nmemory", "code": 500}}"#, "out of memory"),
            (r#"{"error": "overloaded"}"#, "overloaded"),
            (r#"{"error": {"code": 7}}"#, r#"{"code":7}"#),
            (r#"{"object": "error", "message": "no such model", "code": 404}"#, "no such model"),
        ] {
            assert_eq!(fault(data).as_deref(), Some(words), "{data}");
        }
        for data in [
            r#"{"choices": [{"text": "an error", "token_ids": [1]}]}"#,
            r#"{"choices": [], "error": null}"#,
            "error",
        ] {
            assert_eq!(fault(data), None, "{data}");
        }
        assert_eq!(refusal("<html>\n no"), "<html> no");
    }
}
