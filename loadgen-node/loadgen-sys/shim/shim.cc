// The border between Rust and LoadGen: plain C types in both directions. No exception crosses it.
//
// A callback that fails ends the test from inside: LoadGen's own log gets the reason as an error,
// LoadGen writes its files (AbortTest), and an exception of ours unwinds StartTest. Nothing else
// stops LoadGen before its minimum duration. No sample is completed without a response.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include "early_stopping.h"
#include "loadgen.h"
#include "logging.h"
#include "query_dispatch_library.h"
#include "query_sample.h"
#include "query_sample_library.h"
#include "test_settings.h"
#include "version.h"

extern "C" {

// Passes a text to Rust: `sink` is called once for each text, or not at all.
typedef void (*nd_sink)(void* to, const char* text, size_t length);

// The callbacks return 0, or another number after writing the reason into `out`.
struct nd_sut {
  void* user;
  int (*name)(void* user, void* out);
  int (*issue_query)(void* user, const mlperf::QuerySample* samples, size_t count, void* out);
  int (*flush_queries)(void* user, void* out);
  // Reports that a query could not be issued, and that LoadGen cannot be stopped from the thread
  // that issued it.
  void (*abandoned)(void* user, const char* reason, size_t length);
};

struct nd_qsl {
  void* user;
  const char* name;
  size_t total_sample_count;
  size_t performance_sample_count;
  int (*load)(void* user, const size_t* indices, size_t count, void* out);
  int (*unload)(void* user, const size_t* indices, size_t count, void* out);
};

struct nd_log_settings {
  const char* outdir;
  bool enable_trace;
};

}  // extern "C"

namespace {

struct Aborted {
  std::string reason;
};

// Set once LoadGen is being ended: by a callback, or from outside by a thread that then ends the
// process.
std::atomic_flag ended = ATOMIC_FLAG_INIT;

// Writes the reason into LoadGen's log and closes its files. Returns false if the test is already
// ending.
bool End(const std::string& reason) {
  if (ended.test_and_set()) return false;
  mlperf::LogDetail([reason](mlperf::AsyncDetail& detail) {
    MLPERF_LOG_ERROR(detail, "error_runtime", reason);
  });
  mlperf::AbortTest();
  return true;
}

[[noreturn]] void WaitForTheEnd() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void Abort(const std::string& reason) {
  // If this fails, another thread is ending the process, and there is nothing left to do here.
  if (!End(reason)) WaitForTheEnd();
  throw Aborted{reason};
}

// LoadGen prepares all queries before it issues the first; too many exhaust the memory. Before the
// stack is unwound, the test can be ended as by a callback. Afterwards LoadGen's logging thread
// would write into streams that no longer exist.
struct OutOfMemory : std::bad_alloc {};

// The thread that StartTest runs on.
std::thread::id test_thread;

// Set once LoadGen has opened its logs: it asks for the name right afterwards. Before that, its
// logging thread writes to standard error.
std::atomic<bool> logs_are_open{false};

void OnOutOfMemory() {
  std::set_new_handler(nullptr);
  if (std::this_thread::get_id() != test_thread || !logs_are_open) throw std::bad_alloc();
  if (!End("netdiv: LoadGen ran out of memory; ask for fewer queries")) throw std::bad_alloc();
  throw OutOfMemory();
}

// Stops LoadGen's logging thread. If the process exits while it runs, SIGABRT ends the process.
void StopLoggingThread() {
  try {
    mlperf::logging::GlobalLogger().StopIOThread();
  } catch (const std::system_error&) {
    // The thread was never started.
  }
}

// Ends the process for an exception on one of LoadGen's threads, such as its logging thread.
[[noreturn]] void OnTerminate() {
  const char* what = "unknown exception";
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  std::fprintf(stderr, "LoadGen failed: %s\n", what);
  _exit(3);
}

class Sut : public mlperf::QueryDispatchLibrary {
 public:
  explicit Sut(const nd_sut& callbacks) : callbacks_(callbacks) {}

