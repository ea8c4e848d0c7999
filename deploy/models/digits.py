"""Network of the demo, with the weights of deploy/digits/digits.onnx."""

from pathlib import Path

import torch
from torch import Tensor, nn

NAME = "digits"
ONNX = Path(__file__).parent.parent / "digits" / "digits.onnx"
LAYERS = {"conv1": "0", "conv2": "2", "dense1": "6", "dense2": "8"}  # names in the ONNX file and here


class Digits(nn.Module):
    """Network from images, uint8 [n, 1, 8, 8] with values 0 to 16, to logits, float32 [n, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
        )

    def forward(self, image: Tensor) -> Tensor:
        return self.network((image.to(torch.float32) / 16).to(self.network[0].weight.dtype)).to(torch.float32)


def build(small: bool = False) -> Digits:
    """Returns the trained network, which is small even without `small`."""
    import onnx  # only this network needs it
    from onnx import numpy_helper

    model = Digits()
    state = {}
    for tensor in onnx.load(ONNX).graph.initializer:
        layer, _, kind = tensor.name.partition(".")
        if layer in LAYERS:
            value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
            value = value.T.contiguous() if value.dim() == 2 else value  # ONNX stores dense layers as [in, out]
            state[f"{LAYERS[layer]}.{'weight' if kind == 'w' else 'bias'}"] = value
    model.network.load_state_dict(state)
    return model.eval()


def prepare(model: Digits) -> None:
    """Prepares the network for inference: this one needs no changes."""


def examples(model: Digits, n: int) -> tuple[Tensor, ...]:
    """Returns `n` samples of noise."""
    return (torch.randint(0, 17, (n, 1, 8, 8), dtype=torch.uint8),)


def rename(key: str) -> str | None:
    """Returns the name in `network` of a weights file's key."""
    return key


def manifests(model: Digits) -> dict[str, dict]:
    """Returns the manifest."""
    return {NAME: {
        "workload": "image-classification",
        "inputs": [("image", "uint8", [1, 8, 8])],
        "outputs": [("logits", "float32", [10])],
    }}
