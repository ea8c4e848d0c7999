// Complete engine plug-in that multiplies numbers. The model file contains the factor, as text. Each batch runs on a separate thread, so
// that the next one is formed meanwhile, as with a device.
//
// A test builds it: c++ -std=c++17 -shared -fPIC -I sut-node/plugin/include tests/plugin/doubler.cc -o libdoubler.so
// The macros at the end of the file make plug-ins that a node must reject.

#include <netdiv_engine.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

struct netdiv_model {
    float factor;
    bool small;  // set for the device toy:small, which has room for three rows
    bool picky;  // set for the device toy:picky, which rejects negative numbers
};

struct netdiv_instance {
    const netdiv_model *model;
    std::thread slots[2];
    bool failed[2];
};

static netdiv_status fail(netdiv_status status, netdiv_text error, const std::string &text) {
    snprintf(error.at, error.room, "%s", text.c_str());
    return status;
}

static netdiv_status devices(netdiv_device *devices, uint32_t room, uint32_t *count, netdiv_text) {
    const char *names[] = {"toy:0", "toy:small", "toy:picky", "shelf"};
    *count = room < 4 ? room : 4;
    for (uint32_t n = 0; n < *count; ++n) {
        snprintf(devices[n].name, sizeof devices[n].name, "%s", names[n]);
        snprintf(devices[n].description, sizeof devices[n].description, n < 3 ? "a toy" : "not plugged in");
        devices[n].usable = n < 3;
    }
    return NETDIV_OK;
}

static netdiv_status load(const netdiv_model_settings *settings, netdiv_model **model, netdiv_text error) {
    std::string device = settings->device;
    if (device != "toy:0" && device != "toy:small" && device != "toy:picky")
        return fail(NETDIV_REFUSED, error, "there is no device " + device + "; there is toy:0, toy:small and toy:picky");
    float factor;
    if (!(std::ifstream(settings->path) >> factor))
        return fail(NETDIV_REFUSED, error, "the model file must hold one number");
    *model = new netdiv_model{factor, device == "toy:small", device == "toy:picky"};
    return NETDIV_OK;
}

static void unload(netdiv_model *model) { delete model; }

static netdiv_status open_instance(netdiv_model *model, netdiv_instance **instance, netdiv_text) {
    *instance = new netdiv_instance{model, {}, {}};
    return NETDIV_OK;
}

static void close_instance(netdiv_instance *instance) { delete instance; }

static uint32_t in_flight(const netdiv_instance *) { return 2; }

static netdiv_status allocate(netdiv_instance *, uint64_t bytes, void **memory, netdiv_text error) {
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *memory ? NETDIV_OK : fail(NETDIV_OUT_OF_MEMORY, error, "the host's memory is full");
}

static void release(netdiv_instance *, void *memory) { free(memory); }

static netdiv_status begin(netdiv_instance *instance, uint32_t slot, const netdiv_tensor *inputs, uint32_t,
                           const netdiv_tensor *outputs, uint32_t, netdiv_text error) {
    if (instance->model->small && inputs[0].shape[0] > 3)
        return fail(NETDIV_OUT_OF_MEMORY, error, "the toy has room for 3 rows");
    const float *from = static_cast<const float *>(inputs[0].data);
    float *to = static_cast<float *>(outputs[0].data);
    uint64_t count = inputs[0].bytes / sizeof(float);
    float factor = instance->model->factor;
    bool picky = instance->model->picky, *failed = &instance->failed[slot];
    *failed = false;
    instance->slots[slot] = std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (uint64_t n = 0; n < count; ++n) {
            to[n] = factor * from[n];
            *failed = *failed || (picky && from[n] < 0);
        }
    });
    return NETDIV_OK;
}

static netdiv_status finish(netdiv_instance *instance, uint32_t slot, netdiv_text error) {
    instance->slots[slot].join();
    return instance->failed[slot] ? fail(NETDIV_FAILED, error, "a negative number") : NETDIV_OK;
}

static netdiv_status warm_up(netdiv_instance *instance, const netdiv_tensor *inputs, uint32_t input_count,
                             const netdiv_tensor *outputs, uint32_t output_count, netdiv_text error) {
    netdiv_status begun = begin(instance, 0, inputs, input_count, outputs, output_count, error);
    return begun == NETDIV_OK ? finish(instance, 0, error) : begun;
}

#ifndef ABI
#define ABI NETDIV_ENGINE_ABI
#endif

static const netdiv_engine engine = {
    ABI,     sizeof(netdiv_engine), sizeof(netdiv_tensor), 0,    "doubler", "a toy",   devices,
    load,    unload,                open_instance,         close_instance, in_flight, allocate, release,
    warm_up, begin,                 finish,                nullptr,
};

#ifndef NO_ENTRY
extern "C" const netdiv_engine *netdiv_engine_plugin(uint32_t) { return &engine; }
#endif
