//! Waveforms: 16-bit PCM of one channel, at most 30 s at 16 kHz, without padding, which is the
//! nodes' (`speech2text` of mlcommons/inference).

use netdiv_contract::layout::{DataType, describe, element_bytes};
use netdiv_dataset::Dataset;
use netdiv_rules::book::SampleForm;

use crate::{RunError, settings::RunConfig};

/// Maximum number of elements of a waveform.
const LONGEST: u64 = 30 * 16_000;

/// Fails for samples that the benchmark does not allow, if its samples are waveforms. Reads none of
/// them.
pub(crate) fn check(config: &RunConfig, data: &dyn Dataset) -> Result<(), RunError> {
    let benchmark = config.benchmarks.find(&config.benchmark);
    let Some(known) = benchmark.filter(|known| known.form == SampleForm::Waveform) else {
        return Ok(());
    };
    fault(data).map_or(Ok(()), |why| {
        let (data, name) = (data.name(), &known.name);
        Err(RunError::Usage(format!(
            "data set {data}: {why}: prepare it with deploy/data/prepare {name}"
        )))
    })
}

/// Returns the reason why a data set has other samples than waveforms of the permitted lengths.
fn fault(data: &dyn Dataset) -> Option<String> {
    let layout = data.layout().unwrap_or_default();
    let is_waveform = match &layout.tensors[..] {
        [only] => only.data_type() == DataType::Int16 && only.shape.len() == 1,
        _ => false,
    };
    if !is_waveform {
        return Some(format!(
            "it holds {}, and a sample is a waveform, int16[?]",
            describe(&layout)
        ));
    }
    let length = |index| data.sample_bytes(index) / element_bytes(DataType::Int16) as u64;
    let mut lengths = (0..data.sample_count()).map(|index| (index, length(index)));
    let (index, length) = lengths.find(|(_, length)| !(1..=LONGEST).contains(length))?;
    Some(format!("sample {index} has a length of {length}, and a waveform has 1 to {LONGEST}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Returns the fault of a folder with an array of each type and shape, which holds zeros.
    fn fault_of(folder: &Path, arrays: &[(&str, &str, usize)]) -> Option<String> {
        for (number, (descr, shape, bytes)) in arrays.iter().enumerate() {
            let array = crate::npy_file::npy(descr, shape, vec![0; *bytes]);
            std::fs::write(folder.join(format!("{number}.npy")), array).unwrap();
        }
        fault(netdiv_dataset::open(&folder.display().to_string()).unwrap().as_ref())
    }

    #[test]
    fn waveforms_have_one_dimension_of_up_to_30_seconds() {
        for (arrays, words) in [
            (&[("<i2", "(480000,)", 960_000), ("<i2", "(1,)", 2)][..], None),
            (&[("<i2", "(5,)", 10)], None),
            (
                &[("<f4", "(5,)", 20)],
                Some("it holds float32[5], and a sample is a waveform, int16[?]"),
            ),
            (&[("<i2", "(5, 1)", 10)], Some("it holds int16[5, 1], and a sample is a waveform")),
            (&[("<i2", "(3,)", 6), ("<i2", "(0,)", 0)], Some("sample 1 has a length of 0, and")),
            (
                &[("<i2", "(480001,)", 960_002)],
                Some("sample 0 has a length of 480001, and a waveform has 1 to 480000"),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let why = fault_of(folder.path(), arrays);
            assert_eq!(why.is_some(), words.is_some(), "{why:?}");
            assert!(words.is_none_or(|words| why.unwrap().contains(words)), "{words:?}");
        }
        let bytes = netdiv_dataset::open("synthetic:4x4").unwrap();
        assert!(fault(bytes.as_ref()).unwrap().contains("it holds any bytes, and a sample is"));
    }
}
