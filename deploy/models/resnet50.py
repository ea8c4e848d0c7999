"""ResNet50-v1.5, as in torchvision (torchvision/models/resnet.py): stride 2 in the 3x3 convolutions.

He et al., "Deep Residual Learning for Image Recognition", <https://arxiv.org/abs/1512.03385>.
"""

import torch
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck, ResNet

from layers import ConvAddRelu, ConvRelu, Normalise, calibrate, fold, he

NAME = "resnet50"


class Trunk(ResNet):
    """Torchvision's 50-layer network with `width` channels in the first layer instead of 64, and all others in proportion."""

    def __init__(self, width: int, classes: int, groups: int = 1, base_width: int = 64) -> None:
        nn.Module.__init__(self)
        self._norm_layer, self.inplanes, self.dilation = nn.BatchNorm2d, width, 1
        self.groups, self.base_width = groups, base_width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(Bottleneck, width, 3)
        self.layer2 = self._make_layer(Bottleneck, width * 2, 4, stride=2)
        self.layer3 = self._make_layer(Bottleneck, width * 4, 6, stride=2)
        self.layer4 = self._make_layer(Bottleneck, width * 8, 3, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width * 8 * Bottleneck.expansion, classes)


class FusedBlock(nn.Module):
    """Block with folded batch norms. Each ReLU, and the sum, is fused with the convolution before it."""

    def __init__(self, block: Bottleneck) -> None:
        super().__init__()
        self.conv1, self.conv2, self.conv3 = ConvRelu(block.conv1), ConvRelu(block.conv2), ConvAddRelu(block.conv3)
        self.downsample = block.downsample or nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.conv3(self.conv2(self.conv1(x)), self.downsample(x))


def fuse_trunk(trunk: Trunk) -> None:
    """Fuses convolutions with the operations after them, in place. Batch norms must be folded."""
    trunk.conv1, trunk.relu = ConvRelu(trunk.conv1), nn.Identity()
    for layer in (trunk.layer1, trunk.layer2, trunk.layer3, trunk.layer4):
        for name, block in list(layer.named_children()):
            setattr(layer, name, FusedBlock(block))


class ResNet50(nn.Module):
    """Network from images, uint8 [n, s, s, 3] or normalised float32 [n, 3, s, s], to logits, float32 [n, classes]."""

    def __init__(self, width: int = 64, classes: int = 1000, size: int = 224) -> None:
        super().__init__()
        self.size, self.classes = size, classes
        self.normalise = Normalise()
        self.network = Trunk(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        image = self.normalise(image).to(self.network.conv1.weight.dtype)
        return self.network(image).to(torch.float32)


def build(small: bool = False) -> ResNet50:
    """Returns the network with random weights from torch's global generator."""
    model = ResNet50(4, 20, 64) if small else ResNet50()
    model.eval().apply(he)
    calibrate(model, *examples(model, 4))
    return model


def prepare(model: ResNet50) -> None:
    """Prepares the network for inference: folds batch norms, and stores channels last."""
    fold(model.network)
    model.network.to(memory_format=torch.channels_last)


def fuse(model: ResNet50) -> None:
    """Fuses convolutions, which may be faster on a GPU; call it after `prepare`."""
    fuse_trunk(model.network)


def examples(model: ResNet50, n: int) -> tuple[Tensor, ...]:
    """Returns `n` samples of noise."""
    return (torch.randint(0, 256, (n, model.size, model.size, 3), dtype=torch.uint8),)


def rename(key: str) -> str | None:
    """Returns the name in `network` of a weights file's key."""
    return key


def manifests(model: ResNet50) -> dict[str, dict]:
    """Returns three manifests: samples of pixels, of normalised floats, and of JPEG files."""
    pixels = {
        "workload": "image-classification",
        "inputs": [("image", "uint8", [model.size, model.size, 3])],
        "outputs": [("logits", "float32", [model.classes])],
    }
    floats = [("image", "float32", [3, model.size, model.size])]
    jpeg = {"samples": "jpeg", "resize": round(model.size * 256 / 224)}
    return {NAME: pixels, f"{NAME}-fp32": pixels | {"inputs": floats}, f"{NAME}-jpeg": pixels | {"parameters": jpeg}}
