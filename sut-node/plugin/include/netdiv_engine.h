/* Engine plug-ins of netdiv's SUT node, ABI version 1.
 *
 * A plug-in is a shared library that runs models on devices: TensorRT, a device of your own, or libtorch
 * (`sut-node/engine-torch`). It exports one function, `netdiv_engine_plugin`, which returns a table of functions. The
 * node does everything else: network, batching, decoding, pre- and post-processing, padding. `tests/plugin/doubler.cc`
 * is a complete plug-in.
 *
 *     sut-node --engine ./libmine.so --model mine.toml --devices mine:0,mine:1
 *
 * Life of a plug-in: netdiv_engine_plugin, devices, then for each device load; for each instance on it open, allocate,
 * warm_up, and begin/finish for every batch; close, unload at the end.
 *
 * Threads: `devices`, `load`, `unload`, `open` and `close` are called from one thread at a time, whichever. An instance is
 * used by one thread at a time, instances of one model by several at the same time.
 *
 * Errors: every function that can fail returns a netdiv_status. Unless it is NETDIV_OK, the function has put a text into
 * `error` that says what is wrong, zero-terminated and cut to its room. No C++ exception may leave a function.
 */
#ifndef NETDIV_ENGINE_H
#define NETDIV_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NETDIV_ENGINE_ABI 1u

/* Most dimensions of a tensor, the batch included. */
#define NETDIV_MAX_RANK 9

typedef enum netdiv_status {
    NETDIV_OK = 0,
    /* The model, or the device, failed. */
    NETDIV_FAILED = 1,
    /* The device's memory is full: the node tries again with fewer samples. */
    NETDIV_OUT_OF_MEMORY = 2,
    /* The model does not fit its manifest, or the device or precision is none that the plug-in serves. */
    NETDIV_REFUSED = 3
} netdiv_status;

/* The numbers of `DataType` in proto/netdiv/v1/sut_node.proto. */
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

/* What the manifest says of an input or output. */
typedef struct netdiv_tensor_spec {
    const char *name;
    uint32_t data_type;
    uint32_t rank;                  /* the batch included */
    int64_t shape[NETDIV_MAX_RANK]; /* -1: free; the first, the batch, always is */
} netdiv_tensor_spec;

/* A device that the plug-in can use, or could if something were not missing. */
typedef struct netdiv_device {
    char name[32];         /* as `--devices` takes it, for instance "cuda:0" */
    char description[256]; /* make, driver; or what is missing */
    uint32_t usable;       /* 1 or 0 */
} netdiv_device;

typedef struct netdiv_model_settings {
    uint64_t size;         /* sizeof(netdiv_model_settings) */
    const char *path;      /* the model file */
    const char *device;    /* a device's name */
    const char *precision; /* "fp32", "fp16" or "bf16": type of the weights; "tf32": fp32, multiplied as TF32 */
    uint32_t threads;      /* that an instance may use on the host's processors */
    uint32_t fixed_shapes; /* 1: batches come only in shapes that were warmed up; after NETDIV_OUT_OF_MEMORY in smaller ones */
    uint32_t input_count;
    uint32_t output_count;
    const netdiv_tensor_spec *inputs; /* in the order of the model's arguments */
    const netdiv_tensor_spec *outputs;
} netdiv_model_settings;

/* The plug-in's own. */
typedef struct netdiv_model netdiv_model;
typedef struct netdiv_instance netdiv_instance;

typedef struct netdiv_engine {
    uint32_t abi;         /* NETDIV_ENGINE_ABI */
    uint32_t size;        /* sizeof(netdiv_engine) */
    uint32_t tensor_size; /* sizeof(netdiv_tensor) */
    uint32_t reserved;    /* 0 */
    const char *name;     /* of the engine, for instance "torch" */
    const char *version;  /* of what it runs on, in words */

    /* Writes up to `room` devices and their number, the preferred one first. */
    netdiv_status (*devices)(netdiv_device *devices, uint32_t room, uint32_t *count, netdiv_text error);

    /* Brings a model onto a device. Strings and specs live until unload. */
    netdiv_status (*load)(const netdiv_model_settings *settings, netdiv_model **model, netdiv_text error);
    void (*unload)(netdiv_model *model);

    /* Makes an instance: what one engine thread owns. */
    netdiv_status (*open)(netdiv_model *model, netdiv_instance **instance, netdiv_text error);
    void (*close)(netdiv_instance *instance);

    /* Number of batches that an instance can have begun and not finished, at least 1. With 2, the copy of a batch to the
     * device overlaps the computation of the one before. */
    uint32_t (*in_flight)(const netdiv_instance *instance);

    /* Memory that batches are put together in, aligned to 64 bytes; where there is a device, memory that it reads directly. */
    netdiv_status (*allocate)(netdiv_instance *instance, uint64_t bytes, void **memory, netdiv_text error);
    void (*release)(netdiv_instance *instance, void *memory);

    /* Runs a batch of zeros of a shape that will come, before the node says that it is ready, and compares what the model
     * gives with the manifest; takes what begin takes. */
    netdiv_status (*warm_up)(netdiv_instance *instance, const netdiv_tensor *inputs, uint32_t input_count,
                             const netdiv_tensor *outputs, uint32_t output_count, netdiv_text error);

    /* Begins a batch in a slot (0 to in_flight - 1) that holds none, and may return before it is done. The memory of
     * inputs and outputs stays valid and untouched until finish. The shapes of the outputs are those that the manifest
     * asks for; a model that gives others is an error. Fails: the slot holds no batch. */
    netdiv_status (*begin)(netdiv_instance *instance, uint32_t slot, const netdiv_tensor *inputs, uint32_t input_count,
                           const netdiv_tensor *outputs, uint32_t output_count, netdiv_text error);

    /* Waits until the slot's batch is done and its outputs are in their memory. Afterwards the slot holds no batch, even
     * when this fails. */
    netdiv_status (*finish)(netdiv_instance *instance, uint32_t slot, netdiv_text error);

    /* For engines that stream tokens, in a later version: null. */
    const void *tokens;
} netdiv_engine;

/* The one function that a plug-in exports. `abi` is the node's; a plug-in that cannot serve it returns its own table all
 * the same, and the node says which of the two is older. */
const netdiv_engine *netdiv_engine_plugin(uint32_t abi);

#ifdef __cplusplus
}
#endif

#endif
