//! The network of a tensor model: a TorchScript file, or a package.

use std::iter;

use tch::{CModule, Device, IValue, Tensor};

use crate::{
    failure::Failure,
    metadata::Metadata,
    package::{Package, is_package},
    precision::check_precision,
    tensors::{Spec, tensors_of},
};

/// A network on a device.
pub(crate) enum Network {
    Script(CModule),
    Package(Package, InputLimits),
}

/// Inputs that a package was compiled for.
pub(crate) struct InputLimits {
    inputs: Vec<Spec>,
    /// Maximum number of rows of a batch.
    largest: i64,
    /// Maximum length of a free dimension.
    longest: i64,
}

impl Network {
    /// Loads a file onto a device. `inputs` and `outputs` are those of the manifest.
    pub(crate) fn load(
        path: &str,
        device: Device,
        precision: &str,
        inputs: Vec<Spec>,
        outputs: &[Spec],
    ) -> Result<Self, Failure> {
        if !is_package(path) {
            let mut module = CModule::load_on_device(path, device)
                .map_err(|error| Failure::from(error).of_file(|why| why))?;
            module.f_set_eval()?;
            check_precision(&module, precision)?;
            return Ok(Self::Script(module));
        }
        let check = |metadata: &Metadata| InputLimits::of(metadata, inputs, outputs);
        let (package, limits) = Package::load(path, device, precision, check)?;
        Ok(Self::Package(package, limits))
    }

    /// Computes the outputs of a batch.
    pub(crate) fn run(&self, inputs: Vec<Tensor>) -> Result<Vec<Tensor>, Failure> {
        match self {
            Self::Script(module) => {
                let inputs: Vec<_> = inputs.into_iter().map(IValue::Tensor).collect();
                tensors_of(module.forward_is(&inputs)?)
            }
            Self::Package(package, limits) => {
                limits.check(&inputs)?;
                package.run(&inputs)
            }
        }
    }
}

impl InputLimits {
    /// Reads the limits of a package. Fails if its inputs or outputs are not those of the manifest.
    fn of(metadata: &Metadata, inputs: Vec<Spec>, outputs: &[Spec]) -> Result<Self, Failure> {
        let network = metadata.get("netdiv_network")?;
        for (what, specs) in [("inputs", &*inputs), ("outputs", outputs)] {
            let said = specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
            let has = metadata.get(&format!("netdiv_{what}"))?;
            if has != said {
                return Err(Failure::refused(format!(
                    "the package contains {network} with the {what} {has}, but the manifest says {said}; use the manifest that was \
                     exported with the package"
                )));
            }
        }
        let is_free = inputs.iter().any(|input| input.shape.iter().skip(1).any(|&n| n < 0));
        let longest = if is_free { metadata.number("netdiv_longest")? } else { 1 };
        Ok(Self { inputs, largest: metadata.number("netdiv_largest")?, longest })
    }

