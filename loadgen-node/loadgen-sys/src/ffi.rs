//! Declarations of `shim/shim.cc`, and nothing else.

use std::ffi::{c_char, c_int, c_void};

/// `mlperf::QuerySample`; its size is asserted in the shim.
#[repr(C)]
pub(crate) struct RawSample {
    pub(crate) id: usize,
    pub(crate) index: usize,
}

/// `mlperf::QuerySampleResponse`; its size is asserted in the shim.
#[repr(C)]
pub(crate) struct RawResponse {
    pub(crate) id: usize,
    pub(crate) data: *const u8,
    pub(crate) size: usize,
    pub(crate) n_tokens: i64,
}

pub(crate) type Sink = unsafe extern "C" fn(to: *mut c_void, text: *const c_char, length: usize);

#[repr(C)]
pub(crate) struct RawSut {
    pub(crate) user: *const c_void,
    pub(crate) name: unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int,
    pub(crate) issue_query:
        unsafe extern "C" fn(*const c_void, *const RawSample, usize, *mut c_void) -> c_int,
    pub(crate) flush_queries: unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int,
    pub(crate) abandoned: unsafe extern "C" fn(*const c_void, *const c_char, usize),
}

#[repr(C)]
pub(crate) struct RawQsl {
    pub(crate) user: *const c_void,
    pub(crate) name: *const c_char,
    pub(crate) total_sample_count: usize,
    pub(crate) performance_sample_count: usize,
    pub(crate) load: unsafe extern "C" fn(*const c_void, *const usize, usize, *mut c_void) -> c_int,
    pub(crate) unload:
        unsafe extern "C" fn(*const c_void, *const usize, usize, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct RawLogSettings {
    pub(crate) outdir: *const c_char,
    pub(crate) enable_trace: bool,
}

/// `mlperf::TestSettings`, always behind a pointer.
#[repr(C)]
pub(crate) struct RawSettings {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub(crate) fn nd_set_text(out: *mut c_void, text: *const c_char, length: usize);
    pub(crate) fn nd_settings_new(scenario: c_int, mode: c_int) -> *mut RawSettings;
    pub(crate) fn nd_settings_clone(settings: *const RawSettings) -> *mut RawSettings;
    pub(crate) fn nd_settings_free(settings: *mut RawSettings);
    pub(crate) fn nd_settings_from_config(
        settings: *mut RawSettings,
        path: *const c_char,
        model: *const c_char,
        scenario: *const c_char,
    ) -> c_int;
    pub(crate) fn nd_settings_audited(
        settings: *const RawSettings,
        path: *const c_char,
        scenario: *const c_char,
    ) -> *mut RawSettings;
    pub(crate) fn nd_settings_mode(settings: *const RawSettings) -> c_int;
    pub(crate) fn nd_settings_set(
        settings: *mut RawSettings,
        name: *const c_char,
        value: *const c_char,
    ) -> c_int;
    pub(crate) fn nd_settings_each(settings: *mut RawSettings, sink: Sink, to: *mut c_void);
    pub(crate) fn nd_min_passing_queries(
        overlatency: u64,
        percentile: f64,
        tolerance: f64,
        confidence: f64,
    ) -> u64;
    pub(crate) fn nd_version(sink: Sink, to: *mut c_void);
    pub(crate) fn nd_git_status(sink: Sink, to: *mut c_void);
    pub(crate) fn nd_file_sha1(sink: Sink, to: *mut c_void);
    pub(crate) fn nd_start_test(
        sut: *const RawSut,
        qsl: *const RawQsl,
        settings: *const RawSettings,
        log: *const RawLogSettings,
        audit_config: *const c_char,
        sink: Sink,
        to: *mut c_void,
    ) -> c_int;
    pub(crate) fn nd_exit_now(code: c_int) -> !;
    pub(crate) fn nd_end_from_outside(reason: *const c_char, length: usize) -> c_int;
    pub(crate) fn nd_first_token(responses: *mut RawResponse, count: usize);
    pub(crate) fn nd_complete(responses: *mut RawResponse, count: usize);
}

/// Collects the texts that `call` passes to its sink.
pub(crate) fn collect<T>(call: impl FnOnce(Sink, *mut c_void) -> T) -> Vec<String> {
    collect_with(call).1
}

/// Like [`collect`], but also returns the value of `call`.
pub(crate) fn collect_with<T>(call: impl FnOnce(Sink, *mut c_void) -> T) -> (T, Vec<String>) {
    let mut texts: Vec<String> = Vec::new();
    let returned = call(push_text, (&raw mut texts).cast());
    (returned, texts)
}

/// SAFETY (of the type `Sink`): `to` is the `Vec<String>` of `collect_with`, alive and otherwise
/// unused while its `call` runs; `text` points at `length` readable bytes.
unsafe extern "C" fn push_text(to: *mut c_void, text: *const c_char, length: usize) {
    // SAFETY: see above.
    let (texts, bytes) = unsafe {
        (&mut *to.cast::<Vec<String>>(), std::slice::from_raw_parts(text.cast::<u8>(), length))
    };
    texts.push(String::from_utf8_lossy(bytes).into_owned());
}
