// Functions that tch lacks: streams, events, pinned memory and non-blocking copies. The shim uses
// only device-generic parts of libtorch (c10::Stream, c10::Event, VirtualGuardImpl), so that it
// links and runs without CUDA.
//
// Every function returns null, or an error text that the caller frees with free().

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/codegen/fuser/interface.h>

#include <malloc.h>

#include <memory>
#include <vector>

#include "guarded.h"

namespace {

struct Slot {
    c10::Event copied;
    c10::Event done;
};

// Two streams of one device: one copies batches, the other one computes them. Callers set the
// device first. Otherwise CUDA would switch back to device 0 afterwards, and create a context of
// half a gigabyte there.
struct Pipeline {
    c10::impl::VirtualGuardImpl guard;
    c10::Stream copying;
    c10::Stream computing;
    std::vector<Slot> slots;

    Pipeline(c10::Device device, size_t count)
        : guard(device.type()),
          copying(guard.getStreamFromGlobalPool(device)),
          computing(guard.getStreamFromGlobalPool(device)) {
        for (size_t slot = 0; slot < count; ++slot)
            slots.push_back(Slot{c10::Event(device.type()), c10::Event(device.type())});
    }
};

// Directs this thread's work to a stream; the destructor restores the previous stream.
struct OnStream {
    c10::OptionalDeviceGuard device;
    c10::OptionalStreamGuard stream;

    explicit OnStream(c10::Stream stream) : device(stream.device()), stream(stream) {}
};

// Directs this thread's work to a pipeline's streams, first to the copying one.
struct Entered {
    Pipeline &pipeline;
    OnStream on;

    explicit Entered(Pipeline &pipeline) : pipeline(pipeline), on(pipeline.copying) {}
};

// A stream, and a mark in its work.
struct Stream {
    c10::Stream stream;
    c10::Event mark;

    explicit Stream(c10::Device device)
        : stream(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)), mark(device.type()) {}
};

}  // namespace

