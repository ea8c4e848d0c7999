"""Layers and functions that the networks share. Each network is a wrapper around `network`, the part with the weights.

`network` has the file's precision. The wrapper is float32 and casts to that precision and back. Weights of a file are loaded into
`network`, under the names of their source.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # torchvision's values for ImageNet: red, green, blue


class Normalise(nn.Module):
    """Converts pixels, uint8 [n, h, w, 3], or normalised pixels, float32 [n, 3, h, w], to float32 [n, 3, h, w], channels last."""

    def __init__(self) -> None:
        super().__init__()
        mean, std = torch.tensor(MEAN, dtype=torch.float64), torch.tensor(STD, dtype=torch.float64)
        self.register_buffer("scale", (1 / (255 * std)).to(torch.float32))
        self.register_buffer("shift", (-mean / std).to(torch.float32))

    def forward(self, image: Tensor) -> Tensor:
        if image.dtype == torch.uint8:
            return (image * self.scale + self.shift).permute(0, 3, 1, 2)
        return image.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def calibrate(model: nn.Module, *inputs: Tensor) -> None:
    """Sets the statistics of all batch norms to the statistics of `inputs`, as training would do."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average instead of a moving one
        norm.train()
    model(*inputs)
    for norm in norms:
        norm.eval()


def fold(module: nn.Module) -> None:
    """Folds each batch norm into the convolution before it, in place and at full precision; for inference only."""
    before: tuple[str, nn.Module] = ("", module)
    for name, child in list(module.named_children()):
        if isinstance(child, nn.BatchNorm2d) and isinstance(before[1], nn.Conv2d):
            setattr(module, before[0], nn.utils.fuse_conv_bn_eval(before[1], child))
            setattr(module, name, nn.Identity())
        else:
            fold(child)
        before = (name, child)


class ConvRelu(nn.Module):
    """Convolution and the ReLU after it. On a CUDA device it is one kernel of cuDNN, which may lack kernels for groups."""

    def __init__(self, conv: nn.Conv2d) -> None:
        super().__init__()
        self.weight, self.bias = conv.weight, conv.bias
        self.stride, self.padding, self.dilation = list(conv.stride), list(conv.padding), list(conv.dilation)
        self.groups = conv.groups

    def forward(self, x: Tensor) -> Tensor:
        if x.is_cuda and self.groups == 1:
            return torch.cudnn_convolution_relu(x, self.weight, self.bias, self.stride, self.padding, self.dilation,
                                                self.groups)
        return F.relu(F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups))


class ConvAddRelu(ConvRelu):
    """Convolution, sum with another tensor, and ReLU. On a CUDA device it is one kernel of cuDNN, like `ConvRelu`."""

    def forward(self, x: Tensor, other: Tensor) -> Tensor:
        if x.is_cuda and self.groups == 1:
            return torch.cudnn_convolution_add_relu(x, self.weight, other, 1.0, self.bias, self.stride, self.padding,
                                                    self.dilation, self.groups)
        x = F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)
        return F.relu(x + other)


def he(module: nn.Module) -> None:
    """Draws the weights of a convolution so that activations keep their magnitude (He et al. 2015). Biases become 0."""
    if isinstance(module, (nn.Conv2d, nn.Conv3d, nn.ConvTranspose3d)):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
