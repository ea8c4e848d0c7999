"""Trains the small language model of the demo and writes it as ONNX, with its data set.

The model sorts digits: it continues `BEGIN 3 1 2 SORT` with `1 2 3 END`. The prompts of the data
set are held out: training uses no sequence that `is_held_out` selects.

All runs on one machine write identical bytes. Another processor may round sums differently, which
changes the weights but not the prompts and their outputs.
"""

import argparse
import os
import struct
from pathlib import Path

# The order of sums must not depend on the number of cores; XLA reads this when it starts.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import optax
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray
Params = dict[str, Array]

BEGIN, SORT, END, FILL = 10, 11, 12, 13  # ids 0 to 9 are the digits
VOCABULARY, LEAST, MOST = 16, 3, 12
PROMPT, OUTPUT, LONGEST = MOST + 2, MOST + 1, 32  # tokens; LONGEST is the number of positions
LAYERS, WIDTH, HEADS, INNER = 4, 64, 4, 256
SEED, STEPS, BATCH, RATE, DECAY = 12, 2000, 128, 3e-3, 1e-2
SAMPLES, GREEDY = 500, 200


def prompt(digits: list[int]) -> list[int]:
    """Returns the prompt for digits."""
    return [BEGIN, *digits, SORT]


def output(digits: list[int]) -> list[int]:
    """Returns the correct output for digits."""
    return [*sorted(digits), END]


def is_held_out(digits: list[int]) -> bool:
    """Returns true for one sequence in eight; training uses none of these."""
    return sum(place * digit for place, digit in enumerate(digits, 1)) % 8 == 0


def draw(rng: np.random.Generator, held_out: bool) -> list[int]:
    """Draws digits, from the held-out sequences or from the others."""
    while True:
        digits = rng.integers(0, 10, rng.integers(LEAST, MOST + 1)).tolist()
        if is_held_out(digits) == held_out:
            return digits


