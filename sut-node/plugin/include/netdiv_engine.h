/* Engine plug-ins of netdiv's SUT node, ABI version 3.
 *
 * A plug-in is a shared library that runs models on devices: TensorRT, your own device, or libtorch
 * (`sut-node/engine-torch`). It exports one function, `netdiv_engine_plugin`, which returns a table of functions. The
 * node does everything else: network, batching, decoding, pre- and post-processing, padding. `tests/plugin/doubler.cc`
 * is a complete plug-in, and `tests/plugin/counter.cc` is a complete plug-in for language models.
 *
 *     sut-node --engine ./libmine.so --model mine.toml --devices mine:0,mine:1
 *
 * Life of a plug-in: netdiv_engine_plugin, devices, then for each device load; for each instance on it open, allocate,
 * warm_up, and begin/finish for every batch; close, unload at the end. Language models have separate functions, in
 * netdiv_token_engine: load, then for each instance open, warm_up, and submit/step until all samples have ended.
 *
 * Threads: one thread at a time calls `devices`, `load`, `unload`, `open` and `close`, of either kind, but not always
 * the same thread; only loads onto devices with NETDIV_PARALLEL_LOADS may overlap. One thread at a time uses an
 * instance, except for `wait`; several threads may use different instances of a model concurrently.
 *
 * Errors: every function that can fail returns a netdiv_status. Unless it is NETDIV_OK, the function has written the
 * reason to `error`, zero-terminated and truncated to its room. No C++ exception may leave a function.
 */
#ifndef NETDIV_ENGINE_H
#define NETDIV_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header, the only one that a node accepts. */
#define NETDIV_ENGINE_ABI 3u

/* Maximum number of dimensions of a tensor, including the batch. */
#define NETDIV_MAX_RANK 9

typedef enum netdiv_status {
    NETDIV_OK = 0,
    /* The model, or the device, failed. */
    NETDIV_FAILED = 1,
    /* The device's memory is full: the node retries with fewer samples. */
    NETDIV_OUT_OF_MEMORY = 2,
    /* The model does not fit its manifest, or the plug-in does not support the device or precision. */
    NETDIV_REFUSED = 3,
    /* The device is lost to this process for good. The node answers samples in flight with errors, calls only `wait` of
     * this plug-in from then on, releases no memory, reports the reason, and ends. Until the node has this status, and
     * from another thread at that moment, it may still call `begin` and `finish`: they return the same status. */
    NETDIV_DEVICE_LOST = 4
} netdiv_status;

/* Numbers of `DataType` in proto/contract/netdiv/v1/sut_node.proto. */
typedef enum netdiv_data_type {
    NETDIV_UINT8 = 1,
    NETDIV_INT8 = 2,
    NETDIV_INT32 = 3,
    NETDIV_INT64 = 4,
    NETDIV_FLOAT16 = 5,
    NETDIV_FLOAT32 = 6,
    NETDIV_INT16 = 7
} netdiv_data_type;

/* Room for an error text. */
typedef struct netdiv_text {
    char *at;
    uint64_t room; /* bytes, including the final zero */
} netdiv_text;

/* A tensor in memory that `allocate` returned: contiguous, last dimension fastest, little-endian. */
typedef struct netdiv_tensor {
    uint32_t data_type;
    uint32_t rank;
    int64_t shape[NETDIV_MAX_RANK]; /* the first dimension is the batch */
    void *data;
    uint64_t bytes; /* product of the shape and the element's bytes */
} netdiv_tensor;

/* An input or output, from the manifest. */
typedef struct netdiv_tensor_spec {
    const char *name;
    uint32_t data_type;
    uint32_t rank;                  /* including the batch */
    int64_t shape[NETDIV_MAX_RANK]; /* -1: any length, always for the first, the batch */
} netdiv_tensor_spec;

/* Flags of a device. With NETDIV_NEW_SIZES_STALL, a batch size that has not run before takes far longer. Unless the
 * operator chose sizes, the node then fills batches up to powers of two, and warms each size up. */
#define NETDIV_USABLE 1u
#define NETDIV_NEW_SIZES_STALL 2u
/* Several threads may call `load` for the devices that have this flag, at the same time, so that a node with several
 * devices starts sooner. */
#define NETDIV_PARALLEL_LOADS 4u

/* A device that the plug-in can use, or cannot use because something is missing. */
typedef struct netdiv_device {
    char name[32];         /* for `--devices`, for instance "cuda:0" */
    char description[256]; /* model and driver, or the missing part */
    uint32_t usable;       /* NETDIV_USABLE and further flags; 0: the device is not usable */
} netdiv_device;

