//! Of N2: every node runs a model (rules, section 4.1.1: a result is of the reference model).

/// Why no model runs at a node with that engine and that SHA-256 of a model file.
pub(crate) fn without_model(engine: &str, model_sha256: &str) -> Option<String> {
    let why = match engine.trim().to_lowercase().as_str() {
        "echo" | "none" | "" => format!("its engine is `{engine}`"),
        _ if model_sha256.trim().is_empty() => "it named no model file".into(),
        _ => return None,
    };
    Some(format!("{why}; run again with the benchmark's model"))
}