  const std::string& Name() override {
    logs_are_open = true;
    std::string answer;
    const int failed = callbacks_.name(callbacks_.user, &answer);
    if (failed) Abort(answer);
    // LoadGen's logging thread reads the string later, so each name keeps its address.
    names_.push_back(answer);
    return names_.back();
  }

  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    std::string reason;
    if (callbacks_.issue_query(callbacks_.user, samples.data(), samples.size(), &reason)) {
      if (std::this_thread::get_id() == test_thread) Abort(reason);
      // An exception here would end only this thread, and StartTest would wait for it forever. The
      // callee ends the test from outside, and then the process.
      callbacks_.abandoned(callbacks_.user, reason.data(), reason.size());
      WaitForTheEnd();
    }
  }

  void FlushQueries() override {
    std::string reason;
    if (callbacks_.flush_queries(callbacks_.user, &reason)) Abort(reason);
  }

 private:
  nd_sut callbacks_;
  std::deque<std::string> names_;
};

// The threads from which LoadGen issues queries in the scenario Server, if it is asked to use more
// than its own (server_num_issue_query_threads). They end with the test.
class IssueThreads {
 public:
  explicit IssueThreads(const mlperf::TestSettings& settings) {
    if (settings.scenario != mlperf::TestScenario::Server) return;
    try {
      for (uint64_t n = 0; n < settings.server_num_issue_query_threads; ++n) {
        threads_.emplace_back([this] {
          ++begun_;
          mlperf::RegisterIssueQueryThread();
        });
      }
    } catch (...) {
      // The process ends with the reason; a joinable thread would end it without one.
      for (auto& thread : threads_) thread.detach();
      throw;
    }
    // LoadGen counts the threads once, and again only after ten seconds: all must be there the
    // first time.
    while (begun_ < threads_.size()) std::this_thread::yield();
    if (!threads_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  void Join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  // Only threads of a test that was ended early are left. They have no work and do not access the
  // test.
  ~IssueThreads() {
    for (auto& thread : threads_) thread.detach();
  }

 private:
  std::vector<std::thread> threads_;
  std::atomic<size_t> begun_{0};
};

class Qsl : public mlperf::QuerySampleLibrary {
 public:
  explicit Qsl(const nd_qsl& callbacks) : callbacks_(callbacks), name_(callbacks.name) {}

  // The first three are also called from LoadGen's logging thread: constants, no call into Rust.
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return callbacks_.total_sample_count; }
  size_t PerformanceSampleCount() override { return callbacks_.performance_sample_count; }

  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    std::string reason;
    if (callbacks_.load(callbacks_.user, samples.data(), samples.size(), &reason)) Abort(reason);
  }

  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>& samples) override {
    std::string reason;
    if (callbacks_.unload(callbacks_.user, samples.data(), samples.size(), &reason)) Abort(reason);
  }

 private:
  nd_qsl callbacks_;
  std::string name_;
};

bool Parse(const std::string& text, bool* value) {
  if (text != "true" && text != "false") return false;
  *value = text == "true";
  return true;
}

bool Parse(const std::string& text, uint64_t* value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  *value = std::strtoull(text.c_str(), nullptr, 10);
  return errno == 0;
}

bool Parse(const std::string& text, int* value) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text.c_str(), &end, 10);
  *value = static_cast<int>(number);
  return !text.empty() && *end == '\0' && errno == 0 && *value == number;
}

bool Parse(const std::string& text, double* value) {
  char* end = nullptr;
  errno = 0;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && errno == 0;
}

std::string Show(bool value) { return value ? "true" : "false"; }
std::string Show(uint64_t value) { return std::to_string(value); }
std::string Show(int value) { return std::to_string(value); }
std::string Show(double value) { return std::to_string(value); }

// LoadGen has the field from 6.0.6 on.
template <typename Settings, typename Visit>
auto VisitAccuracyCount(Settings& s, Visit& visit, int)
    -> decltype(s.accuracy_sample_count_override, void()) {
  visit("accuracy_sample_count_override", s.accuracy_sample_count_override);
}
template <typename Settings, typename Visit>
void VisitAccuracyCount(Settings&, Visit&, long) {}