typedef struct netdiv_model_settings {
    uint64_t size;         /* sizeof(netdiv_model_settings) */
    const char *path;      /* the model file */
    const char *device;    /* a device's name */
    const char *precision; /* "fp32", "fp16" or "bf16": type of the weights; "tf32": fp32, multiplied as TF32 */
    uint32_t threads;      /* host threads that an instance may use */
    uint32_t fixed_shapes; /* 1: batches have only shapes that were warmed up, or smaller ones after NETDIV_OUT_OF_MEMORY */
    uint32_t input_count;
    uint32_t output_count;
    const netdiv_tensor_spec *inputs; /* in the order of the model's arguments */
    const netdiv_tensor_spec *outputs;
} netdiv_model_settings;

/* Opaque types of the plug-in. */
typedef struct netdiv_model netdiv_model;
typedef struct netdiv_instance netdiv_instance;

/* Language models: prompts of token ids in, token ids out, each sample separately (continuous batching). The plug-in
 * processes its samples in flight at the same time: a sample that ends leaves its slot to the next. Every prompt is
 * computed completely: nothing is reused from another sample.
 *
 * The node checks every event. An output ends with an id that ends outputs, or with its last possible id, and no id
 * follows. Any violation fails all samples in flight, and the node cancels them. */

typedef struct netdiv_token_settings {
    uint64_t size;           /* sizeof(netdiv_token_settings) */
    const char *path;        /* the model file */
    const char *device;      /* a device's name */
    const char *precision;   /* as in netdiv_model_settings */
    uint32_t threads;        /* host threads that an instance may use */
    uint32_t vocabulary;     /* ids are 0 to vocabulary - 1 */
    uint32_t longest_prompt; /* ids */
    uint32_t longest_output; /* ids */
    uint32_t slots;          /* maximum number of samples in flight */
    uint32_t chunk;          /* maximum number of prompt ids in a step, so that outputs in progress do not stall */
    uint64_t cache_bytes;    /* device memory for an instance's keys and values; 0: as much as `slots` need */
    uint32_t beams;          /* 1: greedy search; more: beam search of this width, returning only the best output */
    uint32_t end_count;
    const int32_t *ends;     /* ids that end an output and are part of it */
} netdiv_token_settings;

/* Room of an instance. */
typedef struct netdiv_token_room {
    uint32_t slots;       /* maximum number of samples in flight, from 1 to the requested number */
    uint32_t reserved;    /* 0 */
    uint64_t cache_bytes; /* device memory for keys and values */
} netdiv_token_room;

/* Result of a step for a sample. The ids follow the ids of earlier events. */
typedef struct netdiv_token_event {
    uint64_t sample;    /* its number in `submit` */
    const int32_t *ids; /* valid until the instance's next call */
    uint32_t count;     /* may be 0 in the last event */
    uint32_t is_last;   /* 1: the output has ended, and the slot is free */
} netdiv_token_event;

/* Opaque types of the plug-in. */
typedef struct netdiv_token_model netdiv_token_model;
typedef struct netdiv_token_instance netdiv_token_instance;

typedef struct netdiv_token_engine {
    uint32_t size;       /* sizeof(netdiv_token_engine) */
    uint32_t event_size; /* sizeof(netdiv_token_event) */

    /* Loads a model onto a device. The data that the settings point at lives until unload. */
    netdiv_status (*load)(const netdiv_token_settings *settings, netdiv_token_model **model, netdiv_text error);
    void (*unload)(netdiv_token_model *model);

    /* Opens an instance with its cache, which one engine thread owns. */
    netdiv_status (*open)(netdiv_token_model *model, netdiv_token_instance **instance, netdiv_token_room *room,
                          netdiv_text error);
    void (*close)(netdiv_token_instance *instance);

    /* Runs every shape of a step once, before the node is ready. */
    netdiv_status (*warm_up)(netdiv_token_instance *instance, netdiv_text error);

    /* Accepts a sample, and copies its ids. The node never has more samples in flight than there are slots, and numbers
     * each sample differently. It complies with the settings: 1 to longest_prompt ids below the vocabulary, and an output
     * of `least` to `most` ids, 1 <= least <= most <= longest_output. The first `least` - 1 ids must not end an output.
     * NETDIV_OUT_OF_MEMORY: the cache has no room now; the node submits the sample again when another one has ended.
     * NETDIV_REFUSED: this sample fails, and the others continue. */
    netdiv_status (*submit)(netdiv_token_instance *instance, uint64_t sample, const int32_t *ids, uint32_t count,
                            uint32_t least, uint32_t most, netdiv_text error);

    /* Computes a step: a chunk of the waiting prompts, and one id for every sample whose prompt is done. Writes at most
     * one event per sample, and the number of events; there is room for one event per slot. An event without ids that is
     * not the last reports progress of its sample, for instance a part of its prompt. If no sample has an event within
     * --engine-timeout, the node abandons all of them. After an error no sample is in flight. */
    netdiv_status (*step)(netdiv_token_instance *instance, netdiv_token_event *events, uint32_t room, uint32_t *count,
                          netdiv_text error);

    /* Ends a sample at once; it has no further event. An unknown number is ignored. */
    void (*cancel)(netdiv_token_instance *instance, uint64_t sample);
} netdiv_token_engine;

