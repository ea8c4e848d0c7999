//! Data sets and labels in NumPy's format.

use bytes::Bytes;
use netdiv_contract::layout;
use netdiv_dataset::{Dataset, labels, open};

use crate::input::with_file;

/// A `.npy` file, as samples and as labels.
pub(crate) fn arrays(data: &[u8]) {
    if let Ok(labels) = labels("labels.npy", Bytes::copy_from_slice(data)) {
        assert!(labels.len() <= data.len());
    }
    with_file(data, |path| {
        if let Ok(dataset) = open(&path.display().to_string()) {
            read_ends(dataset.as_ref());
        }
    });
}

/// The first and the last sample are what the layout says.
fn read_ends(dataset: &dyn Dataset) {
    let takes = dataset.layout().unwrap_or_default();
    for index in [0, dataset.sample_count() - 1] {
        let Ok(sample) = dataset.read(index) else { continue };
        let payload = sample.into_payload(&takes);
        assert_eq!(payload.len() as u64, dataset.sample_bytes(index));
        assert!(layout::read(&takes, &payload).is_ok(), "{}", layout::describe(&takes));
    }
}
