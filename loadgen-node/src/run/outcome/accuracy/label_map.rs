//! The label map that the official `accuracy-imagenet.py` reads: a name and a label for each
//! sample, in the data set's order.

use std::{fmt::Write as _, path::Path};

use netdiv_node_common::resources::files;

use crate::{RunError, output, settings::usage};

/// Name of the map in the run's folder.
pub(crate) const NAME: &str = "val_map.txt";

pub(crate) fn write(folder: &Path, labels: &[i64]) -> Result<(), RunError> {
    let mut map = String::new();
    for (index, label) in labels.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(map, "sample_{index:06} {label}");
    }
    output::write(&folder.join(NAME), map.as_bytes())
}

/// Fails for a map without a line for each sample, or with a class that the benchmark does not
/// have.
pub(crate) fn check(folder: &Path, classes: u32, samples: u64) -> Result<(), RunError> {
    let path = folder.join(NAME);
    let unreadable = |error| RunError::Usage(format!("cannot read {}: {error}", path.display()));
    let text = files::read_to_string(&path, u64::MAX).map_err(unreadable)?;
    let is_label = |line: &str| {
        let label = line.split_once(' ').and_then(|(_, label)| label.parse::<u32>().ok());
        label.is_some_and(|label| label < classes)
    };
    let lines = text.lines().count() as u64;
    match text.lines().position(|line| !is_label(line)) {
        None if lines == samples => Ok(()),
        None => usage(format!(
            "{}: {lines} labels for {samples} samples: repeat the accuracy run",
            path.display()
        )),
        Some(index) => usage(format!(
            "{}: the label of sample {index} is not a class from 0 to {}: repeat the accuracy run",
            path.display(),
            classes.saturating_sub(1)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_classes_of_the_benchmark() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[0, 999]).unwrap();
        assert!(check(folder.path(), 1000, 2).is_ok());
        let error = check(folder.path(), 1000, 3).unwrap_err().to_string();
        assert!(error.contains("2 labels for 3 samples"), "{error}");
        let error = check(folder.path(), 999, 2).unwrap_err().to_string();
        assert!(
            error.contains("val_map.txt: the label of sample 1 is not a class from 0 to 998"),
            "{error}"
        );
        for damaged in ["sample_000000 0\nsample_000001", "sample_000000 0\n\n", "a 0\nb -1\n"] {
            std::fs::write(folder.path().join(NAME), damaged).unwrap();
            assert!(check(folder.path(), 1000, 2).unwrap_err().to_string().contains("sample 1"));
        }
    }
}