    /// Checks a batch: AOTInductor would compute any other one, and return anything.
    fn check(&self, inputs: &[Tensor]) -> Result<(), Failure> {
        let rows = inputs.first().and_then(|input| input.size().first().copied()).unwrap_or(0);
        // All free lengths of a batch are the same one.
        let free = self.inputs.iter().zip(inputs).find_map(|(spec, input)| {
            let mut lengths = iter::zip(&spec.shape, input.size()).skip(1);
            lengths.find_map(|(want, length)| (*want == -1).then_some(length))
        });
        let fits = |(spec, input): (&Spec, &Tensor)| {
            let lengths = input.size();
            let is_length = |(place, (&length, &want)): (usize, (&i64, &i64))| match want {
                _ if place == 0 => length == rows,
                -1 => free == Some(length) && (1..=self.longest).contains(&length),
                _ => length == want,
            };
            spec.kind().is_ok_and(|kind| input.f_kind().is_ok_and(|own| own == kind))
                && lengths.len() == spec.shape.len()
                && lengths.iter().zip(&spec.shape).enumerate().all(is_length)
                && input.is_contiguous()
        };
        if let Some((spec, input)) = self.inputs.iter().zip(inputs).find(|pair| !fits(*pair)) {
            let (kind, size, longest) = (input.f_kind()?, input.size(), self.longest);
            return Err(Failure::refused(format!(
                "the package takes {spec}, contiguous, with {rows} rows and equal free lengths up to {longest}; it is {kind:?} {size:?}"
            )));
        }
        if inputs.len() != self.inputs.len() {
            let (given, want) = (inputs.len(), self.inputs.len());
            return Err(Failure::refused(format!("the package takes {want} inputs, not {given}")));
        }
        if !(1..=self.largest).contains(&rows) {
            return Err(Failure::refused(format!(
                "a batch of {rows} rows is not within 1 to {}, the package's largest; lower --max-batch, or export the package with \
                 a larger --largest",
                self.largest
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use netdiv_plugin::abi;
    use tch::Kind;

    use super::*;

    fn spec(name: &str, data_type: u32, shape: &[i64]) -> Spec {
        Spec { name: name.into(), data_type, shape: shape.into() }
    }

    /// Limits of a network like BERT, with ids (int32) and weights (float32).
    fn limits() -> InputLimits {
        let inputs = vec![spec("ids", 3, &[-1, -1]), spec("weights", 6, &[-1, 2, 3])];
        InputLimits { inputs, largest: 4, longest: 8 }
    }

    fn ids(shape: &[i64]) -> Tensor {
        Tensor::zeros(shape, (Kind::Int, Device::Cpu))
    }

    fn weights(rows: i64) -> Tensor {
        Tensor::zeros([rows, 2, 3], (Kind::Float, Device::Cpu))
    }

    #[test]
    fn batches_that_a_package_was_not_compiled_for_are_refused_by_name() {
        for rows in [1, 2, 4] {
            assert!(limits().check(&[ids(&[rows, 8]), weights(rows)]).is_ok());
        }
        let half = weights(2).to_kind(Kind::Half);
        for (inputs, why) in [
            (
                vec![ids(&[2, 9]), weights(2)],
                "ids int32 [-1, -1], contiguous, with 2 rows and equal free lengths up to 8; it is Int [2, 9]",
            ),
            (vec![ids(&[2, 0]), weights(2)], "it is Int [2, 0]"),
            (vec![ids(&[2]), weights(2)], "it is Int [2]"),
            (vec![ids(&[2, 8]), weights(3)], "takes weights float32 [-1, 2, 3]"),
            (vec![ids(&[2, 8]), half], "it is Half [2, 2, 3]"),
            (
                vec![ids(&[2, 8]), weights(2).transpose(0, 1).contiguous().transpose(0, 1)],
                "takes weights",
            ),
            (vec![ids(&[2, 8])], "takes 2 inputs, not 1"),
            (vec![ids(&[5, 8]), weights(5)], "a batch of 5 rows is not within 1 to 4"),
            (vec![ids(&[0, 8]), weights(0)], "a batch of 0 rows is not within 1 to 4"),
        ] {
            let refusal = limits().check(&inputs).expect_err(why);
            assert_eq!(refusal.status, abi::REFUSED);
            assert!(refusal.text.contains(why), "{}", refusal.text);
        }
    }

    #[test]
    fn free_lengths_of_a_batch_have_to_be_equal() {
        let inputs = vec![spec("ids", 3, &[-1, -1]), spec("mask", 3, &[-1, -1])];
        let limits = InputLimits { inputs, largest: 4, longest: 8 };
        assert!(limits.check(&[ids(&[2, 7]), ids(&[2, 7])]).is_ok());
        for (first, second) in [(8, 7), (7, 8)] {
            let refusal =
                limits.check(&[ids(&[2, first]), ids(&[2, second])]).expect_err("unequal");
            assert_eq!(refusal.status, abi::REFUSED);
            let why = format!("2 rows and equal free lengths up to 8; it is Int [2, {second}]");
            assert!(refusal.text.contains(&why), "{}", refusal.text);
        }
    }

    #[test]
    fn a_package_of_another_network_is_refused_by_name() {
        let metadata = |inputs: &str, outputs: &str| {
            let json = format!(
                r#"{{"netdiv_network": "bert", "netdiv_inputs": "{inputs}", "netdiv_outputs": "{outputs}",
                     "netdiv_largest": "4", "netdiv_longest": "8"}}"#
            );
            Metadata::read(&json).map_err(|failure| failure.text).unwrap()
        };
        let read = |metadata: &Metadata| {
            InputLimits::of(metadata, limits().inputs, &[spec("logits", 6, &[-1, -1])])
        };
        let (inputs, outputs) =
            ("ids int32 [-1, -1], weights float32 [-1, 2, 3]", "logits float32 [-1, -1]");
        assert!(
            read(&metadata(inputs, outputs)).is_ok_and(|it| (it.largest, it.longest) == (4, 8))
        );
        for (metadata, why) in [
            (
                metadata("image uint8 [-1, 8, 8]", outputs),
                "contains bert with the inputs image uint8 [-1, 8, 8], but the manifest says ids",
            ),
            (
                metadata(inputs, "labels int64 [-1]"),
                "with the outputs labels int64 [-1], but the manifest says logits float32",
            ),
        ] {
            let refusal = read(&metadata).err().unwrap();
            assert!(refusal.text.contains(why), "{}", refusal.text);
        }
    }
}
