//! What only a measurement on a GPU can decide, and is off until then.

use std::env;

use crate::failure::Failure;

/// The variable that turns on TorchScript's fuser of pointwise operations.
const FUSER: &str = "NETDIV_TORCH_FUSER";

/// Whether TorchScript fuses pointwise operations into kernels that it compiles by NVRTC, for each shape anew.
pub(crate) fn fuser() -> Result<bool, Failure> {
    is_on(FUSER, env::var_os(FUSER).map(|value| value.to_string_lossy().into_owned()))
}

fn is_on(name: &str, value: Option<String>) -> Result<bool, Failure> {
    match value.as_deref() {
        None | Some("" | "0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(Failure::refused(format!("{name} is {other:?}; set it to 0 or 1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_until_it_is_set_to_1() {
        let on = |value: Option<&str>| {
            is_on("X", value.map(ToOwned::to_owned)).map_err(|failure| failure.text)
        };
        for value in [None, Some(""), Some("0")] {
            assert_eq!(on(value), Ok(false));
        }
        assert_eq!(on(Some("1")), Ok(true));
        assert_eq!(on(Some("yes")), Err("X is \"yes\"; set it to 0 or 1".into()));
    }
}
