"""3D-UNet for MLPerf's segmentation of kidney tumours, KiTS19: computes a window of the volume.

Architecture and names: mlcommons/inference v5.0.1, vision/medical_imaging/3d-unet-kits19/pytorch_checkpoint_SUT.py;
Cicek et al., <https://arxiv.org/abs/1606.06650>. The node slides the window and joins the results.
"""

import torch
from torch import Tensor, nn

from layers import he

NAME = "unet3d"


def block(before: int, after: int, stride: int = 1) -> nn.Sequential:
    """Returns a 3x3x3 convolution, an instance norm and a ReLU."""
    convolution = nn.Conv3d(before, after, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.InstanceNorm3d(after, affine=True), nn.ReLU())


class Down(nn.Module):
    """Two blocks from [n, c, r, r, r] to [n, after, r / stride, ...]. The first one computes every `stride`-th voxel."""

    def __init__(self, before: int, after: int, stride: int = 2) -> None:
        super().__init__()
        self.conv1 = block(before, after, stride)
        self.conv2 = block(after, after)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv2(self.conv1(x))


class Up(nn.Module):
    """Doubles the resolution, appends the encoder's features of that resolution, and applies two blocks."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.upsample_conv = nn.Sequential(nn.ConvTranspose3d(before, after, 2, stride=2))
        self.conv1 = block(2 * after, after)
        self.conv2 = block(after, after)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.conv2(self.conv1(torch.cat([self.upsample_conv(x), skip], 1)))


class UNet(nn.Module):
    """Part with weights: from float [n, 1, r, r, r] to [n, classes, r, r, r]; r is a multiple of 2 ** len(filters)."""

    def __init__(self, filters: list[int], classes: int) -> None:
        super().__init__()
        self.input_block = Down(1, filters[0], stride=1)
        self.downsample = nn.ModuleList([Down(a, b) for a, b in zip(filters, filters[1:])])
        self.bottleneck = Down(filters[-1], filters[-1])
        wide = [filters[-1], *reversed(filters)]
        self.upsample = nn.ModuleList([Up(a, b) for a, b in zip(wide, wide[1:])])
        self.output = nn.ModuleDict({"conv": nn.Sequential(nn.Conv3d(filters[0], classes, 1))})

    def forward(self, x: Tensor) -> Tensor:
        x = self.input_block(x)
        skips = [x]
        for down in self.downsample:
            x = down(x)
            skips.append(x)
        x = self.bottleneck(x)
        for up in self.upsample:
            x = up(x, skips.pop())
        return self.output["conv"](x)


class UNet3D(nn.Module):
    """Network from a window, float32 [n, 1, r, r, r], to the classes' logits, float32 [n, classes, r, r, r]."""

    def __init__(self, filters: tuple[int, ...] = (32, 64, 128, 256, 320), classes: int = 3, window: int = 128) -> None:
        super().__init__()
        self.classes, self.window = classes, window
        self.network = UNet(list(filters), classes)

    def forward(self, window: Tensor) -> Tensor:
        return self.network(window.to(self.network.input_block.conv1[0].weight.dtype)).to(torch.float32)


def build(small: bool = False) -> UNet3D:
    """Returns the network with random weights from torch's global generator.

    The small one has four resolutions instead of six: if its window were halved once more, norms would see a single voxel.
    """
    model = UNet3D((6, 8, 12), window=16) if small else UNet3D()
    return model.eval().apply(he)


def prepare(model: UNet3D) -> None:
    """Prepares the network for inference: this one needs no changes."""


def examples(model: UNet3D, n: int) -> tuple[Tensor, ...]:
    """Returns `n` windows of noise, smaller than the real ones, which the network accepts too."""
    side = min(model.window, 64)
    return (torch.randn(n, 1, side, side, side),)


def rename(key: str) -> str | None:
    """Returns the name in `network` of a weights file's key."""
    return key


def manifests(model: UNet3D) -> dict[str, dict]:
    """Returns the manifest. Samples are whole volumes; the shape in the manifest is the window's."""
    r = model.window
    return {NAME: {
        "workload": "segmentation",
        "inputs": [("window", "float32", [1, r, r, r])],
        "outputs": [("logits", "float32", [model.classes, r, r, r])],
    }}
