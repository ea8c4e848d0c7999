//! Switches: environment variables that turn optimisations of libtorch on. Only a measurement on a
//! GPU can show their benefit, so they are off by default.

use std::env;

use crate::failure::Failure;

/// Returns true if TorchScript may fuse pointwise operations on a GPU. NVRTC compiles the kernels
/// for each shape.
pub(crate) fn fuser() -> Result<bool, Failure> {
    is_on("NETDIV_TORCH_FUSER")
}

/// Returns true if cuDNN may compute the attention of networks with fixed shapes. It builds a plan
/// for each shape.
pub(crate) fn cudnn_attention() -> Result<bool, Failure> {
    is_on("NETDIV_TORCH_CUDNN_ATTENTION")
}

fn is_on(name: &str) -> Result<bool, Failure> {
    read(name, env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

fn read(name: &str, value: Option<String>) -> Result<bool, Failure> {
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
            read("X", value.map(ToOwned::to_owned)).map_err(|failure| failure.text)
        };
        for value in [None, Some(""), Some("0")] {
            assert_eq!(on(value), Ok(false));
        }
        assert_eq!(on(Some("1")), Ok(true));
        assert_eq!(on(Some("yes")), Err("X is \"yes\"; set it to 0 or 1".into()));
    }
}