def batch(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Returns ids, the id after each, and a mask that is set where the latter is part of an output."""
    rows = np.full((BATCH, PROMPT + OUTPUT), FILL, np.int32)
    counts = np.zeros(rows.shape, bool)
    for row, count in zip(rows, counts):
        digits = draw(rng, held_out=False)
        ids = prompt(digits) + output(digits)
        row[:len(ids)], count[len(digits) + 2:len(ids)] = ids, True
    return rows[:, :-1], rows[:, 1:], counts[:, 1:]


def start(rng: np.random.Generator) -> Params:
    """Draws the initial weights."""
    def normal(*shape: int, scale: float) -> Array:
        return rng.normal(0, scale, shape).astype(np.float32)

    params = {"tokens": normal(VOCABULARY, WIDTH, scale=0.1),
              "positions": normal(LONGEST, WIDTH, scale=0.1),
              "norm": np.ones(WIDTH, np.float32)}
    for layer in range(LAYERS):
        params |= {
            f"{layer}.norm1": np.ones(WIDTH, np.float32),
            f"{layer}.qkv": normal(WIDTH, 3 * WIDTH, scale=WIDTH**-0.5),
            f"{layer}.mixed": normal(WIDTH, WIDTH, scale=(2 * LAYERS * WIDTH) ** -0.5),
            f"{layer}.norm2": np.ones(WIDTH, np.float32),
            f"{layer}.up": normal(WIDTH, INNER, scale=WIDTH**-0.5),
            f"{layer}.down": normal(INNER, WIDTH, scale=(2 * LAYERS * INNER) ** -0.5),
        }
    return params


def normed(x: Array, scale: Array) -> Array:
    """Normalises like ONNX's LayerNormalization without a bias."""
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def logits(params: Params, ids: Array) -> Array:
    """Returns the logits of rows of ids, computed without a cache."""
    rows, length = ids.shape
    x = params["tokens"][ids] + params["positions"][:length]
    hidden = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)
    for layer in range(LAYERS):
        qkv = normed(x, params[f"{layer}.norm1"]) @ params[f"{layer}.qkv"]
        query, key, value = (part.reshape(rows, length, HEADS, -1).swapaxes(1, 2)
                             for part in jnp.split(qkv, 3, -1))
        scores = query @ key.swapaxes(2, 3) * (WIDTH // HEADS) ** -0.5 + hidden
        mixed = (jax.nn.softmax(scores) @ value).swapaxes(1, 2).reshape(x.shape)
        x = x + mixed @ params[f"{layer}.mixed"]
        inner = jax.nn.relu(normed(x, params[f"{layer}.norm2"]) @ params[f"{layer}.up"])
        x = x + inner @ params[f"{layer}.down"]
    return normed(x, params["norm"]) @ params["tokens"].T


def train() -> Params:
    """Trains with AdamW at a falling rate; returns the weights in half precision, as exported."""
    rate = optax.warmup_cosine_decay_schedule(0.0, RATE, 100, STEPS)
    adam = optax.adamw(rate, b2=0.98, weight_decay=DECAY)
    rule = optax.chain(optax.clip_by_global_norm(1.0), adam)
    rng = np.random.default_rng(SEED)
    params = start(rng)
    state = rule.init(params)

    def loss(params: Params, ids: Array, following: Array, counts: Array) -> Array:
        each = optax.softmax_cross_entropy_with_integer_labels(logits(params, ids), following)
        return (each * counts).sum() / counts.sum()

    @jax.jit
    def step(params: Params, state: optax.OptState, *drawn: Array) -> tuple:
        value, grads = jax.value_and_grad(loss)(params, *drawn)
        updates, state = rule.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    for number in range(1, STEPS + 1):
        params, state, value = step(params, state, *batch(rng))
        if number % 200 == 0:
            print(f"step {number}: loss {value:.5f}", flush=True)
    return {name: np.asarray(value).astype(np.float16) for name, value in params.items()}


def greedy(params: Params, prompts: list[list[int]]) -> tuple[list[list[int]], list[float]]:
    """Returns the greedy outputs, and the minimum lead of the chosen ids' logits in each."""
    single = {name: jnp.asarray(value, jnp.float32) for name, value in params.items()}
    run = jax.jit(lambda ids: logits(single, ids))
    rows = [list(ids) for ids in prompts]
    leads, going = [np.inf] * len(rows), set(range(len(rows)))
    while going:
        # Later ids cannot change the logits of an id, so that rows can be padded to one length.
        filled = np.full((len(rows), LONGEST), FILL, np.int32)
        for row, ids in zip(filled, rows):
            row[:len(ids)] = ids
        found = np.asarray(run(filled))
        for n in sorted(going):
            here = found[n, len(rows[n]) - 1]
            second, first = np.sort(here)[-2:]
            leads[n] = min(leads[n], float(first - second))
            rows[n].append(int(here.argmax()))
            if rows[n][-1] == END or len(rows[n]) == len(prompts[n]) + OUTPUT:
                going.remove(n)
    return [row[len(ids):] for row, ids in zip(rows, prompts)], leads


def export(params: Params) -> onnx.ModelProto:
    """Returns the model as ONNX, with a cache of keys and values and Optimum's names."""
    nodes, tensors = [], []

    def op(kind: str, inputs: str, outputs: str, **attributes: object) -> str:
        name = f"{outputs.split()[0]}/{kind}"
        nodes.append(helper.make_node(kind, inputs.split(), outputs.split(), name, **attributes))
        return outputs

    def constant(name: str, value: Array) -> str:
        tensors.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    for name, value in params.items():
        op("Cast", constant(f"{name}.half", value), name, to=TensorProto.FLOAT)
    constant("into_heads", np.array([0, 0, HEADS, WIDTH // HEADS]))
    constant("from_heads", np.array([0, 0, WIDTH]))
    constant("scale", np.array((WIDTH // HEADS) ** -0.5, np.float32))
    constant("seen", np.array(0, np.float32)), constant("unseen", np.array(-1e9, np.float32))
    constant("zero", np.array(0)), constant("one", np.array(1))
    constant("masked_axes", np.array([1, 2]))

    # A token attends to the unmasked tokens up to its own position.
    op("Shape", "input_ids", "ids_shape"), op("Gather", "ids_shape one", "new")
    op("Shape", "attention_mask", "mask_shape"), op("Gather", "mask_shape one", "total")
    op("Sub", "total new", "past")
    op("Range", "zero total one", "places"), op("Range", "past total one", "own_places")
    op("Unsqueeze", "own_places one", "own_column"), op("Greater", "places own_column", "later")
    op("Unsqueeze", "attention_mask masked_axes", "mask"), op("Equal", "mask zero", "left_out")
    op("Or", "later left_out", "hidden"), op("Where", "hidden unseen seen", "bias")

    op("Gather", "tokens input_ids", "token"), op("Gather", "positions position_ids", "position")
    x = op("Add", "token position", "embedded")
    for n in range(LAYERS):
        at = f"layer{n}"
        op("LayerNormalization", f"{x} {n}.norm1", f"{at}.normed", axis=-1, epsilon=1e-5)
        op("MatMul", f"{at}.normed {n}.qkv", f"{at}.qkv")
        op("Split", f"{at}.qkv", f"{at}.q {at}.k {at}.v", axis=-1)
        for part, cache in (("q", None), ("k", "key"), ("v", "value")):
            op("Reshape", f"{at}.{part} into_heads", f"{at}.{part}.split")
            op("Transpose", f"{at}.{part}.split", f"{at}.{part}.heads", perm=[0, 2, 1, 3])
            if cache:
                op("Concat", f"past_key_values.{n}.{cache} {at}.{part}.heads",
                   f"present.{n}.{cache}", axis=2)
        op("Transpose", f"present.{n}.key", f"{at}.keys", perm=[0, 1, 3, 2])
        op("MatMul", f"{at}.q.heads {at}.keys", f"{at}.products")
        op("Mul", f"{at}.products scale", f"{at}.scaled")
        op("Add", f"{at}.scaled bias", f"{at}.scores")
        op("Softmax", f"{at}.scores", f"{at}.shares", axis=-1)
        op("MatMul", f"{at}.shares present.{n}.value", f"{at}.values")
        op("Transpose", f"{at}.values", f"{at}.turned", perm=[0, 2, 1, 3])
        op("Reshape", f"{at}.turned from_heads", f"{at}.joined")
        op("MatMul", f"{at}.joined {n}.mixed", f"{at}.mixed")
        x = op("Add", f"{x} {at}.mixed", f"{at}.attended")
        op("LayerNormalization", f"{x} {n}.norm2", f"{at}.normed2", axis=-1, epsilon=1e-5)
        op("MatMul", f"{at}.normed2 {n}.up", f"{at}.up"), op("Relu", f"{at}.up", f"{at}.inner")
        op("MatMul", f"{at}.inner {n}.down", f"{at}.down")
        x = op("Add", f"{x} {at}.down", f"{at}.out")
    op("LayerNormalization", f"{x} norm", "normed", axis=-1, epsilon=1e-5)
    op("Transpose", "tokens", "head", perm=[1, 0]), op("MatMul", "normed head", "logits")

    def value(name: str, kind: int, *shape: object) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, kind, list(shape))

    def caches(name: str, length: str) -> list[onnx.ValueInfoProto]:
        shape = ("batch", HEADS, length, WIDTH // HEADS)
        return [value(f"{name}.{n}.{part}", TensorProto.FLOAT, *shape)
                for n in range(LAYERS) for part in ("key", "value")]

    inputs = [value("input_ids", TensorProto.INT64, "batch", "tokens"),
              value("attention_mask", TensorProto.INT64, "batch", "total"),
              value("position_ids", TensorProto.INT64, "batch", "tokens"),
              *caches("past_key_values", "past")]
    outputs = [value("logits", TensorProto.FLOAT, "batch", "tokens", VOCABULARY),
               *caches("present", "total")]
    graph = helper.make_graph(nodes, "sorting", inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="netdiv-sorting", producer_version="1")
    onnx.checker.check_model(model, full_check=True)
    return model


def cached(path: Path, prompts: list[list[int]]) -> list[list[int]]:
    """Returns the greedy outputs of the file in onnxruntime, token by token with the cache."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [put.name for put in session.get_inputs()][3:]
    outputs = []
    for ids in prompts:
        cache = [np.zeros((1, HEADS, 0, WIDTH // HEADS), np.float32)] * len(names)
        new, total, out = ids, 0, []
        while len(out) < OUTPUT and END not in out:
            places = np.arange(total, total + len(new))
            total += len(new)
            found, *cache = session.run(None, {
                "input_ids": np.array([new]), "attention_mask": np.ones((1, total), np.int64),
                "position_ids": places[None], **dict(zip(names, cache))})
            new = [int(found[0, -1].argmax())]
            out += new
        outputs.append(out)
    return outputs


def write_ids(path: Path, rows: list[list[int]]) -> None:
    """Writes token ids as a data set of netdiv (docs/ENGINES.md)."""
    starts = np.cumsum([0, *map(len, rows)])
    with open(path, "wb") as file:
        file.write(b"NDIDS001" + struct.pack("<Q", len(rows)) + starts.astype("<u8").tobytes())
        file.write(np.concatenate(rows).astype("<i4").tobytes())


def strange(rng: np.random.Generator) -> list[int]:
    """Draws a prompt of random ids, unlike in training, so that its output depends on every weight."""
    return rng.integers(0, VOCABULARY, rng.integers(1, PROMPT + 1)).tolist()


def main() -> None:
    """Trains, writes the files, checks them, and prints the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder to write to (default: the script's)")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED + 1)
    held_out: list[list[int]] = []
    while len(held_out) < SAMPLES:
        digits = draw(rng, held_out=True)
        held_out += [digits] if digits not in held_out else []
    prompts, outputs = [*map(prompt, held_out)], [*map(output, held_out)]
    write_ids(folder / "prompts.ids", prompts)
    write_ids(folder / "outputs.ids", outputs)

    (folder / "sorting.toml").write_text(
        f'name = "sorting"\nvocabulary = {VOCABULARY}\nmax_input_tokens = {PROMPT}\n'
        f"max_tokens = {OUTPUT}\neos = [{END}]\n")

    params = train()
    path = folder / "sorting.onnx"
    path.write_bytes(export(params).SerializeToString(deterministic=True))

    # Half of the prompts are from the data set. Prompts with nearly tied ids are left out: another
    # runtime may choose the other id.
    asked = prompts[:GREEDY // 2] + [strange(rng) for _ in range(GREEDY)]
    found = zip(asked, *greedy(params, asked))
    clear = [(ids, out) for ids, out, lead in found if lead > 0.01][:GREEDY]
    lines = [f"{' '.join(map(str, ids))} > {' '.join(map(str, out))}\n" for ids, out in clear]
    (folder / "greedy.txt").write_text("".join(lines))
    if cached(path, [ids for ids, _ in clear]) != [out for _, out in clear]:
        raise SystemExit("the outputs of the file differ from the network's")
    right = sum(got == wanted for got, wanted in zip(cached(path, prompts), outputs))
    count = sum(value.size for value in params.values())
    print(f"{count} parameters, {path.stat().st_size} bytes; {right} of {SAMPLES} outputs right,"
          f" {len(clear)} equal with and without the cache")


if __name__ == "__main__":
    main()
