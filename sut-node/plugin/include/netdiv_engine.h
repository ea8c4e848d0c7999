/* Engine plug-ins of netdiv's SUT node, ABI version 3.
 *
 * A plug-in is a shared library that runs models on devices: TensorRT, your own device, or libtorch
 * (`sut-node/engine-torch`). It exports one function, `netdiv_engine_plugin`, which returns a table of functions. The
 * node does everything else: network, batching, decoding, pre- and post-processing, padding. `tests/plugin/doubler.cc`
 * is a complete plug-in, and `tests/plugin/counter.cc` one for language models.
 *
 *     sut-node --engine ./libmine.so --model mine.toml --devices mine:0,mine:1
 *
 * Life of a plug-in: netdiv_engine_plugin, devices, then for each device load; for each instance on it open, allocate,
 * warm_up, and begin/finish for every batch; close, unload at the end. Language models have functions of their own, in
 * netdiv_token_engine: load, then for each instance open, warm_up, and submit/step until all samples have ended.
 *
 * Threads: `devices`, `load`, `unload`, `open` and `close`, of either kind, are called by one thread at a time, but not
 * always the same. One thread at a time uses an instance, but for `wait`; several threads may use different instances of a
 * model concurrently.
 *
 * Errors: every function that can fail returns a netdiv_status. Unless it is NETDIV_OK, the function has written the
 * reason to `error`, zero-terminated and cut to its room. No C++ exception may leave a function.
 */
#ifndef NETDIV_ENGINE_H
#define NETDIV_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version 1 had neither netdiv_token_engine, wait nor NETDIV_DEVICE_LOST, version 2 no NETDIV_NEW_SIZES_STALL; a node of
 * version 3 takes their plug-ins too. */
#define NETDIV_ENGINE_ABI 3u

/* Most dimensions of a tensor, the batch included. */
#define NETDIV_MAX_RANK 9

typedef enum netdiv_status {
    NETDIV_OK = 0,
    /* The model, or the device, failed. */
    NETDIV_FAILED = 1,
    /* The device's memory is full: the node retries with fewer samples. */
    NETDIV_OUT_OF_MEMORY = 2,
    /* The model does not fit its manifest, or the plug-in does not support the device or precision. */
    NETDIV_REFUSED = 3,
    /* The device is lost to this process, whatever is asked of it from now on. The node answers what is under way with
     * errors, calls nothing but `wait` of this plug-in any more, gives no memory back, and ends, saying why. Until it is told, and from
     * another thread just then, `begin` and `finish` may come: they say the same. */
    NETDIV_DEVICE_LOST = 4
} netdiv_status;

/* The numbers of `DataType` in proto/contract/netdiv/v1/sut_node.proto. */
typedef enum netdiv_data_type {
    NETDIV_UINT8 = 1,
    NETDIV_INT8 = 2,
    NETDIV_INT32 = 3,
    NETDIV_INT64 = 4,
    NETDIV_FLOAT16 = 5,
    NETDIV_FLOAT32 = 6
} netdiv_data_type;

/* Room for an error text. */
typedef struct netdiv_text {
    char *at;
    uint64_t room; /* bytes, the final zero included */
} netdiv_text;

/* A tensor in memory that `allocate` gave: contiguous, last dimension fastest, little-endian. */
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
    uint32_t rank;                  /* the batch included */
    int64_t shape[NETDIV_MAX_RANK]; /* -1: any length; the first, the batch, always has any */
} netdiv_tensor_spec;

/* Flags of a device. A batch size that NETDIV_NEW_SIZES_STALL has not run before takes far longer: where the operator chose no
 * sizes, the node fills batches up to powers of two, and warms each up. */
#define NETDIV_USABLE 1u
#define NETDIV_NEW_SIZES_STALL 2u

