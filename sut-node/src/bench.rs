//! `sut-node bench`: feeds a data set's samples to the node's engines and batcher, without a
//! network.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Error, bail};
use netdiv_contract::{
    layout,
    v1::{InferResponse, Status, Tokens},
};
use netdiv_dataset::DatasetError;
use parking_lot::{Condvar, Mutex};

use crate::{in_process::InProcess, settings::config::Config};

/// Options of a measurement.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Measurement")]
pub(crate) struct BenchArgs {
    /// Data set of the samples, as for `loadgen-node run`
    ///
    /// All samples are held in memory.
    #[arg(long, value_name = "PATH")]
    pub dataset: String,
    /// Duration of the measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    pub seconds: f64,
}

/// Result of a measurement.
#[derive(Debug)]
pub(crate) struct BenchReport {
    model: String,
    samples: u64,
    time: Duration,
    tally: Tally,
}

/// Sums over all replies.
#[derive(Debug, Default)]
struct Tally {
    answered: u64,
    /// Sum of 1 / `batch_size` over all samples: the number of batches.
    batches: f64,
    queue: Duration,
    prepare: Duration,
    compute: Duration,
    /// Number of output tokens; 0 if the model's outputs are not tokens.
    tokens: u64,
    first_token: Duration,
    failure: Option<String>,
}

/// Feeds the data set's samples to the engines for the duration that `args` states, waits for the
/// last reply, and returns the result.
pub(crate) fn bench(config: &Config, args: &BenchArgs) -> anyhow::Result<BenchReport> {
    let data = netdiv_dataset::open(&args.dataset).context("data set")?;
    let done = Arc::new((Mutex::new(Tally::default()), Condvar::new()));
    let node = InProcess::start(config, Tokens::Whole, {
        let done = done.clone();
        move |replies| {
            let (tally, changed) = &*done;
            tally.lock().add(&replies);
            changed.notify_all();
        }
    })?;
    let takes = &node.model().input;
    if let Some(holds) = data.layout().filter(|holds| !layout::accepts(takes, holds)) {
        let (takes, holds) = (layout::describe(takes), layout::describe(&holds));
        bail!("the model takes {takes}, the data set holds {holds}");
    }
    let bytes = (0..data.sample_count()).map(|index| data.sample_bytes(index));
    netdiv_node_common::resources::memory::check(bytes.fold(0, u64::saturating_add))
        .with_context(|| format!("data set {}", args.dataset))?;
    let payloads = (0..data.sample_count())
        .map(|index| Ok(data.read(index)?.into_payload(takes)))
        .collect::<Result<Vec<_>, DatasetError>>()
        .context("data set")?;

    let time = Duration::try_from_secs_f64(args.seconds.max(0.0)).unwrap_or(Duration::MAX);
    let started = Instant::now();
    let mut samples = 0;
    for payload in payloads.iter().cycle() {
        node.push(std::iter::once((samples, payload.clone()))).map_err(Error::msg)?;
        samples += 1;
        // A partial batch at the end would count as a whole one.
        let whole = samples % config.node.batching.max_batch as u64 == 0;
        if whole && started.elapsed() >= time || done.0.lock().failure.is_some() {
            break;
        }
    }
    node.flush();
    let (tally, changed) = &*done;
    let mut tally = tally.lock();
    while tally.answered < samples {
        changed.wait(&mut tally);
    }
    let time = started.elapsed();
    match tally.failure.take() {
        Some(failure) => Err(Error::msg(failure)),
        None => {
            let (model, tally) = (node.model().name.clone(), std::mem::take(&mut *tally));
            Ok(BenchReport { model, samples, time, tally })
        }
    }
}

impl Tally {
    fn add(&mut self, replies: &[InferResponse]) {
        for reply in replies {
            self.answered += 1;
            let share = f64::from(reply.batch_size.max(1)).recip();
            self.batches += share;
            self.queue += Duration::from_nanos(reply.queue_ns);
            self.prepare += Duration::from_nanos(reply.prepare_ns).mul_f64(share);
            self.compute += Duration::from_nanos(reply.compute_ns).mul_f64(share);
            self.tokens += u64::from(reply.token_count);
            self.first_token += Duration::from_nanos(reply.first_token_ns);
            if reply.status() != Status::Ok {
                self.failure.get_or_insert_with(|| reply.error.clone());
            }
        }
    }
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, samples, time, tally } = self;
        let seconds = time.as_secs_f64();
        let ms = |sum: Duration, count: f64| sum.as_secs_f64() * 1000.0 / count.max(1.0);
        writeln!(f, "{model}, in this process, without a network")?;
        writeln!(f, "  samples per second {:.1}", *samples as f64 / seconds)?;
        writeln!(f, "  samples            {samples} in {seconds:.2} s")?;
        if tally.tokens > 0 {
            writeln!(f, "  tokens per second  {:.1}", tally.tokens as f64 / seconds)?;
            return write!(
                f,
                "  mean ms            SUT queue {:.2}, first token {:.2}, whole output {:.2} (a sample)",
                ms(tally.queue, *samples as f64),
                ms(tally.first_token, *samples as f64),
                ms(tally.compute, *samples as f64)
            );
        }
        writeln!(f, "  mean batch         {:.1}", *samples as f64 / tally.batches.max(1.0))?;
        write!(
            f,
            "  mean ms            SUT queue {:.2} (a sample), prepare {:.2}, compute {:.2} (a batch)",
            ms(tally.queue, *samples as f64),
            ms(tally.prepare, tally.batches),
            ms(tally.compute, tally.batches)
        )
    }
}
