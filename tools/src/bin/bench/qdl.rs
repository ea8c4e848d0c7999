//! The QDL without LoadGen.

use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use netdiv_contract::encoding::{self, Encoding};
use netdiv_qdl::{Expectation, LoadGen, LoadedSamples, Policy, Qdl, Settings};

use crate::meter::{Cost, Meter};

/// Receives responses and drops them.
struct DiscardingLoadGen;

impl LoadGen for DiscardingLoadGen {
    type Ticket = ();

    fn first_token(&self, (): &mut (), _: &Bytes) {}

    fn complete(&self, tickets: &mut Vec<()>, _: &[Bytes]) {
        tickets.clear();
    }
}

/// Returns payloads of this length, more than CPU caches hold: 64 MB, within 64 to 1,024 payloads.
pub fn payloads(bytes: usize) -> Vec<Bytes> {
    let count = (64_000_000 / bytes).clamp(64, 1024);
    (0..count).map(|n| Bytes::from(vec![n as u8; bytes])).collect()
}

/// Sends this number of samples as one query, waits for all responses, and returns the cost.
pub fn send(
    meter: &Meter,
    settings: Settings,
    payloads: &[Bytes],
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    send_encoded(meter, settings, payloads, Encoding::None, samples)
}

/// Like [`send`], with encoded payloads.
pub fn send_encoded(
    meter: &Meter,
    settings: Settings,
    payloads: &[Bytes],
    encoding: Encoding,
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    let qdl = connect(settings, payloads, encoding)?;
    let started = meter.start();
    qdl.issue((0..samples).map(|sample| ((), sample % payloads.len())))?;
    qdl.flush()?;
    Ok(started.stop())
}

/// Like [`send`], but sends each sample as a separate query, to the stream with the fewest
/// outstanding samples.
pub fn send_singly(
    meter: &Meter,
    settings: Settings,
    payloads: &[Bytes],
    samples: usize,
) -> Result<Cost, Box<dyn Error>> {
    let settings = Settings { policy: Policy::LeastOutstanding, ..settings };
    let qdl = connect(settings, payloads, Encoding::None)?;
    let started = meter.start();
    for sample in 0..samples {
        qdl.issue(std::iter::once(((), sample % payloads.len())))?;
    }
    qdl.flush()?;
    Ok(started.stop())
}

/// Sends samples for this time, each payload once per query, and waits for all responses before the
/// next query. Returns the cost and the number of samples, without the first query.
pub fn send_for(
    time: Duration,
    meter: &Meter,
    settings: Settings,
    payloads: &[Bytes],
) -> Result<(Cost, usize), Box<dyn Error>> {
    let qdl = connect(settings, payloads, Encoding::None)?;
    let all_once = || {
        qdl.issue((0..payloads.len()).map(|sample| ((), sample)))?;
        qdl.flush()
    };
    all_once()?;
    let (started, until, mut samples) = (meter.start(), Instant::now() + time, 0);
    while Instant::now() < until {
        all_once()?;
        samples += payloads.len();
    }
    Ok((started.stop(), samples))
}

fn connect(
    settings: Settings,
    payloads: &[Bytes],
    encoding: Encoding,
) -> Result<Qdl<DiscardingLoadGen>, Box<dyn Error>> {
    let encoded = |bytes: &Bytes| encoding::encode(encoding, bytes.clone()).map(Some);
    let samples: Vec<_> = payloads.iter().map(encoded).collect::<Result<_, _>>()?;
    let source = Arc::new(LoadedSamples::from(samples));
    Ok(Qdl::connect(settings, &Expectation::default(), DiscardingLoadGen, source)?)
}
