"""The demo's network, with the weights of deploy/digits/digits.onnx."""

from pathlib import Path

import torch
from torch import Tensor, nn

NAME = "digits"
ONNX = Path(__file__).parent.parent / "digits" / "digits.onnx"
LAYERS = {"conv1": "0", "conv2": "2", "dense1": "6", "dense2": "8"}  # names there and here


class Digits(nn.Module):
    """Images, uint8 [n, 1, 8, 8] of values 0..16, to logits, float32 [n, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, image: Tensor) -> Tensor:
        return self.network((image.to(torch.float32) / 16).to(self.network[0].weight.dtype)).to(torch.float32)


def build(small: bool = False) -> Digits:
    """The trained network; it is small as it is."""
    import onnx  # which the other networks do not need
    from onnx import numpy_helper

    model = Digits()
    state = {}
    for tensor in onnx.load(ONNX).graph.initializer:
        layer, _, kind = tensor.name.partition(".")
        if layer in LAYERS:
            value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            value = value.T.contiguous() if value.dim() == 2 else value  # ONNX has dense layers as [in, out]
            state[f"{LAYERS[layer]}.{'weight' if kind == 'w' else 'bias'}"] = value
    model.network.load_state_dict(state)
    return model.eval()


def prepare(model: Digits) -> None:
    """What inference needs and training does not have: nothing."""


def examples(model: Digits, n: int) -> tuple[Tensor, ...]:
    """`n` samples of noise."""
    return (torch.randint(0, 17, (n, 1, 8, 8), dtype=torch.uint8),)


def rename(key: str) -> str | None:
    """The name that a weights file's key has in `network`."""
    return key


def manifests(model: Digits) -> dict[str, dict]:
    """One way to send a sample."""
    return {NAME: {
        "workload": "image-classification",
        "inputs": [("image", "uint8", [1, 8, 8])],
        "outputs": [("logits", "float32", [10])],
    }}
