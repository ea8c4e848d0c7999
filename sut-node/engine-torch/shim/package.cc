// Packages: networks that AOTInductor compiled ahead of time. tch lacks them.
//
// Every function returns null, or an error text that the caller frees with free().

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "guarded.h"

using torch::inductor::AOTIModelContainerRunner;

namespace {

// Returns the number of times that memory of a GPU could not be allocated.
int64_t times_full(c10::Device device) {
    return device.is_cpu() ? 0 : c10::getDeviceAllocator(device.type())->getDeviceStats(device.index()).num_ooms;
}

struct Package {
    explicit Package(c10::Device device) : device(device) {}

    c10::Device device;
    // `times_full` after the last failure.
    std::atomic<int64_t> full{0};
    // Tensors of the caller that the library uses as weights, by its own names for them.
    std::unordered_map<std::string, at::Tensor> shared;
    std::unique_ptr<AOTIModelContainerRunner> runner;
    // The first run prepares what later ones only read: folded constants, and a GPU's kernels.
    std::mutex first;
    std::atomic<bool> has_run{false};
};

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

extern "C" {

// Locates the library in the file of a package, as bytes of the file, and returns its metadata as JSON, which the
// caller frees with free().
char *netdiv_package_find(const char *path, int64_t *offset, uint64_t *size, char **metadata) {
    return guarded([&] {
        caffe2::serialize::PyTorchStreamReader reader{std::string(path)};
        std::string library, facts;
        for (const std::string &name : reader.getAllRecords()) {
            TORCH_CHECK(!ends_with(name, ".wrapper.json"), "it calls operators that have no C interface");
            if (ends_with(name, ".wrapper.so")) {
                TORCH_CHECK(library.empty(), "it contains several libraries");
                library = name;
            }
            if (ends_with(name, ".wrapper_metadata.json"))
                facts = name;
        }
        TORCH_CHECK(!library.empty() && !facts.empty(), "it contains no compiled library with metadata");
        *offset = static_cast<int64_t>(reader.getRecordOffset(library));
        *size = reader.getRecordSize(library);
        TORCH_CHECK(reader.getRecordSize(facts) <= 1 << 20, "its metadata is too large");
        auto [text, length] = reader.getRecord(facts);
        TORCH_CHECK(memchr(text.get(), 0, length) == nullptr, "its metadata contains a zero byte");
        char *copy = strndup(static_cast<const char *>(text.get()), length);
        TORCH_CHECK(copy != nullptr, "out of memory");
        *metadata = copy;
    });
}

// Returns the number that identifies the contents of a TorchScript file, as text that the caller frees with free().
char *netdiv_package_script_id(const char *path, char **id) {
    return guarded([&] { *id = strdup(caffe2::serialize::PyTorchStreamReader{std::string(path)}.serializationId().c_str()); });
}

// Loads a library onto a device, whose kind is `kind`.
char *netdiv_package_load(const char *library, const char *kind, const char *device, Package **package) {
    return guarded([&] {
        auto &registry = torch::inductor::getAOTIModelRunnerRegistry();
        auto make = registry.find(kind);
        TORCH_CHECK(make != registry.end(), "this libtorch runs no packages on ", kind);
        auto loaded = std::make_unique<Package>(c10::Device(device));
        // Several threads run the package at the same time, so that it must not queue them.
        loaded->runner = make->second(library, 1, device, "", /*run_single_threaded=*/true);
        *package = loaded.release();
    });
}

void netdiv_package_free(Package *package) {
    delete package;
}

// Uses the caller's tensors as the weights of the library, which contains none itself.
char *netdiv_package_share(Package *package, const char *const *names, at::Tensor *const *tensors, size_t count) {
    return guarded([&] {
        std::unordered_map<std::string, at::Tensor> given;
        for (size_t i = 0; i < count; ++i)
            given.emplace(names[i], *tensors[i]);
        for (const auto &[own, name] : package->runner->getConstantNamesToOriginalFQNs()) {
            auto found = given.find(name);
            TORCH_CHECK(found != given.end(), "the model file has no tensor ", name);
            package->shared.emplace(own, found->second);
        }
        package->runner->update_constant_buffer(
            package->shared, /*use_inactive=*/false, /*validate_full_updates=*/true, /*user_managed=*/true);
    });
}

// Runs a package on this thread's current stream. Passes each output, which the caller frees, to `take`.
char *netdiv_package_run(Package *package, at::Tensor *const *inputs, size_t count, void *outputs,
                         void (*take)(void *, at::Tensor *)) {
    return guarded([&] {
        std::vector<at::Tensor> given;
        for (size_t i = 0; i < count; ++i)
            given.push_back(*inputs[i]);
        std::unique_lock<std::mutex> alone(package->first, std::defer_lock);
        if (!package->has_run)
            alone.lock();
        try {
            for (at::Tensor &output : package->runner->boxed_run(std::move(given)))
                take(outputs, new at::Tensor(std::move(output)));
        } catch (...) {
            // AOTInductor only logs the reason.
            int64_t full = times_full(package->device);
            TORCH_CHECK(full == package->full.exchange(full), "out of memory: the package cannot allocate its tensors");
            throw;
        }
        package->has_run = true;
    });
}

}  // extern "C"
