//! Types of the weights that a manifest's precision names.

use tch::{CModule, Kind};

use crate::failure::Failure;

/// Checks that the weights have the type of the manifest's precision. A frozen file passes
/// unchecked: its weights are constants, which libtorch does not list.
pub(crate) fn check_precision(module: &CModule, precision: &str) -> Result<(), Failure> {
    let want = weights_of(precision)?;
    for (name, tensor) in module.named_parameters()? {
        check_weight(&name, tensor.f_kind()?, want, precision)?;
    }
    Ok(())
}

/// Returns the type of the weights of a model with this precision.
pub(crate) fn weights_of(precision: &str) -> Result<Kind, Failure> {
    match precision {
        "fp32" | "tf32" => Ok(Kind::Float),
        "fp16" => Ok(Kind::Half),
        "bf16" => Ok(Kind::BFloat16),
        other => Err(Failure::refused(format!("the precision {other} is unknown"))),
    }
}

/// Checks the type of a weight. Integers, such as tables of indices, may have any type.
fn check_weight(name: &str, kind: Kind, want: Kind, precision: &str) -> Result<(), Failure> {
    if kind == want || !matches!(kind, Kind::Float | Kind::Half | Kind::BFloat16 | Kind::Double) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "the manifest says {precision}, but the weight {name} is {kind:?}; export the model with that precision"
    )))
}

#[cfg(test)]
mod tests {
    use netdiv_plugin::abi;

    use super::*;

    #[test]
    fn weights_have_the_type_of_the_manifest() {
        for (precision, kind) in [
            ("fp32", Kind::Float),
            ("tf32", Kind::Float),
            ("fp16", Kind::Half),
            ("bf16", Kind::BFloat16),
        ] {
            let want = weights_of(precision).ok();
            assert_eq!(want, Some(kind));
            assert!(check_weight("w", kind, kind, precision).is_ok());
            assert!(check_weight("indices", Kind::Int64, kind, precision).is_ok());
            let other = check_weight("w", Kind::Double, kind, precision).expect_err("refused").text;
            assert!(
                other.contains(&format!("says {precision}, but the weight w is Double")),
                "{other}"
            );
        }
        let unknown = weights_of("fp8").expect_err("refused");
        assert_eq!(unknown.status, abi::REFUSED);
        assert!(unknown.text.contains("fp8 is unknown"), "{}", unknown.text);
    }
}
