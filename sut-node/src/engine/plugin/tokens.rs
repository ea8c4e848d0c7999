//! An instance of a language model. Each sample occupies a slot of the plug-in, and the ids that a
//! step generates for it go to the sample's sink.

use std::{
    collections::{HashMap, VecDeque},
    mem::take,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_plugin::{PluginError, PluginTokenInstance, StepEvent};

use crate::{
    engine::{interface::StreamingEngine, sink::Sink},
    ground::{error::EngineError, metrics},
    model::{language::LanguageModel, payload::Payload, workload::integers},
};

pub(super) struct TokenEngine {
    instance: PluginTokenInstance,
    model: Arc<LanguageModel>,
    /// Sinks of the samples that the plug-in has accepted, by the sample's number in the plug-in.
    sinks: HashMap<u64, Sink>,
    /// Prompts that wait for room in the plug-in, with their sinks, oldest first.
    waiting: VecDeque<(Vec<i32>, Sink)>,
    /// Maximum time without progress of any sample.
    progress_timeout: Duration,
    /// Time of the last progress, or of the first submission to an idle plug-in.
    last_progress: Instant,
}

impl TokenEngine {
    pub(super) fn new(
        instance: PluginTokenInstance,
        model: Arc<LanguageModel>,
        patience: Duration,
    ) -> Self {
        let (sinks, waiting) = (HashMap::new(), VecDeque::new());
        Self {
            instance,
            model,
            sinks,
            waiting,
            progress_timeout: patience,
            last_progress: Instant::now(),
        }
    }

    /// Submits waiting samples to the plug-in, until its cache has no room for the next one.
    fn submit(&mut self) -> Result<(), PluginError> {
        while let Some((ids, sink)) = self.waiting.pop_front() {
            if self.sinks.is_empty() {
                self.last_progress = Instant::now();
            }
            let limits = self.model.served.limited(sink.max_tokens());
            match self.instance.submit(&ids, limits.min_tokens, limits.max_tokens) {
                Ok(number) => drop(self.sinks.insert(number, sink)),
                Err(PluginError::OutOfMemory(_)) if !self.sinks.is_empty() => {
                    self.waiting.push_front((ids, sink));
                    return Ok(());
                }
                Err(error @ (PluginError::OutOfMemory(_) | PluginError::Refused(_))) => {
                    sink.finish_with(Err(EngineError::Failed(error.to_string())));
                }
                Err(error) => {
                    self.waiting.push_front((ids, sink));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Cancels the samples whose clients have gone, and submits waiting samples in their place.
    fn cancel_abandoned(&mut self) -> Result<(), PluginError> {
        let before = self.in_flight();
        let instance = &mut self.instance;
        self.sinks.retain(|number, sink| {
            let is_wanted = !sink.is_closed();
            if !is_wanted {
                instance.cancel(*number);
            }
            is_wanted
        });
        self.waiting.retain(|(_, sink)| !sink.is_closed());
        if self.in_flight() == before {
            return Ok(());
        }
        metrics::abandoned(before - self.in_flight());
        self.submit()
    }

    /// Runs a step, and passes its ids to the samples' sinks.
    fn advance(&mut self) -> Result<(), PluginError> {
        if self.sinks.is_empty() {
            return Ok(());
        }
        let (mut has_event, mut has_ended) = (false, false);
        for StepEvent { sample, ids, is_last } in self.instance.step()? {
            // An event without ids shows that its sample made progress.
            has_event = true;
            has_ended |= is_last;
            if let Some(sink) = self.sinks.get_mut(&sample) {
                sink.push_tokens(ids);
            }
            if let Some(sink) = is_last.then(|| self.sinks.remove(&sample)).flatten() {
                sink.end();
            }
        }
        if has_event {
            self.last_progress = Instant::now();
        } else if self.last_progress.elapsed() > self.progress_timeout {
            let seconds = self.last_progress.elapsed().as_secs_f64();
            return Err(PluginError::Failed(format!(
                "no sample made progress for {seconds:.1} s, longer than --engine-timeout; raise it, or lower `slots` or \
                 `chunk` in [tokens] of the manifest"
            )));
        }
        if has_ended { self.submit() } else { Ok(()) }
    }

    /// Answers all samples with an error, and returns it.
    fn fail(&mut self, error: PluginError) -> EngineError {
        self.instance.cancel_all();
        let waiting = take(&mut self.waiting).into_iter().map(|(_, sink)| sink);
        for sink in take(&mut self.sinks).into_values().chain(waiting) {
            sink.finish_with(Err(EngineError::Failed(error.to_string())));
        }
        error.into()
    }
}

impl StreamingEngine for TokenEngine {
    fn in_flight(&self) -> usize {
        self.sinks.len() + self.waiting.len()
    }

    fn room(&self) -> usize {
        // Samples are admitted in order of arrival.
        if self.waiting.is_empty() { self.instance.room().slots - self.sinks.len() } else { 0 }
    }

    fn begin(&mut self, samples: Vec<(Payload, Sink)>) -> Result<(), EngineError> {
        self.waiting.extend(samples.into_iter().map(|(prompt, sink)| (ids(&prompt), sink)));
        self.submit().map_err(|error| self.fail(error))
    }

    fn step(&mut self) -> Result<(), EngineError> {
        let outcome = self.cancel_abandoned().and_then(|()| self.advance());
        outcome.map_err(|error| self.fail(error))
    }

    fn drop_all(&mut self) {
        self.instance.cancel_all();
        self.sinks.clear();
        self.waiting.clear();
    }

    fn warm_up(&mut self) -> Result<(), EngineError> {
        self.instance.warm_up().map_err(|error| cannot_start(&self.model, error))
    }
}

/// Returns the error for a model that cannot be loaded, opened or warmed up. Adds advice if the
/// device's memory is full.
pub(super) fn cannot_start(model: &LanguageModel, error: PluginError) -> EngineError {
    let advice = match error {
        PluginError::DeviceLost(_) => return error.into(),
        PluginError::OutOfMemory(_) => {
            "; lower `slots` or `cache_mib` in [tokens] of the manifest, or use a device with more memory"
        }
        _ => "",
    };
    EngineError::unsupported(model.file.display(), format_args!("{error}{advice}"))
}

fn ids(prompt: &Payload) -> Vec<i32> {
    let tensor = prompt.tensors().first();
    tensor.into_iter().flat_map(|tensor| integers(tensor).map(|id| id as i32)).collect()
}
