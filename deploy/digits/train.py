"""Trains the small digit network of the demo and writes it as ONNX, with its held-out images.

Data: the 1,797 images of `sklearn.datasets.load_digits`, 8x8, values 0 to 16. In the file's order,
the first 1,297 are for training and the last 500 are held out.

The settings below were chosen only with `--validate`: four-fold cross-validation within the 1,297
training images. A full run scores the held-out images only at its end, and writes them beside the
model.

All runs on one machine write identical bytes. On another processor numpy may round differently,
which changes the weights but not the images and labels.
"""

import argparse
import os
from pathlib import Path

# The order of sums must not depend on the number of cores; numpy reads these when it loads.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

Array = np.ndarray
Params = dict[str, Array]

TRAIN, FOLDS = 1297, 4
SEED, EPOCHS, BATCH = 1998, 100, 64
RATE, DECAY, DROPOUT, AVERAGE = 2e-3, 1e-2, 0.3, 0.995
ROTATE, SCALE, SHIFT = 0.3, 0.2, 1.0  # maximum change: radians, share, pixels
SHAPES = {  # convolutions as [height, width, in, out], dense layers as [in, out]
    "conv1": (3, 3, 1, 16), "conv2": (3, 3, 16, 32), "dense1": (512, 64), "dense2": (64, 10),
}


def load() -> tuple[Array, Array]:
    """Returns all images as uint8 [n, 1, 8, 8] and all labels as int32 [n], in the file's order."""
    digits = load_digits()
    return digits.images.astype(np.uint8)[:, None], digits.target.astype(np.int32)


def scaled(images: Array) -> Array:
    """Converts uint8 [n, 1, 8, 8] to float, divided by 16, like the exported graph's first nodes."""
    return (images.astype(np.float32) / 16).transpose(0, 2, 3, 1)


def augment(images: Array, rng: np.random.Generator) -> Array:
    """Rotates, scales and shifts each image [n, 8, 8, 1] a little, with linear interpolation."""
    n, middle, border = len(images), 3.5, 4
    angle = rng.uniform(-ROTATE, ROTATE, (n, 1, 1))
    zoom_y, zoom_x = 1 + rng.uniform(-SCALE, SCALE, (2, n, 1, 1))
    shift_y, shift_x = rng.uniform(-SHIFT, SHIFT, (2, n, 1, 1))
    y, x = np.mgrid[:8, :8] - middle
    # Source position of each pixel, in an image with a sufficiently wide border of zeros.
    from_y = (np.cos(angle) * y + np.sin(angle) * x) * zoom_y + shift_y + middle + border
    from_x = (np.cos(angle) * x - np.sin(angle) * y) * zoom_x + shift_x + middle + border
    padded = np.pad(images[..., 0], ((0, 0), (border, border), (border, border)))
    i, top, left = np.arange(n)[:, None, None], from_y.astype(int), from_x.astype(int)
    down, right = from_y - top, from_x - left
    upper = padded[i, top, left] * (1 - right) + padded[i, top, left + 1] * right
    lower = padded[i, top + 1, left] * (1 - right) + padded[i, top + 1, left + 1] * right
    return (upper * (1 - down) + lower * down).astype(np.float32)[..., None]


def start(rng: np.random.Generator) -> Params:
    """Draws the initial weights (He et al. scaling) and sets the biases to zero."""
    params: Params = {}
    for name, shape in SHAPES.items():
        fan_in = int(np.prod(shape[:-1]))
        params[name + ".w"] = rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        params[name + ".b"] = np.zeros(shape[-1], np.float32)
    return params


