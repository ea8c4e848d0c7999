//! Start of a test, and LoadGen's callbacks.

use std::{
    any::Any,
    ffi::{c_char, c_int, c_void},
    num::NonZeroU64,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex, TryLockError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use crate::{
    ffi,
    responses::{NO_TEST, OpenTest, ResponseId, current_test, open_test, take_misuse},
    settings::{LogSettings, SettingsError, TestSettings, c_string},
};

/// Reason why a callback ends the test. LoadGen's detail log shows the text as an error.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct Abort(pub String);

/// System under test, as LoadGen calls it. All calls come from the thread of [`start_test`], except
/// `issue_query` if LoadGen issues from several threads (`server_num_issue_query_threads`).
pub trait SystemUnderTest: Sync {
    /// Returns the system's name. LoadGen calls it once at the start, timed, and once for each
    /// performance summary.
    fn name(&self) -> Result<String, Abort>;

    /// Accepts the samples of a query. The time spent here delays later queries.
    fn issue_query(&self, samples: Samples<'_>) -> Result<(), Abort>;

    /// Reports that no more samples follow in this series.
    fn flush_queries(&self) -> Result<(), Abort>;

    /// Reports that `issue_query` failed on a thread from which LoadGen cannot be stopped. The
    /// callee has to end the test with [`end_from_outside`] and the process with [`exit_now`]:
    /// [`start_test`] will not return.
    fn abandoned(&self, reason: Abort);
}

/// Library of samples. All calls come from the thread of [`start_test`], untimed.
pub trait QuerySampleLibrary: Sync {
    /// Returns the name of the data set.
    fn name(&self) -> String;

    /// Returns the number of samples in the library.
    fn total_sample_count(&self) -> usize;

    /// Returns the number of samples that fit into memory together.
    fn performance_sample_count(&self) -> usize;

    /// Loads samples into memory. In MultiStream an index may occur more than once.
    fn load_samples(&self, indices: &[usize]) -> Result<(), Abort>;

    /// Unloads samples.
    fn unload_samples(&self, indices: &[usize]) -> Result<(), Abort>;
}

/// Sample of a query.
#[derive(Debug)]
pub struct Sample {
    /// Right to complete the sample.
    pub response_id: ResponseId,
    /// Index of the sample in the [`QuerySampleLibrary`].
    pub index: usize,
}

/// Samples of one query, each yielded once.
pub struct Samples<'a> {
    raw: std::slice::Iter<'a, ffi::RawSample>,
    test: OpenTest,
}

impl std::fmt::Debug for Samples<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Samples({} left)", self.raw.len())
    }
}

impl Iterator for Samples<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let raw = self.raw.next()?;
        Some(Sample { response_id: self.test.response_id(raw.id), index: raw.index })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl ExactSizeIterator for Samples<'_> {}

/// Reason why [`start_test`] has no result: that of the callback that ended the test, or why LoadGen
/// cannot run another test in this process.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StartTestError(pub String);

impl From<SettingsError> for StartTestError {
    fn from(error: SettingsError) -> Self {
        Self(error.to_string())
    }
}

/// Locked while a test runs. True once a test was aborted.
static LOADGEN_SPENT: Mutex<bool> = Mutex::new(false);

/// Set while LoadGen is in `StartTest`.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Set once LoadGen's threads for issuing queries were used: they can be used once.
static ISSUE_THREADS_USED: AtomicBool = AtomicBool::new(false);

