// Complete engine plug-in for language models, whose outputs count up from the sum of the prompt's ids. It computes several samples at a
// time, each in a slot, and reads prompts in chunks between the steps, as a device does.
//
// The model file contains a word: "counts", or the rule of netdiv_engine.h that the plug-in violates for prompts that begin with the
// id 7.
//
// A test builds it: c++ -std=c++17 -shared -fPIC -I sut-node/plugin/include tests/plugin/counter.cc -o libcounter.so

#include <netdiv_engine.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

struct netdiv_token_model {
    netdiv_token_settings settings;
    std::string word;
};

// Sample in a slot, which is free if `length` is 0.
struct Slot {
    uint64_t sample;
    uint64_t sum;
    uint32_t unread;  // number of ids of the prompt that are not read yet
    uint32_t given;   // number of returned ids of the output
    uint32_t length;
    uint64_t turn;  // prompts are read in this order
    bool bad;       // set if the prompt begins with 7
    int rests;      // number of steps without an id
};

struct netdiv_token_instance {
    const netdiv_token_model *model;
    std::vector<Slot> slots;
    std::vector<int32_t> given;  // ids that a step's events point to, two for each slot
    uint64_t turns = 0;
};

static netdiv_status fail(netdiv_status status, netdiv_text error, const std::string &text) {
    snprintf(error.at, error.room, "%s", text.c_str());
    return status;
}

static netdiv_status devices(netdiv_device *devices, uint32_t room, uint32_t *count, netdiv_text) {
    *count = room < 1 ? 0 : 1;
    if (*count == 1) {
        snprintf(devices[0].name, sizeof devices[0].name, "abacus:0");
        snprintf(devices[0].description, sizeof devices[0].description, "counts");
        devices[0].usable = 1;
    }
    return NETDIV_OK;
}

static netdiv_status load(const netdiv_token_settings *settings, netdiv_token_model **model, netdiv_text error) {
    std::string word;
    if (!(std::ifstream(settings->path) >> word))
        return fail(NETDIV_REFUSED, error, "the model file must hold one word");
    if (settings->beams != 1)
        return fail(NETDIV_REFUSED, error, "it counts one way only: beams = 1");
    // Memory that the settings point to is valid until unload.
    *model = new netdiv_token_model{*settings, word};
    return NETDIV_OK;
}

static void unload(netdiv_token_model *model) { delete model; }

static netdiv_status open_instance(netdiv_token_model *model, netdiv_token_instance **instance, netdiv_token_room *room,
                                   netdiv_text) {
    // A slot needs 256 KiB of the cache.
    uint64_t bytes = model->settings.cache_bytes;
    uint32_t slots = model->settings.slots;
    if (bytes > 0 && bytes >> 18 < slots) slots = bytes >> 18;
    if (model->word == "no-slots") slots = 0;
    room->slots = slots;
    room->cache_bytes = uint64_t(slots) << 18;
    *instance = new netdiv_token_instance{model, std::vector<Slot>(slots), std::vector<int32_t>(slots * 2ull)};
    return NETDIV_OK;
}

static void close_instance(netdiv_token_instance *instance) { delete instance; }

static netdiv_status warm_up(netdiv_token_instance *instance, netdiv_text error) {
    return instance->model->word == "cold" ? fail(NETDIV_OUT_OF_MEMORY, error, "the abacus is full") : NETDIV_OK;
}

static netdiv_status submit(netdiv_token_instance *instance, uint64_t sample, const int32_t *ids, uint32_t count,
                            uint32_t least, uint32_t most, netdiv_text error) {
    const std::string &word = instance->model->word;
    bool bad = ids[0] == 7;
    auto under_way = std::count_if(instance->slots.begin(), instance->slots.end(), [](const Slot &s) { return s.length > 0; });
    if (word == "picky" && bad) return fail(NETDIV_REFUSED, error, "it does not like 7");
    if (word == "stubborn" && bad) return fail(NETDIV_FAILED, error, "it does not start");
    if (word == "narrow" && under_way >= 2) return fail(NETDIV_OUT_OF_MEMORY, error, "the cache has room for 2 samples");
    if (word == "tiny" && bad) return fail(NETDIV_OUT_OF_MEMORY, error, "the cache has no room for the sample");
    auto slot = std::find_if(instance->slots.begin(), instance->slots.end(), [](const Slot &s) { return s.length == 0; });
    if (slot == instance->slots.end()) return fail(NETDIV_FAILED, error, "the node submits more samples than there are slots");
    uint64_t sum = std::accumulate(ids, ids + count, uint64_t(0));
    // Without an id that ends outputs, all have the maximum length.
    uint32_t length = instance->model->settings.end_count ? least + sum % (most - least + 1) : most;
    *slot = Slot{sample, sum, count, 0, length, instance->turns++, bad, 0};
    return NETDIV_OK;
}

