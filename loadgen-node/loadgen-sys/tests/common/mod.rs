//! System under test that passes samples to a thread, which responds with their index.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "each test uses a part of it"
)]

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
};

use loadgen_sys::{
    Abort, LogSettings, Mode, QuerySampleLibrary, Sample, Samples, Scenario, SystemUnderTest,
    TestSettings, complete, start_test,
};

pub struct Queue {
    sender: Mutex<Option<Sender<Sample>>>,
    names: AtomicUsize,
}

pub struct Library;

pub fn settings() -> TestSettings {
    TestSettings::new(Scenario::Offline, Mode::Accuracy)
}

pub fn answer_in_background() -> (Queue, JoinHandle<usize>) {
    answer_in_background_with(|_| {})
}

/// Like [`answer_in_background`], but calls `before` for each sample before its response.
pub fn answer_in_background_with(
    before: impl Fn(&mut Sample) + Send + 'static,
) -> (Queue, JoinHandle<usize>) {
    let (sender, samples) = mpsc::channel::<Sample>();
    let answering = thread::spawn(move || {
        let mut answered = 0;
        for mut sample in samples {
            before(&mut sample);
            let bytes = (sample.index as i32).to_le_bytes();
            complete([(sample.response_id, &bytes[..])]);
            answered += 1;
        }
        answered
    });
    (Queue { sender: Mutex::new(Some(sender)), names: AtomicUsize::new(0) }, answering)
}

/// Runs an accuracy test in which LoadGen counts tokens, and calls `before` for each sample before its
/// response. Returns the accuracy log and the detail log.
pub fn token_logs(
    scenario: Scenario,
    before: impl Fn(&mut Sample) + Send + 'static,
) -> [String; 2] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (queue, answering) = answer_in_background_with(before);
    let log = LogSettings { outdir: folder.path().display().to_string(), ..Default::default() };
    let mut settings = TestSettings::new(scenario, Mode::Accuracy);
    settings.set("use_token_latencies", "true").expect("a setting of LoadGen");
    start_test(&queue, &Library, &settings, &log, None).expect("runs");
    drop(queue);
    assert_eq!(answering.join().expect("no panic"), 100);
    ["mlperf_log_accuracy.json", "mlperf_log_detail.txt"]
        .map(|name| std::fs::read_to_string(folder.path().join(name)).expect("a log"))
}

impl Queue {
    pub fn closed() -> Self {
        Self { sender: Mutex::new(None), names: AtomicUsize::new(0) }
    }
}

impl SystemUnderTest for Queue {
    fn name(&self) -> Result<String, Abort> {
        Ok(format!("queue {}", 1 + self.names.fetch_add(1, Ordering::SeqCst)))
    }

    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort> {
        let sender = self.sender.lock().expect("no holder panics");
        let Some(sender) = sender.as_ref() else { return Err(Abort("closed".into())) };
        for sample in samples {
            sender.send(sample).map_err(|_| Abort("no thread answers".into()))?;
        }
        Ok(())
    }

    fn flush_queries(&self) -> Result<(), Abort> {
        Ok(())
    }

    fn abandoned(&self, reason: Abort) {
        panic!("{reason}");
    }
}

impl QuerySampleLibrary for Library {
    fn name(&self) -> String {
        "numbers".into()
    }

    fn total_sample_count(&self) -> usize {
        100
    }

    fn performance_sample_count(&self) -> usize {
        100
    }

    fn load_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }

    fn unload_samples(&self, _: &[usize]) -> Result<(), Abort> {
        Ok(())
    }
}