/// Runs one test; returns when LoadGen has written its log files.
///
/// The file `audit_config` overrides the settings (compliance tests).
pub fn start_test(
    sut: &dyn SystemUnderTest,
    qsl: &dyn QuerySampleLibrary,
    settings: &TestSettings,
    log: &LogSettings,
    audit_config: Option<&Path>,
) -> Result<(), StartTestError> {
    let refused = |why: &str| Err(StartTestError(why.into()));
    let mut spent = match LOADGEN_SPENT.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            return refused("another test is running in this process");
        }
    };
    if *spent {
        // LoadGen holds pointers into that test.
        return refused("an earlier test of this process was aborted; start a new process");
    }
    if settings.has_issue_threads() && ISSUE_THREADS_USED.swap(true, Ordering::SeqCst) {
        // LoadGen does not release its issue threads.
        return refused(
            "a test with server_num_issue_query_threads ran in this process; start a new one for another test",
        );
    }
    let (outdir, qsl_name) = (c_string(&log.outdir)?, c_string(&for_log(&qsl.name()))?);
    let tokens = match audit_config {
        Some(path) => settings.audited(path)?.answer_tokens(),
        None => settings.answer_tokens(),
    };
    // No file has an empty name, so LoadGen reads none.
    let audit_config = c_string(&audit_config.unwrap_or(Path::new("")).to_string_lossy())?;
    let raw_log = ffi::RawLogSettings { outdir: outdir.as_ptr(), enable_trace: log.enable_trace };
    let raw_sut = ffi::RawSut {
        user: (&raw const sut).cast(),
        name: sut_name,
        issue_query: sut_issue_query,
        flush_queries: sut_flush_queries,
        abandoned: sut_abandoned,
    };
    let raw_qsl = ffi::RawQsl {
        user: (&raw const qsl).cast(),
        name: qsl_name.as_ptr(),
        total_sample_count: qsl.total_sample_count(),
        performance_sample_count: qsl.performance_sample_count(),
        load: qsl_load,
        unload: qsl_unload,
    };
    static TESTS_STARTED: AtomicU32 = AtomicU32::new(0);
    let number = 1 + TESTS_STARTED.fetch_add(1, Ordering::SeqCst);
    open_test(OpenTest { number, tokens });
    // LoadGen measures from the time at which a query was due, and Linux by default wakes a thread
    // up to 50 us late. The threads that LoadGen starts inherit this setting.
    let _ = rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN));
    RUNNING.store(true, Ordering::SeqCst);
    let (outcome, reason) = ffi::collect_with(|sink, to| {
        // SAFETY: everything pointed to lives in this frame until the call returns; the callbacks
        // match the `user` pointers beside them; LoadGen runs one test at a time (`spent` is
        // locked).
        unsafe {
            ffi::nd_start_test(
                &raw const raw_sut,
                &raw const raw_qsl,
                settings.as_ptr(),
                &raw const raw_log,
                audit_config.as_ptr(),
                sink,
                to,
            )
        }
    });
    RUNNING.store(false, Ordering::SeqCst);
    open_test(NO_TEST);
    *spent = outcome != 0;
    match outcome {
        0 => take_misuse().map_or(Ok(()), refused),
        _ => Err(StartTestError(reason.concat())),
    }
}

/// Ends the running test from another thread, for a LoadGen that makes no call that could end it
/// (it may prepare queries for minutes): LoadGen's log gets the reason as an error, and its files
/// are closed.
///
/// Returns true if this call ended the test, false if no test runs or it is already ending. If
/// true, end the process with [`exit_now`]: LoadGen's own thread still runs, and nothing that it
/// does now counts. The call waits for LoadGen's logging thread, which may have much to write: call
/// it where that does not matter.
pub fn end_from_outside(reason: &str) -> bool {
    if !RUNNING.load(Ordering::SeqCst) {
        return false;
    }
    open_test(NO_TEST);
    let reason = for_log(reason);
    // SAFETY: the text is readable during the call, which copies it; the shim ends LoadGen only
    // once.
    unsafe { ffi::nd_end_from_outside(reason.as_ptr().cast(), reason.len()) == 0 }
}

/// Runs a callback's body. A failure or a panic closes the test for responses and passes the reason
/// to C++.
fn guarded(out: *mut c_void, body: impl FnOnce() -> Result<(), Abort>) -> c_int {
    let reason = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => match take_misuse() {
            None => return 0,
            Some(wrong) => format!("{wrong}; this is a bug in netdiv"),
        },
        Ok(Err(Abort(reason))) => reason,
        Err(panic) => format!("internal error: {}", panic_text(panic.as_ref())),
    };
    open_test(NO_TEST);
    set_text(out, &reason);
    1
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic")
}