// Returns the id at an index of an output.
static int32_t id(const netdiv_token_settings &settings, const Slot &slot, uint32_t place, uint32_t most) {
    if (place + 1 == slot.length && slot.length < most) return settings.ends[0];
    int32_t id = (slot.sum + place) % settings.vocabulary;
    // Skip ids that end an output.
    while (std::count(settings.ends, settings.ends + settings.end_count, id)) id = (id + 1) % settings.vocabulary;
    return id;
}

static netdiv_status step(netdiv_token_instance *instance, netdiv_token_event *events, uint32_t room, uint32_t *count,
                          netdiv_text error) {
    const netdiv_token_settings &settings = instance->model->settings;
    const std::string &word = instance->model->word;
    // Prompts first, in order.
    std::vector<Slot *> reading;
    for (Slot &slot : instance->slots)
        if (slot.length > 0 && slot.unread > 0) reading.push_back(&slot);
    std::sort(reading.begin(), reading.end(), [](Slot *a, Slot *b) { return a->turn < b->turn; });
    uint32_t budget = settings.chunk;
    for (Slot *slot : reading) {
        uint32_t read = std::min(budget, slot->unread);
        slot->unread -= read;
        budget -= read;
    }
    *count = 0;
    for (size_t n = 0; n < instance->slots.size(); ++n) {
        Slot &slot = instance->slots[n];
        if (slot.length == 0 || slot.unread > 0 || *count == room) continue;
        int32_t *given = &instance->given[n * 2];
        given[0] = id(settings, slot, slot.given++, settings.longest_output);
        netdiv_token_event event = {slot.sample, given, 1, slot.given == slot.length};
        if (slot.bad && slot.given > 1) {
            if (word == "fails") {
                for (Slot &each : instance->slots) each.length = 0;
                return fail(NETDIV_FAILED, error, "a bead fell off");
            }
            if (word == "hangs") std::this_thread::sleep_for(std::chrono::seconds(20));
            if (word == "slow" || word == "narrow") std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (word == "silent") continue;
            if (word == "plods" && slot.rests++ < 60) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                slot.given -= 1;
                event.count = event.is_last = 0;
            }
            if (word == "stranger") event.sample += 1000000;
            if (word == "outside") given[0] = settings.vocabulary;
            if (word == "negative") given[0] = -1;
            if (word == "null") event.ids = nullptr;
            if (word == "endless") event.is_last = 0;
            if (word == "early") event.is_last = 1;
            if (word == "ends-early") given[0] = settings.ends[0];
            if (word == "babbles") event.count = settings.longest_output;
            // Overwrite another sample's event, if there is one, since there may be no room for more.
            if (word == "twice") events[*count > 0 ? *count - 1 : (*count)++] = event;
            if (word == "counts-wrong") {
                *count = room + 1;
                return NETDIV_OK;
            }
            if (word == "goes-on") {
                given[0] = settings.ends[0];
                given[1] = 0;
                event.count = 2;
            }
        }
        if (event.is_last) slot.length = 0;
        events[(*count)++] = event;
    }
    return NETDIV_OK;
}

static void cancel(netdiv_token_instance *instance, uint64_t sample) {
    for (Slot &slot : instance->slots)
        if (slot.length > 0 && slot.sample == sample) slot.length = 0;
}

static const netdiv_token_engine tokens = {
    sizeof(netdiv_token_engine), sizeof(netdiv_token_event), load, unload, open_instance, close_instance, warm_up, submit, step,
    cancel,
};

static const netdiv_engine engine = {
    NETDIV_ENGINE_ABI, sizeof(netdiv_engine), sizeof(netdiv_tensor), 0,       "counter", "an abacus",
    devices,           nullptr,               nullptr,               nullptr, nullptr,   nullptr,
    nullptr,           nullptr,               nullptr,               nullptr, nullptr,   &tokens,
};

extern "C" const netdiv_engine *netdiv_engine_plugin(uint32_t) { return &engine; }