extern "C" {

// Allocates `bytes` bytes of memory that the device reads directly.
char *netdiv_pinned(int64_t bytes, at::Tensor **tensor) {
    return guarded([&] {
        auto options = at::TensorOptions().dtype(at::kByte).pinned_memory(true);
        *tensor = new at::Tensor(at::empty({bytes}, options));
    });
}

// Copies without waiting, where possible.
char *netdiv_copy(at::Tensor *to, const at::Tensor *from) {
    return guarded([&] { to->copy_(*from, /*non_blocking=*/true); });
}

char *netdiv_pipeline_new(int index, size_t slots, Pipeline **pipeline) {
    return guarded([&] {
        c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
        c10::OptionalDeviceGuard guard(device);
        *pipeline = new Pipeline(device, slots);
    });
}

void netdiv_pipeline_free(Pipeline *pipeline) {
    c10::OptionalDeviceGuard guard(pipeline->copying.device());
    delete pipeline;
}

// Directs this thread's work to the copying stream.
char *netdiv_pipeline_enter(Pipeline *pipeline, Entered **entered) {
    return guarded([&] { *entered = new Entered(*pipeline); });
}

// Directs this thread's work to the computing stream, which waits for the copies of this slot.
char *netdiv_pipeline_compute(Entered *entered, size_t slot) {
    return guarded([&] {
        Pipeline &pipeline = entered->pipeline;
        pipeline.slots.at(slot).copied.record(pipeline.copying);
        pipeline.slots.at(slot).copied.block(pipeline.computing);
        entered->on.stream.reset_stream(pipeline.computing);
    });
}

// Marks the end of the slot's work on both streams, and restores the thread's device and stream.
char *netdiv_pipeline_leave(Entered *entered, size_t slot) {
    std::unique_ptr<Entered> use(entered);
    Pipeline &pipeline = entered->pipeline;
    return guarded([&] {
        pipeline.slots.at(slot).copied.record(pipeline.copying);
        pipeline.slots.at(slot).copied.block(pipeline.computing);
        pipeline.slots.at(slot).done.record(pipeline.computing);
    });
}

// Waits for the end of the slot's work. Another thread may begin work of another slot meanwhile.
char *netdiv_pipeline_wait(Pipeline *pipeline, size_t slot) {
    return guarded([&] {
        c10::OptionalDeviceGuard guard(pipeline->copying.device());
        pipeline->slots.at(slot).done.synchronize();
    });
}

// Asks whether the slot's work has ended.
char *netdiv_pipeline_is_done(Pipeline *pipeline, size_t slot, bool *is_done) {
    return guarded([&] {
        c10::OptionalDeviceGuard guard(pipeline->copying.device());
        *is_done = pipeline->slots.at(slot).done.query();
    });
}

// Waits for all work of both streams.
char *netdiv_pipeline_synchronize(Pipeline *pipeline) {
    return guarded([&] {
        c10::OptionalDeviceGuard guard(pipeline->copying.device());
        pipeline->copying.synchronize();
        pipeline->computing.synchronize();
    });
}

// Creates a stream of the device, beside the default one.
char *netdiv_stream_new(int index, Stream **stream) {
    return guarded([&] {
        c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
        c10::OptionalDeviceGuard guard(device);
        *stream = new Stream(device);
    });
}

void netdiv_stream_free(Stream *stream) {
    c10::OptionalDeviceGuard guard(stream->stream.device());
    delete stream;
}

// Directs this thread's work to the stream.
char *netdiv_stream_enter(Stream *stream, OnStream **entered) {
    return guarded([&] { *entered = new OnStream(stream->stream); });
}

void netdiv_stream_leave(OnStream *entered) {
    delete entered;
}

// Marks the end of the stream's work so far.
char *netdiv_stream_mark(Stream *stream) {
    return guarded([&] { stream->mark.record(stream->stream); });
}

// Asks whether the work up to the mark has ended.
char *netdiv_stream_is_done(Stream *stream, bool *is_done) {
    return guarded([&] {
        c10::OptionalDeviceGuard guard(stream->stream.device());
        *is_done = stream->mark.query();
    });
}

// Waits for the work up to the mark.
char *netdiv_stream_wait(Stream *stream) {
    return guarded([&] {
        c10::OptionalDeviceGuard guard(stream->stream.device());
        stream->mark.synchronize();
    });
}

// Disables gradients and their bookkeeping on this thread, until the guard is freed.
c10::InferenceMode *netdiv_inference_mode_new() {
    return new c10::InferenceMode();
}

void netdiv_inference_mode_free(c10::InferenceMode *mode) {
    delete mode;
}

// Optimises graphs in the same way on every device. Fuses pointwise operations only on a GPU, and
// only if `on_gpu` is set. Turning the fuser itself off would leave the profiling nodes in the
// graph for ever.
void netdiv_fusion(bool on_gpu) {
    torch::jit::overrideCanFuseOnCPU(false);
    torch::jit::overrideCanFuseOnGPU(on_gpu);
}

// Lets cuDNN compute attention. It builds a plan for each new shape.
char *netdiv_cudnn_attention(bool allowed) {
    return guarded([&] { at::globalContext().setSDPUseCuDNN(allowed); });
}

bool netdiv_has_cudnn_attention() {
    return at::globalContext().userEnabledCuDNNSDP();
}

// Multiplies fp32 matrices as TF32, if `allowed` is set and the device supports it.
char *netdiv_tf32(bool allowed) {
    return guarded([&] {
        at::globalContext().setAllowTF32CuDNN(allowed);
        at::globalContext().setAllowTF32CuBLAS(allowed);
    });
}

// Keeps freed memory in the process. Otherwise each batch would fetch its activations from the
// system again, page by page.
void netdiv_keep_memory() {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 64 << 20);
}

}  // extern "C"