/// Ends the process at once, whatever LoadGen's threads do. An ordinary exit would run LoadGen's
/// destructors, which end the process with another code while its threads run.
pub fn exit_now(code: u8) -> ! {
    // Printed lines must be seen; an error here can no longer be reported.
    let _ = std::io::Write::flush(&mut std::io::stdout());
    // SAFETY: `_exit` runs nothing of this process any more.
    unsafe { ffi::nd_exit_now(c_int::from(code)) }
}

/// Replaces characters that LoadGen would write unescaped into its JSON log: a quote would leave a
/// line that no checker can read.
fn for_log(text: &str) -> String {
    let safe = |c: char| match c {
        '"' => '\'',
        '\\' => '/',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(safe).collect()
}

fn set_text(out: *mut c_void, text: &str) {
    let text = for_log(text);
    // SAFETY: `out` is the std::string that the shim passed to the current callback; it copies the
    // text.
    unsafe { ffi::nd_set_text(out, text.as_ptr().cast(), text.len()) }
}

/// SAFETY (of all callbacks): LoadGen calls them during `nd_start_test` only, with the `user`
/// pointer that `start_test` put beside them, and with arrays of the passed length that live until
/// they return.
unsafe extern "C" fn sut_name(user: *const c_void, out: *mut c_void) -> c_int {
    // SAFETY: see above.
    let sut = unsafe { *user.cast::<&dyn SystemUnderTest>() };
    guarded(out, || {
        set_text(out, &sut.name()?);
        Ok(())
    })
}

unsafe extern "C" fn sut_issue_query(
    user: *const c_void,
    samples: *const ffi::RawSample,
    count: usize,
    out: *mut c_void,
) -> c_int {
    // SAFETY: see `sut_name`; an empty vector may have a null pointer.
    let (sut, samples) = unsafe { (*user.cast::<&dyn SystemUnderTest>(), slice(samples, count)) };
    guarded(out, || sut.issue_query(Samples { raw: samples.iter(), test: current_test() }))
}

unsafe extern "C" fn sut_flush_queries(user: *const c_void, out: *mut c_void) -> c_int {
    // SAFETY: see `sut_name`.
    let sut = unsafe { *user.cast::<&dyn SystemUnderTest>() };
    guarded(out, || sut.flush_queries())
}

unsafe extern "C" fn sut_abandoned(user: *const c_void, reason: *const c_char, length: usize) {
    // SAFETY: see `sut_name`; the text is readable until this returns.
    let (sut, reason) =
        unsafe { (*user.cast::<&dyn SystemUnderTest>(), slice(reason.cast::<u8>(), length)) };
    let reason = Abort(String::from_utf8_lossy(reason).into_owned());
    // A panic must not reach C++; the thread that it happened on does nothing more either way.
    let _ = catch_unwind(AssertUnwindSafe(|| sut.abandoned(reason)));
}

unsafe extern "C" fn qsl_load(
    user: *const c_void,
    indices: *const usize,
    count: usize,
    out: *mut c_void,
) -> c_int {
    // SAFETY: see `sut_name`.
    let (qsl, indices) =
        unsafe { (*user.cast::<&dyn QuerySampleLibrary>(), slice(indices, count)) };
    guarded(out, || qsl.load_samples(indices))
}

unsafe extern "C" fn qsl_unload(
    user: *const c_void,
    indices: *const usize,
    count: usize,
    out: *mut c_void,
) -> c_int {
    // SAFETY: see `sut_name`.
    let (qsl, indices) =
        unsafe { (*user.cast::<&dyn QuerySampleLibrary>(), slice(indices, count)) };
    guarded(out, || qsl.unload_samples(indices))
}

/// SAFETY: `start` points at `length` values that outlive `'a`, or `length` is 0.
unsafe fn slice<'a, T>(start: *const T, length: usize) -> &'a [T] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start, length) }
}
