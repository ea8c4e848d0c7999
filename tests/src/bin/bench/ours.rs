//! The QDL without LoadGen.

use std::{error::Error, sync::Arc};

use bytes::Bytes;
use netdiv_proto::encoding::{Encoded, Encoding};
use netdiv_qdl::{Expectation, LoadGen, LoadedSamples, Policy, Qdl, SampleSource, Settings};

/// Takes answers and does nothing with them.
struct Nobody;

impl LoadGen for Nobody {
    type Ticket = ();

    fn complete(&self, tickets: &mut Vec<()>, _: &[Bytes]) {
        tickets.clear();
    }
}

struct Loaded(LoadedSamples);

impl SampleSource for Loaded {
    fn loaded(&self) -> LoadedSamples {
        self.0.clone()
    }
}

/// Sends that many samples as one query and waits for all answers.
pub fn send(settings: Settings, payloads: &[Bytes], samples: usize) -> Result<(), Box<dyn Error>> {
    let qdl = connect(settings, payloads)?;
    qdl.issue((0..samples).map(|sample| ((), sample % payloads.len())))?;
    qdl.flush()?;
    Ok(())
}

/// Sends each as a query of its own to the stream with the fewest outstanding.
pub fn send_singly(
    settings: Settings,
    payloads: &[Bytes],
    samples: usize,
) -> Result<(), Box<dyn Error>> {
    let qdl = connect(Settings { policy: Policy::LeastOutstanding, ..settings }, payloads)?;
    for sample in 0..samples {
        qdl.issue(std::iter::once(((), sample % payloads.len())))?;
    }
    qdl.flush()?;
    Ok(())
}

fn connect(settings: Settings, payloads: &[Bytes]) -> Result<Qdl<Nobody>, Box<dyn Error>> {
    let encoded = |bytes: &Bytes| {
        Some(Encoded {
            bytes: bytes.clone(),
            encoding: Encoding::None,
            decoded_bytes: 0,
            crc32c: None,
        })
    };
    let source = Arc::new(Loaded(payloads.iter().map(encoded).collect()));
    Ok(Qdl::connect(settings, &Expectation::default(), Nobody, source)?)
}