// Calls `visit(name, field)` for every field of TestSettings except the two enumerations.
template <typename Visit>
void ForEachField(mlperf::TestSettings& s, Visit visit) {
#define FIELD(name) visit(#name, s.name)
  FIELD(single_stream_expected_latency_ns);
  FIELD(single_stream_target_latency_percentile);
  FIELD(multi_stream_expected_latency_ns);
  FIELD(multi_stream_target_latency_percentile);
  FIELD(multi_stream_samples_per_query);
  FIELD(server_target_qps);
  FIELD(server_target_latency_ns);
  FIELD(server_target_latency_percentile);
  FIELD(server_coalesce_queries);
  FIELD(server_find_peak_qps_decimals_of_precision);
  FIELD(server_find_peak_qps_boundary_step_size);
  FIELD(server_max_async_queries);
  FIELD(server_num_issue_query_threads);
  FIELD(offline_expected_qps);
  FIELD(sample_concatenate_permutation);
  FIELD(min_duration_ms);
  FIELD(max_duration_ms);
  FIELD(min_query_count);
  FIELD(max_query_count);
  FIELD(qsl_rng_seed);
  FIELD(sample_index_rng_seed);
  FIELD(schedule_rng_seed);
  FIELD(accuracy_log_rng_seed);
  FIELD(accuracy_log_probability);
  FIELD(accuracy_log_sampling_target);
  FIELD(test05);
  FIELD(test05_qsl_rng_seed);
  FIELD(test05_sample_index_rng_seed);
  FIELD(test05_schedule_rng_seed);
  FIELD(print_timestamps);
  FIELD(performance_issue_unique);
  FIELD(performance_issue_same);
  FIELD(performance_issue_same_index);
  FIELD(performance_sample_count_override);
  FIELD(use_token_latencies);
  FIELD(server_ttft_latency);
  FIELD(server_tpot_latency);
  FIELD(infer_token_latencies);
  FIELD(token_latency_scaling_factor);
#undef FIELD
  VisitAccuracyCount(s, visit, 0);
}

}  // namespace

