//! The package of a language model: `decode`, compiled ahead of time together with the choice of
//! the likeliest tokens. It uses the weights of the model file.

use tch::{CModule, Device, IValue, Kind, Tensor};

use crate::{
    failure::Failure,
    package::{Package, script_id},
};

/// Advice at the end of the error for a package that does not fit its model file.
pub(super) const BOTH: &str = "export both together";

/// Result of computing a token in each row.
pub(super) struct Decoded {
    pub(super) states: Tensor,
    /// Likeliest token after each state; `None` if nothing has chosen it yet.
    pub(super) ids: Option<Tensor>,
}

impl Decoded {
    pub(super) fn shallow_clone(&self) -> Self {
        let ids = self.ids.as_ref().map(Tensor::shallow_clone);
        Self { states: self.states.shallow_clone(), ids }
    }
}

pub(super) struct DecodePackage {
    package: Package,
    /// Number that becomes a tensor of any length: a package takes a length only as a tensor's.
    one: Tensor,
}

impl DecodePackage {
    /// Loads a package. `script` is the path of the model file that it was compiled for.
    pub(super) fn load(
        path: &str,
        script: &str,
        device: Device,
        precision: &str,
    ) -> Result<Self, Failure> {
        let (package, ()) = Package::load(path, device, precision, |metadata| {
            let id = script_id(script).map_err(|error| {
                error.of_file(|why| format!("cannot read {script}: {why}; {BOTH}"))
            })?;
            if !id.is_empty() && metadata.get("netdiv_model")? == id {
                return Ok(());
            }
            let network = metadata.get("netdiv_network")?;
            Err(Failure::refused(format!(
                "the package was compiled for another file of {network} than {script}; {BOTH}"
            )))
        })?;
        Ok(Self { package, one: Tensor::f_zeros([1], (Kind::Float, device))? })
    }

    /// Lets the package use the weights of the model file.
    pub(super) fn share(&self, module: &CModule) -> Result<(), Failure> {
        let none: [IValue; 0] = [];
        let constants = match module.method_is("constants", &none)? {
            IValue::GenericDict(constants) => constants,
            _ => Vec::new(),
        };
        let constants = constants.into_iter().filter_map(|constant| match constant {
            (IValue::String(name), IValue::Tensor(tensor)) => Some((name, tensor)),
            _ => None,
        });
        let tensors = module.named_parameters()?.into_iter().chain(constants);
        let tensors: Vec<_> =
            tensors.map(|(name, tensor)| (format!("model.{name}"), tensor)).collect();
        self.package.share(&tensors)
    }

    /// Computes one token in each of the first rows of the cache, which it changes. Its arguments
    /// are those of `LanguageModel::decode`.
    pub(super) fn decode(
        &self,
        cache: &[Tensor],
        ids: Tensor,
        positions: Tensor,
        length: usize,
    ) -> Result<Decoded, Failure> {
        let length = self.one.f_expand([length as i64], false)?;
        let caches = cache.iter().map(Tensor::shallow_clone);
        let inputs: Vec<_> = [ids, positions, length].into_iter().chain(caches).collect();
        let mut outputs = self.package.run(&inputs)?.into_iter();
        let none = || Failure::refused("the package returns no states; export it again".into());
        Ok(Decoded { states: outputs.next().ok_or_else(none)?, ids: outputs.next() })
    }
}