def patches(x: Array) -> Array:
    """Returns the 3x3 neighbourhood of every pixel: [n, h, w, c] to [n * h * w, 9 * c]."""
    _, h, w, c = x.shape
    p = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    parts = [p[:, k // 3:k // 3 + h, k % 3:k % 3 + w] for k in range(9)]
    return np.concatenate(parts, axis=3).reshape(-1, 9 * c)


def unpatch(grad: Array, shape: tuple[int, ...]) -> Array:
    """Adds the gradients of all neighbourhoods to their pixels: the reverse of `patches`."""
    n, h, w, c = shape
    grad, p = grad.reshape(n, h, w, 9, c), np.zeros((n, h + 2, w + 2, c), np.float32)
    for k in range(9):
        p[:, k // 3:k // 3 + h, k % 3:k % 3 + w] += grad[:, :, :, k]
    return p[:, 1:-1, 1:-1]


def forward(params: Params, x: Array, keep: Array | None = None) -> tuple[Array, tuple]:
    """Returns the logits of float images [n, 8, 8, 1] (`keep`: dropout mask), and all steps."""
    n, cols1 = len(x), patches(x)
    w1, w2 = (params[k].reshape(-1, SHAPES[k[:5]][-1]) for k in ("conv1.w", "conv2.w"))
    act1 = np.maximum(cols1 @ w1 + params["conv1.b"], 0).reshape(n, 8, 8, -1)
    cols2 = patches(act1)
    act2 = np.maximum(cols2 @ w2 + params["conv2.b"], 0).reshape(n, 4, 2, 4, 2, -1)
    pool = act2.max(axis=(2, 4))
    # Channels come first from here on, which is the order in which ONNX flattens.
    features = pool.transpose(0, 3, 1, 2).reshape(n, -1)
    features = features if keep is None else features * keep
    hidden = np.maximum(features @ params["dense1.w"] + params["dense1.b"], 0)
    logits = hidden @ params["dense2.w"] + params["dense2.b"]
    return logits, (cols1, act1, cols2, act2, pool, features, keep, hidden)


def backward(params: Params, saved: tuple, grad: Array) -> Params:
    """Returns the gradient of every parameter, from the steps of `forward` and the logits' gradient."""
    cols1, act1, cols2, act2, pool, features, keep, hidden = saved
    n = len(grad)
    out: Params = {"dense2.w": hidden.T @ grad, "dense2.b": grad.sum(0)}
    grad = (grad @ params["dense2.w"].T) * (hidden > 0)
    out |= {"dense1.w": features.T @ grad, "dense1.b": grad.sum(0)}
    grad = (grad @ params["dense1.w"].T) * keep
    grad = grad.reshape(n, -1, 4, 4).transpose(0, 2, 3, 1)[:, :, None, :, None]
    # Only a pooled maximum has a gradient, and only where ReLU was open.
    grad = (grad * ((act2 == pool[:, :, None, :, None]) & (act2 > 0))).reshape(n * 64, -1)
    out |= {"conv2.w": (cols2.T @ grad).reshape(SHAPES["conv2"]), "conv2.b": grad.sum(0)}
    grad = unpatch(grad @ params["conv2.w"].reshape(-1, SHAPES["conv2"][-1]).T, act1.shape)
    grad = (grad * (act1 > 0)).reshape(n * 64, -1)
    out |= {"conv1.w": (cols1.T @ grad).reshape(SHAPES["conv1"]), "conv1.b": grad.sum(0)}
    return out


def train(images: Array, labels: Array) -> Params:
    """Trains with Adam, weight decay and a falling rate; returns the weights' running average."""
    rng = np.random.default_rng(SEED)
    params = start(rng)
    mean = {k: v.copy() for k, v in params.items()}
    first, second = ({k: np.zeros_like(v) for k, v in params.items()} for _ in range(2))
    x, one_hot = scaled(images), np.eye(10, dtype=np.float32)[labels]
    steps, step = EPOCHS * (len(x) // BATCH), 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for at in range(0, len(x) - BATCH + 1, BATCH):
            chosen = order[at:at + BATCH]
            keep = rng.random((BATCH, SHAPES["dense1"][0])) >= DROPOUT
            keep = keep.astype(np.float32) / np.float32(1 - DROPOUT)
            logits, saved = forward(params, augment(x[chosen], rng), keep)
            share = np.exp(logits - logits.max(1, keepdims=True))
            share /= share.sum(1, keepdims=True)
            grads = backward(params, saved, (share - one_hot[chosen]) / BATCH)
            rate = np.float32(RATE * (1 + np.cos(np.pi * step / steps)) / 2)
            step += 1
            for k, g in grads.items():
                first[k] += 0.1 * (g - first[k])
                second[k] += 0.001 * (g * g - second[k])
                move = first[k] / (1 - 0.9**step) / (np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8)
                decay = DECAY * params[k] if k.endswith(".w") else 0
                params[k] -= rate * (move + decay)
                mean[k] += (1 - AVERAGE) * (params[k] - mean[k])
    return mean


def export(params: Params) -> onnx.ModelProto:
    """Returns the network as an ONNX model whose input is the unchanged uint8 images."""
    tensors = [numpy_helper.from_array(np.array(16, np.float32), "sixteen")]
    for name, value in params.items():
        value = value.transpose(3, 2, 0, 1) if value.ndim == 4 else value
        tensors.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    same = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    layers = [  # operator, inputs, output, attributes
        ("Cast", "image", "float", {"to": TensorProto.FLOAT}),
        ("Div", "float sixteen", "scaled", {}),
        ("Conv", "scaled conv1.w conv1.b", "conv1", same),
        ("Relu", "conv1", "act1", {}),
        ("Conv", "act1 conv2.w conv2.b", "conv2", same),
        ("Relu", "conv2", "act2", {}),
        ("MaxPool", "act2", "pool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Flatten", "pool", "features", {"axis": 1}),
        ("Gemm", "features dense1.w dense1.b", "dense1", {}),
        ("Relu", "dense1", "hidden", {}),
        ("Gemm", "hidden dense2.w dense2.b", "logits", {}),
    ]
    nodes = [helper.make_node(kind, inputs.split(), [output], f"{output}.{kind}", **attributes)
             for kind, inputs, output, attributes in layers]
    image = helper.make_tensor_value_info("image", TensorProto.UINT8, ["batch", 1, 8, 8])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])
    graph = helper.make_graph(nodes, "digits", [image], [logits], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="netdiv-digits", producer_version="1")
    onnx.checker.check_model(model, full_check=True)
    return model


def cross_validate(images: Array, labels: Array) -> float:
    """Returns the accuracy over `FOLDS` runs; each is scored on images that it did not train on."""
    right = 0
    for fold in np.array_split(np.arange(len(images)), FOLDS):
        params = train(np.delete(images, fold, 0), np.delete(labels, fold))
        right += int((forward(params, scaled(images[fold]))[0].argmax(1) == labels[fold]).sum())
    return right / len(images)


def verify(path: Path, params: Params, images: Array, labels: Array) -> float:
    """Compares the file with the numpy network, at several batch sizes; returns its accuracy."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = forward(params, scaled(images))[0]
    for size in (1, 7, len(images)):
        batches = [images[i:i + size] for i in range(0, len(images), size)]
        got = np.concatenate([session.run(["logits"], {"image": b})[0] for b in batches])
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    return float((got.argmax(1) == labels).mean())


def main() -> None:
    """Trains, writes the files, checks them, and prints the accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="folder to write to (default: the script's)")
    parser.add_argument("--validate", action="store_true", help="cross-validate; write nothing")
    args = parser.parse_args()
    images, labels = load()
    if args.validate:
        print(f"validation accuracy: {cross_validate(images[:TRAIN], labels[:TRAIN]):.4f}")
        return
    params = train(images[:TRAIN], labels[:TRAIN])
    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / "digits.onnx"
    path.write_bytes(export(params).SerializeToString(deterministic=True))
    for name, part in (("images", images[TRAIN:]), ("labels", labels[TRAIN:])):
        with open(args.output / f"{name}.npy", "wb") as file:
            np.lib.format.write_array(file, np.ascontiguousarray(part), version=(1, 0))
    accuracy = verify(path, params, images[TRAIN:], labels[TRAIN:])
    count = sum(value.size for value in params.values())
    print(f"{count} parameters, held-out accuracy with onnxruntime: {accuracy:.4f}")


if __name__ == "__main__":
    main()
