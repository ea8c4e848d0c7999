//! Metadata of a package: the network, the manifest and the machine that it was compiled for.

use std::collections::HashMap;

use tch::Device;

use crate::{failure::Failure, precision::weights_of};

/// Version of libtorch that this plug-in is built for, and with which packages must be compiled.
pub(crate) const LIBTORCH: &str = "2.11";

/// Maximum value of a number: compiled code must not overflow.
const LARGEST: i64 = 1 << 24;

/// Advice at the end of the error for a package that does not fit.
pub(crate) const EXPORT: &str =
    "export it again with --ahead, on a machine like this one (deploy/models/README.md)";

/// Metadata of a package, by key.
pub(crate) struct Metadata(HashMap<String, String>);

impl Metadata {
    pub(crate) fn read(json: &str) -> Result<Self, Failure> {
        let invalid = |error| refused(format!("the package's metadata is invalid: {error}"));
        serde_json::from_str(json).map(Self).map_err(invalid)
    }

    /// Returns the value of a key; fails if it is missing, or has characters that would cut a text.
    pub(crate) fn get(&self, key: &str) -> Result<&str, Failure> {
        let value = self.0.get(key).map(String::as_str);
        let value = value.ok_or_else(|| refused(format!("the package's metadata has no {key}")))?;
        if value.contains(char::is_control) {
            return Err(refused(format!("the package's {key} is {value:?}, not a printable text")));
        }
        Ok(value)
    }

    /// Returns a number from 1 to [`LARGEST`].
    pub(crate) fn number(&self, key: &str) -> Result<i64, Failure> {
        let value = self.get(key)?;
        let number = value.parse().ok().filter(|number| (1..=LARGEST).contains(number));
        number.ok_or_else(|| {
            refused(format!("the package's {key} is {value:?}, not a number from 1 to {LARGEST}"))
        })
    }

    /// Checks that the package was compiled with this libtorch, at the precision of the manifest,
    /// and for a device with the given abilities.
    pub(crate) fn check(
        &self,
        precision: &str,
        device: Device,
        abilities: &[String],
    ) -> Result<(), Failure> {
        let torch = self.get("netdiv_torch")?;
        if !torch.strip_prefix(LIBTORCH).is_some_and(|rest| rest.starts_with('.')) {
            return Err(refused(format!(
                "the package was compiled with torch {torch}, but this node has libtorch {LIBTORCH}"
            )));
        }
        let own = self.get("netdiv_precision")?;
        if weights_of(own)? != weights_of(precision)? {
            return Err(refused(format!(
                "the manifest says precision = {precision:?}, but the package has {own}"
            )));
        }
        let (kind, wanted) = (kind(device), self.get("AOTI_DEVICE_KEY")?);
        if wanted != kind {
            return Err(refused(format!(
                "the package was compiled for the device {wanted}, not for {kind}"
            )));
        }
        let needs = self.get("netdiv_needs")?.split_whitespace();
        let missing: Vec<_> =
            needs.filter(|need| !abilities.iter().any(|has| has == need)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        Err(refused(format!("the package needs {missing}, which this machine lacks")))
    }
}

/// Returns the name of a kind of device.
pub(crate) fn kind(device: Device) -> &'static str {
    if device.is_cuda() { "cuda" } else { "cpu" }
}

fn refused(why: String) -> Failure {
    Failure::refused(format!("{why}; {EXPORT}"))
}

#[cfg(test)]
mod tests {
    use netdiv_plugin::abi;

    use super::*;

    /// Metadata of a package for CPUs, with one value changed, or removed if it is empty.
    fn metadata(key: &str, value: &str) -> Metadata {
        let mut all: HashMap<String, String> = [
            ("netdiv_torch", "2.11.0+cu130"),
            ("netdiv_precision", "fp32"),
            ("AOTI_DEVICE_KEY", "cpu"),
            ("netdiv_needs", "avx2 fma"),
            ("netdiv_largest", "16"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        all.insert(key.into(), value.into());
        all.retain(|_, value| !value.is_empty());
        Metadata(all)
    }

    fn check(key: &str, value: &str, precision: &str) -> Result<(), Failure> {
        let abilities = ["sse2", "avx2", "fma"].map(str::to_owned);
        metadata(key, value).check(precision, Device::Cpu, &abilities)
    }

    #[test]
    fn a_package_that_fits_the_machine_and_the_manifest_is_accepted() {
        for (key, value, precision) in [
            ("netdiv_torch", "2.11.1", "fp32"),
            ("netdiv_needs", " ", "tf32"),
            ("netdiv_precision", "bf16", "bf16"),
        ] {
            assert!(check(key, value, precision).is_ok(), "{key} {value}");
        }
    }

    #[test]
    fn each_value_that_does_not_fit_is_refused_by_name() {
        for (key, value, why) in [
            (
                "netdiv_torch",
                "2.12.0",
                "compiled with torch 2.12.0, but this node has libtorch 2.11",
            ),
            ("netdiv_torch", "2.110.0", "compiled with torch 2.110.0"),
            ("netdiv_precision", "bf16", "says precision = \"fp32\", but the package has bf16"),
            ("netdiv_precision", "int4", "the precision int4 is unknown"),
            ("AOTI_DEVICE_KEY", "cuda", "compiled for the device cuda, not for cpu"),
            (
                "netdiv_needs",
                "fma avx512f amx_tile",
                "needs avx512f, amx_tile, which this machine lacks",
            ),
            ("netdiv_needs", "avx2 sm_90", "needs sm_90, which this machine lacks"),
            ("netdiv_needs", "", "has no netdiv_needs"),
            ("netdiv_torch", "2\0", "netdiv_torch is \"2\\0\", not a printable text"),
            ("netdiv_precision", "fp\n32", "netdiv_precision is \"fp\\n32\", not a printable"),
        ] {
            let refusal = check(key, value, "fp32").expect_err(why);
            assert_eq!(refusal.status, abi::REFUSED);
            assert!(refusal.text.contains(why), "{}", refusal.text);
        }
        let number = |value| metadata("netdiv_largest", value).number("netdiv_largest");
        assert!(number("16").is_ok_and(|number| number == 16));
        for value in ["0", "16777217", "many", ""] {
            assert!(number(value).is_err_and(|it| it.text.contains("export it again")), "{value}");
        }
        assert!(Metadata::read("[]").is_err_and(|it| it.text.contains("metadata is invalid")));
    }
}