/* A device that the plug-in can use, or cannot use because something is missing. */
typedef struct netdiv_device {
    char name[32];         /* for `--devices`, for instance "cuda:0" */
    char description[256]; /* model and driver, or what is missing */
    uint32_t usable;       /* NETDIV_USABLE, or that and further flags; 0: it is not */
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

/* Language models: prompts of token ids in, token ids out, each sample for itself (continuous batching). The plug-in has
 * the samples that it was given under way at the same time: one that ends leaves its slot to the next. Every prompt is
 * computed in its entirety: nothing is kept of another sample.
 *
 * The node checks every event. An output ends with an id that ends outputs, or with its last possible id, and nothing follows;
 * anything else fails all samples that are under way, and the node cancels them. */

typedef struct netdiv_token_settings {
    uint64_t size;           /* sizeof(netdiv_token_settings) */
    const char *path;        /* the model file */
    const char *device;      /* a device's name */
    const char *precision;   /* as in netdiv_model_settings */
    uint32_t threads;        /* host threads that an instance may use */
    uint32_t vocabulary;     /* ids are 0 to vocabulary - 1 */
    uint32_t longest_prompt; /* ids */
    uint32_t longest_output; /* ids */
    uint32_t slots;          /* samples under way at the same time, at most */
    uint32_t chunk;          /* ids of prompts that one step computes at most, so that outputs under way do not stall */
    uint64_t cache_bytes;    /* of the device's memory for keys and values, for an instance; 0: what `slots` need */
    uint32_t beams;          /* 1: greedy search; more: beam search of this width, and only the best output is given */
    uint32_t end_count;
    const int32_t *ends;     /* ids that end an output and are part of it */
} netdiv_token_settings;

/* What an instance has room for. */
typedef struct netdiv_token_room {
    uint32_t slots;       /* samples under way at the same time, at least 1 and at most as many as asked for */
    uint32_t reserved;    /* 0 */
    uint64_t cache_bytes; /* of the device's memory for keys and values */
} netdiv_token_room;

/* What a step gave for a sample. The ids follow those that were given before. */
typedef struct netdiv_token_event {
    uint64_t sample;    /* the number that it was submitted under */
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

    /* Brings a model onto a device. What the settings point at lives until unload. */
    netdiv_status (*load)(const netdiv_token_settings *settings, netdiv_token_model **model, netdiv_text error);
    void (*unload)(netdiv_token_model *model);

    /* Makes an instance with its cache, which one engine thread owns. */
    netdiv_status (*open)(netdiv_token_model *model, netdiv_token_instance **instance, netdiv_token_room *room,
                          netdiv_text error);
    void (*close)(netdiv_token_instance *instance);

    /* Runs every shape of a step once, before the node is ready. */
    netdiv_status (*warm_up)(netdiv_token_instance *instance, netdiv_text error);

    /* Takes a sample, and copies its ids. The node never has more samples under way than there are slots, gives each
     * another number, and keeps to the settings: 1 to longest_prompt ids below the vocabulary, and an output of `least` to
     * `most` ids, 1 <= least <= most <= longest_output. No id that ends an output is chosen before its place `least`.
     * NETDIV_OUT_OF_MEMORY: the cache has no room now; the node submits the sample again when another one has ended.
     * NETDIV_REFUSED: this sample fails, and the others go on. */
    netdiv_status (*submit)(netdiv_token_instance *instance, uint64_t sample, const int32_t *ids, uint32_t count,
                            uint32_t least, uint32_t most, netdiv_text error);

    /* Goes on: a chunk of the prompts that wait, and one id for every sample whose prompt is done. Writes at most one
     * event for a sample, and their number; there is room for one for every slot. An event without ids that is not
     * the last shows that a sample went on, by a part of its prompt for instance. When no sample has an event for as long
     * as --engine-timeout allows, the node gives all of them up. After an error no sample is
     * under way any more. */
    netdiv_status (*step)(netdiv_token_instance *instance, netdiv_token_event *events, uint32_t room, uint32_t *count,
                          netdiv_text error);

    /* Ends a sample at once; it has no further event. A number that is not under way is no error. */
    void (*cancel)(netdiv_token_instance *instance, uint64_t sample);
} netdiv_token_engine;

typedef struct netdiv_engine {
    uint32_t abi;         /* NETDIV_ENGINE_ABI */
    uint32_t size;        /* sizeof(netdiv_engine) */
    uint32_t tensor_size; /* sizeof(netdiv_tensor) */
    uint32_t reserved;    /* 0 */
    const char *name;     /* of the engine, for instance "torch" */
    const char *version;  /* of the library that it uses, as text */

    /* Writes up to `room` devices and their number, the preferred one first. */
    netdiv_status (*devices)(netdiv_device *devices, uint32_t room, uint32_t *count, netdiv_text error);

    /* Brings a model onto a device. Strings and specs live until unload. A plug-in for language models alone leaves this
     * and all that follow null, but for `tokens`. */
    netdiv_status (*load)(const netdiv_model_settings *settings, netdiv_model **model, netdiv_text error);
    void (*unload)(netdiv_model *model);

    /* Makes an instance, which one engine thread owns. */
    netdiv_status (*open)(netdiv_model *model, netdiv_instance **instance, netdiv_text error);
    void (*close)(netdiv_instance *instance);

    /* Number of batches that an instance can have begun and not finished, at least 1. With 2, copying a batch to the
     * device overlaps computing the batch before it. */
    uint32_t (*in_flight)(const netdiv_instance *instance);

    /* Memory in which batches are assembled, aligned to 64 bytes; memory that the device reads directly, if there is one. */
    netdiv_status (*allocate)(netdiv_instance *instance, uint64_t bytes, void **memory, netdiv_text error);
    void (*release)(netdiv_instance *instance, void *memory);

    /* Runs a batch of zeros in an expected shape before the node is ready, and compares the model's outputs with the
     * manifest; the arguments are those of begin. Nothing that a slot needs for this shape may be left to begin. */
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

    /* For language models; null if the plug-in has none, and in version 1. */
    const netdiv_token_engine *tokens;

    /* Waits until the slot's batch is done, and leaves it to finish, which then returns at once. Another thread calls it, at
     * the same time as all else but `finish` of this slot, while the slot holds a batch: so the node begins a batch while one
     * computes. Null if the plug-in cannot do that, and in version 1. */
    netdiv_status (*wait)(netdiv_instance *instance, uint32_t slot, netdiv_text error);
} netdiv_engine;

/* The one function that a plug-in exports. `abi` is the node's. A plug-in that does not support it still returns its table,
 * and the node reports which of the two is older. */
const netdiv_engine *netdiv_engine_plugin(uint32_t abi);

#ifdef __cplusplus
}
#endif

#endif
