// Plug-in whose device behaves like a GPU: it computes one batch after the other asynchronously, has two slots, and another thread may
// wait for it. It writes its calls to `trace`, beside the model. The model file contains further behaviour:
//
//     ms N        a batch takes N milliseconds
//     company     the first batch ends only after a second one has begun (or after ten seconds)
//     together    a load waits for another one, for at most a second, and writes to `trace` if it came
//     held        batches end only if there is a file `go` beside the model
//     lost N      the device is lost with batch N, counted from 1; begin, finish and wait then report it, and any other call ends the
//                 process, as a throwing destructor does
//
// A test builds it, like doubler.cc. DEVICES is the number of devices: the first is unusable, the second usable, with FLAGS.

#include <netdiv_engine.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

using std::chrono::milliseconds;

struct netdiv_model {
    std::string folder;
    int ms = 0, lost_at = 0;
    bool company = false, held = false;
};

static std::atomic<bool> lost{false};

struct Job {
    const void *from;
    void *to;
    uint64_t bytes;
    uint32_t slot;
};

struct netdiv_instance {
    const netdiv_model *model;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;
    bool done[2] = {true, true}, ending = false;
    int begun = 0, computed = 0;
    std::thread device;
    std::ofstream trace;

    explicit netdiv_instance(const netdiv_model *model)
        : model(model), device([this] { compute(); }), trace(model->folder + "/trace", std::ios::app) {}

    void note(const std::string &line) { trace << line << std::endl; }

    void compute() {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return ending || !jobs.empty(); });
            if (jobs.empty()) return;
            Job job = jobs.front();
            if (model->company && computed == 0)
                note(changed.wait_for(lock, std::chrono::seconds(10), [&] { return begun > 1; }) ? "in company" : "alone");
            lock.unlock();
            while (model->held && !std::ifstream(model->folder + "/go")) std::this_thread::sleep_for(milliseconds(1));
            std::this_thread::sleep_for(milliseconds(model->ms));
            memcpy(job.to, job.from, job.bytes);
            lock.lock();
            jobs.pop_front();
            computed += 1;
            if (computed == model->lost_at) lost = true;
            note("done " + std::to_string(job.slot));
            done[job.slot] = true;
            changed.notify_all();
        }
    }
};

static netdiv_status fail(netdiv_status status, netdiv_text error, const char *text) {
    snprintf(error.at, error.room, "%s", text);
    return status;
}

static netdiv_status device_lost(netdiv_text error) {
    return fail(NETDIV_DEVICE_LOST, error, "an illegal memory access was encountered");
}

// Ends the process if the device is lost.
static void must_be_there(const char *function) {
    if (!lost) return;
    fprintf(stderr, "%s on a lost device\n", function);
    abort();
}

// Destructor of a library, which runs at the end of the process.
static const struct Library {
    ~Library() { must_be_there("a destructor"); }
} library;

#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef FLAGS
#define FLAGS NETDIV_USABLE
#endif

static netdiv_status devices(netdiv_device *devices, uint32_t, uint32_t *count, netdiv_text) {
    const char *names[] = {"missing", "device:0"}, *descriptions[] = {"no driver", "one batch after the other"};
    for (*count = 0; *count < DEVICES; *count += 1) {
        snprintf(devices[*count].name, sizeof devices->name, "%s", names[*count]);
        snprintf(devices[*count].description, sizeof devices->description, "%s", descriptions[*count]);
        devices[*count].usable = *count == 1 ? FLAGS : 0;
    }
    return NETDIV_OK;
}

static netdiv_status load(const netdiv_model_settings *settings, netdiv_model **model, netdiv_text error) {
    std::string path = settings->path, word;
    auto *loaded = new netdiv_model{path.substr(0, path.rfind('/'))};
    std::ifstream file(path);
    bool together = false;
    while (file >> word) {
        if (word == "ms") file >> loaded->ms;
        else if (word == "together") together = true;
        else if (word == "lost") file >> loaded->lost_at;
        else if (word == "company") loaded->company = true;
        else if (word == "held") loaded->held = true;
        else return delete loaded, fail(NETDIV_REFUSED, error, "the model file has a word that is none");
    }
    if (together) {
        static std::mutex mutex;
        static std::condition_variable changed;
        static int loading = 0;
        std::unique_lock<std::mutex> lock(mutex);
        loading += 1;
        changed.notify_all();
        bool came = changed.wait_for(lock, std::chrono::seconds(1), [] { return loading > 1; });
        std::ofstream(loaded->folder + "/trace", std::ios::app) << (came ? "loaded together" : "loaded alone") << std::endl;
        if (!came) loading -= 1;
    }
    *model = loaded;
    return NETDIV_OK;
}

static void unload(netdiv_model *model) {
    must_be_there("unload");
    delete model;
}

static netdiv_status open_instance(netdiv_model *model, netdiv_instance **instance, netdiv_text) {
    *instance = new netdiv_instance(model);
    return NETDIV_OK;
}

static void close_instance(netdiv_instance *instance) {
    must_be_there("close");
    {
        std::lock_guard<std::mutex> lock(instance->mutex);
        instance->ending = true;
        instance->changed.notify_all();
    }
    instance->device.join();
    delete instance;
}

static uint32_t in_flight(const netdiv_instance *) { return 2; }

static netdiv_status allocate(netdiv_instance *instance, uint64_t bytes, void **memory, netdiv_text) {
    must_be_there("allocate");
    std::lock_guard<std::mutex> lock(instance->mutex);
    instance->note("allocate " + std::to_string(bytes));
    *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return NETDIV_OK;
}

static void release(netdiv_instance *, void *memory) {
    must_be_there("release");
    free(memory);
}

static netdiv_status warm_up(netdiv_instance *instance, const netdiv_tensor *inputs, uint32_t, const netdiv_tensor *,
                             uint32_t, netdiv_text) {
    std::lock_guard<std::mutex> lock(instance->mutex);
    instance->note("warm_up " + std::to_string(inputs[0].shape[0]));
    return NETDIV_OK;
}

static netdiv_status begin(netdiv_instance *instance, uint32_t slot, const netdiv_tensor *inputs, uint32_t,
                           const netdiv_tensor *outputs, uint32_t, netdiv_text error) {
    // The node may not know of the loss yet.
    if (lost) return device_lost(error);
    std::lock_guard<std::mutex> lock(instance->mutex);
    instance->note("begin " + std::to_string(slot) + " of " + std::to_string(inputs[0].shape[0]));
    instance->done[slot] = false;
    instance->begun += 1;
    instance->jobs.push_back({inputs[0].data, outputs[0].data, outputs[0].bytes, slot});
    instance->changed.notify_all();
    return NETDIV_OK;
}

static netdiv_status wait_for(netdiv_instance *instance, uint32_t slot, netdiv_text error) {
    std::unique_lock<std::mutex> lock(instance->mutex);
    instance->changed.wait(lock, [&] { return instance->done[slot]; });
    return lost ? device_lost(error) : NETDIV_OK;
}

static const netdiv_engine engine = {
    NETDIV_ENGINE_ABI, sizeof(netdiv_engine), sizeof(netdiv_tensor), 0,       "device", "a device that computes by itself",
    devices,           load,                  unload,                open_instance, close_instance, in_flight,
    allocate,          release,               warm_up,               begin,   wait_for, nullptr,
    wait_for,
};

extern "C" const netdiv_engine *netdiv_engine_plugin(uint32_t) { return &engine; }