extern "C" {

static_assert(sizeof(mlperf::QuerySample) == 2 * sizeof(size_t), "must match ffi.rs");
static_assert(sizeof(mlperf::QuerySampleResponse) == 4 * sizeof(size_t), "must match ffi.rs");

void nd_set_text(void* out, const char* text, size_t length) {
  static_cast<std::string*>(out)->assign(text, length);
}

mlperf::TestSettings* nd_settings_new(int scenario, int mode) {
  auto* settings = new mlperf::TestSettings();
  settings->scenario = static_cast<mlperf::TestScenario>(scenario);
  settings->mode = static_cast<mlperf::TestMode>(mode);
  settings->token_latency_scaling_factor = 1;
  return settings;
}

mlperf::TestSettings* nd_settings_clone(const mlperf::TestSettings* settings) {
  return new mlperf::TestSettings(*settings);
}

void nd_settings_free(mlperf::TestSettings* settings) { delete settings; }

// If `path` is null, only LoadGen's embedded mlperf.conf is read.
int nd_settings_from_config(mlperf::TestSettings* settings, const char* path, const char* model,
                            const char* scenario) {
  try {
    const auto wanted_mode = settings->mode;
    const int failed = path == nullptr ? settings->FromConfig("", model, scenario, 0)
                                       : settings->FromConfig(path, model, scenario);
    settings->mode = wanted_mode;
    return failed;
  } catch (...) {
    return -1;
  }
}

// Returns the settings that StartTest uses with this audit.config; null if it cannot read the file.
mlperf::TestSettings* nd_settings_audited(const mlperf::TestSettings* settings, const char* path,
                                          const char* scenario) {
  try {
    auto audited = std::make_unique<mlperf::TestSettings>(*settings);
    return audited->FromConfig(path, "*", scenario, 2) == 0 ? audited.release() : nullptr;
  } catch (...) {
    return nullptr;
  }
}

// Returns the mode of the test that StartTest runs with these settings.
int nd_settings_mode(const mlperf::TestSettings* settings) {
  const auto mode = settings->test05 ? mlperf::TestMode::PerformanceOnly : settings->mode;
  return static_cast<int>(mode);
}

// Returns 0: the field is set; 1: unknown field; 2: the value does not have the field's type.
int nd_settings_set(mlperf::TestSettings* settings, const char* name, const char* value) {
  int outcome = 1;
  ForEachField(*settings, [&](const char* field, auto& current) {
    if (std::strcmp(field, name) != 0) return;
    auto parsed = current;
    outcome = Parse(value, &parsed) ? 0 : 2;
    if (outcome == 0) current = parsed;
  });
  return outcome;
}

void nd_settings_each(mlperf::TestSettings* settings, nd_sink sink, void* to) {
  ForEachField(*settings, [&](const char* field, auto& current) {
    const std::string line = std::string(field) + "=" + Show(current);
    sink(to, line.data(), line.size());
  });
}

uint64_t nd_min_passing_queries(uint64_t overlatency, double percentile, double tolerance,
                                double confidence) {
  mlperf::loadgen::MinPassingQueriesFinder finder;
  return finder(overlatency, percentile, tolerance, confidence);
}

void nd_git_status(nd_sink sink, void* to) {
  const std::string& text = mlperf::LoadgenGitStatus();
  sink(to, text.data(), text.size());
}

void nd_file_sha1(nd_sink sink, void* to) {
  const std::string& text = mlperf::LoadgenSha1OfFiles();
  sink(to, text.data(), text.size());
}

void nd_version(nd_sink sink, void* to) {
  const std::string text = mlperf::LoadgenVersion() + " @ " + mlperf::LoadgenGitRevision();
  sink(to, text.data(), text.size());
}

// Returns 0: the test ran to its end; 1: the test was ended, and `sink` received the reason.
int nd_start_test(const nd_sut* sut_callbacks, const nd_qsl* qsl_callbacks,
                  const mlperf::TestSettings* settings, const nd_log_settings* log,
                  const char* audit_config, nd_sink sink, void* to) noexcept {
  std::string what = "unknown exception";
  try {
    Sut sut(*sut_callbacks);
    Qsl qsl(*qsl_callbacks);
    mlperf::LogSettings log_settings;
    log_settings.log_output.outdir = log->outdir;
    log_settings.enable_trace = log->enable_trace;
    test_thread = std::this_thread::get_id();
    logs_are_open = false;
    std::set_terminate(OnTerminate);
    std::set_new_handler(OnOutOfMemory);
    IssueThreads issue_threads(*settings);
    mlperf::StartTest(&sut, &qsl, *settings, log_settings, audit_config);
    std::set_new_handler(nullptr);
    if (!logs_are_open) {
      // LoadGen has reported the error to standard error, and returned.
      StopLoggingThread();
      const std::string reason = "LoadGen cannot open its logs";
      sink(to, reason.data(), reason.size());
      return 1;
    }
    issue_threads.Join();
    return 0;
  } catch (const Aborted& aborted) {
    std::set_new_handler(nullptr);
    sink(to, aborted.reason.data(), aborted.reason.size());
    return 1;
  } catch (const OutOfMemory&) {
    const std::string reason = "LoadGen ran out of memory; ask for fewer queries";
    sink(to, reason.data(), reason.size());
    return 1;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  std::set_new_handler(nullptr);
  if (!logs_are_open) {
    StopLoggingThread();
    const std::string reason = "LoadGen cannot start its test: " + what;
    sink(to, reason.data(), reason.size());
    return 1;
  }
  // LoadGen failed by itself and left its logging thread running on streams that no longer exist:
  // the process cannot continue.
  std::fprintf(stderr, "LoadGen failed: %s\n", what.c_str());
  _exit(3);
}

// Ends the process at once, without destructors: LoadGen's destructors would end it with another
// code while its threads run.
void nd_exit_now(int code) noexcept { _exit(code); }

// Ends the test from a thread that is not LoadGen's; the caller must then end the process.
// Returns 0: LoadGen's files are closed; 1: the test is already ending.
int nd_end_from_outside(const char* reason, size_t length) noexcept {
  return End(std::string(reason, length)) ? 0 : 1;
}

// The functions below must not throw into Rust. If LoadGen runs out of memory, no run is left to
// save.
void nd_first_token(mlperf::QuerySampleResponse* responses, size_t count) noexcept {
  mlperf::FirstTokenComplete(responses, count);
}

void nd_complete(mlperf::QuerySampleResponse* responses, size_t count) noexcept {
  mlperf::QuerySamplesComplete(responses, count);
}

}  // extern "C"