typedef struct netdiv_engine {
    uint32_t abi;         /* NETDIV_ENGINE_ABI */
    uint32_t size;        /* sizeof(netdiv_engine) */
    uint32_t tensor_size; /* sizeof(netdiv_tensor) */
    uint32_t reserved;    /* 0 */
    const char *name;     /* name of the engine, for instance "torch" */
    const char *version;  /* name and version of the library that it uses */

    /* Writes up to `room` devices and their number, the preferred one first. */
    netdiv_status (*devices)(netdiv_device *devices, uint32_t room, uint32_t *count, netdiv_text error);

    /* Loads a model onto a device. Strings and specs live until unload. A plug-in for language models only sets this and
     * all following functions except `tokens` to null. */
    netdiv_status (*load)(const netdiv_model_settings *settings, netdiv_model **model, netdiv_text error);
    void (*unload)(netdiv_model *model);

    /* Opens an instance, which one engine thread owns. */
    netdiv_status (*open)(netdiv_model *model, netdiv_instance **instance, netdiv_text error);
    void (*close)(netdiv_instance *instance);

    /* Returns the maximum number of batches in progress in an instance, at least 1. With 2, copying a batch to the device
     * overlaps computing the previous batch. */
    uint32_t (*in_flight)(const netdiv_instance *instance);

    /* Allocates memory for assembling batches, aligned to 64 bytes; if possible, memory that the device reads directly. */
    netdiv_status (*allocate)(netdiv_instance *instance, uint64_t bytes, void **memory, netdiv_text error);
    void (*release)(netdiv_instance *instance, void *memory);

    /* Runs a batch of zeros in an expected shape before the node is ready, and compares the model's outputs with the
     * manifest; the arguments are those of begin. It must prepare everything that a slot needs for this shape. */
    netdiv_status (*warm_up)(netdiv_instance *instance, const netdiv_tensor *inputs, uint32_t input_count,
                             const netdiv_tensor *outputs, uint32_t output_count, netdiv_text error);

    /* Begins a batch in a slot (0 to in_flight - 1) that holds none, and may return before it is done. The memory of
     * inputs and outputs stays valid and untouched until finish. The outputs have the shapes of the manifest; other
     * shapes from the model are an error. If it fails, the slot holds no batch. */
    netdiv_status (*begin)(netdiv_instance *instance, uint32_t slot, const netdiv_tensor *inputs, uint32_t input_count,
                           const netdiv_tensor *outputs, uint32_t output_count, netdiv_text error);

    /* Waits until the slot's batch is done and its outputs are in memory. Afterwards the slot holds no batch, even if this
     * fails. */
    netdiv_status (*finish)(netdiv_instance *instance, uint32_t slot, netdiv_text error);

    /* Functions for language models; null if the plug-in has none. */
    const netdiv_token_engine *tokens;

    /* Waits until the slot's batch is done, and leaves it to `finish`, which then returns at once. Another thread calls it
     * while the slot holds a batch, concurrently with all other calls except `finish` of this slot. This lets the node
     * begin a batch while another one computes. Null if the plug-in does not support it. */
    netdiv_status (*wait)(netdiv_instance *instance, uint32_t slot, netdiv_text error);
} netdiv_engine;

/* The only function that a plug-in exports. `abi` is the node's. A plug-in that does not support it still returns its table,
 * and the node reports which of the two is older. */
const netdiv_engine *netdiv_engine_plugin(uint32_t abi);

#ifdef __cplusplus
}
#endif

#endif
