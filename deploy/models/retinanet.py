"""RetinaNet with a ResNeXt50-32x4d FPN backbone, 264 classes, 800x800: MLPerf's object detector, without its NMS.

Architecture, names and constants: mlcommons/training, retired_benchmarks/retinanet/ssd/model (formerly
single_stage_detector/ssd/model); Lin et al., "Focal Loss", <https://arxiv.org/abs/1708.02002>.
The node performs non-maximum suppression (NMS), since plain libtorch has no operator for it.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from layers import ConvRelu, Normalise, calibrate, fold, he
from resnet50 import Trunk, fuse_trunk

NAME = "retinanet"
SIZES = [[s, int(s * 2 ** (1 / 3)), int(s * 2 ** (2 / 3))] for s in (32, 64, 128, 256, 512)]  # lengths of each level's anchors
RATIOS = [0.5, 1.0, 2.0]  # height divided by width
ANCHORS = len(RATIOS) * 3  # number at each position
# Minimum score, maximum number of candidates of a level, maximum growth of an anchor (log).
SCORE, TOP, GROWTH = 0.05, 1000, math.log(1000 / 16)


def anchors(size: int, grid: int, lengths: list[int]) -> Tensor:
    """Returns a level's anchors, float32 [grid * grid * 9, 4] as x1 y1 x2 y2, in the order row, column, ratio, size."""
    root = torch.tensor(RATIOS).sqrt()
    length = torch.tensor(lengths, dtype=torch.float32)
    w, h = ((1 / root)[:, None] * length).flatten(), (root[:, None] * length).flatten()
    base = (torch.stack([-w, -h, w, h], 1) / 2).round()
    steps = torch.arange(grid, dtype=torch.float32) * (size // grid)
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    return (torch.stack([x, y, x, y], 2).reshape(-1, 1, 4) + base).reshape(-1, 4)


class Pyramid(nn.Module):
    """Pyramid from features of three depths, float [n, c, g, g], to five levels of `channels` channels, P3 to P7."""

    def __init__(self, depths: list[int], channels: int) -> None:
        super().__init__()
        self.inner_blocks = nn.ModuleList([nn.Conv2d(depth, channels, 1) for depth in depths])
        self.layer_blocks = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in depths])
        self.extra_blocks = nn.ModuleDict({p: nn.Conv2d(channels, channels, 3, 2, 1) for p in ("p6", "p7")})

    def forward(self, c3: Tensor, c4: Tensor, c5: Tensor) -> list[Tensor]:
        top = self.inner_blocks[2](c5)
        middle = self.inner_blocks[1](c4)
        middle = middle + F.interpolate(top, size=middle.shape[-2:], mode="nearest")
        low = self.inner_blocks[0](c3)
        low = low + F.interpolate(middle, size=low.shape[-2:], mode="nearest")
        p5 = self.layer_blocks[2](top)
        p6 = self.extra_blocks["p6"](p5)
        p7 = self.extra_blocks["p7"](F.relu(p6))
        return [self.layer_blocks[0](low), self.layer_blocks[1](middle), p5, p6, p7]


class Body(Trunk):
    """Trunk from an image, float [n, 3, s, s], to features of an eighth, a sixteenth and a thirty-second of its size."""

    def __init__(self, width: int, groups: int, base_width: int) -> None:
        super().__init__(width, 1, groups, base_width)
        del self.fc, self.avgpool

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        c3 = self.layer2(self.layer1(x))
        c4 = self.layer3(c3)
        return c3, c4, self.layer4(c4)


class Backbone(nn.Module):
    """Backbone from an image, float [n, 3, s, s], to the five levels of the pyramid."""

    def __init__(self, width: int, groups: int, base_width: int, channels: int) -> None:
        super().__init__()
        self.body = Body(width, groups, base_width)
        self.fpn = Pyramid([width * 8, width * 16, width * 32], channels)

    def forward(self, x: Tensor) -> list[Tensor]:
        c3, c4, c5 = self.body(x)
        return self.fpn(c3, c4, c5)


class Head(nn.Module):
    """Head from a level, float [n, c, g, g], to `values` numbers for each anchor, [n, g * g * 9, values]."""

    def __init__(self, channels: int, last: str, values: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()]
        self.conv = nn.Sequential(*layers)
        self.values = values
        self.add_module(last, nn.Conv2d(channels, ANCHORS * values, 3, padding=1))

    def spread(self, x: Tensor) -> Tensor:
        """Rearranges the last convolution's channels, which hold the values of one anchor after another."""
        return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.values)


class Classes(Head):
    """Head that returns the logits of the classes."""

    def forward(self, x: Tensor) -> Tensor:
        return self.spread(self.cls_logits(self.conv(x)))


class Boxes(Head):
    """Head that returns the differences of boxes from their anchors: dx, dy, log of width and of height."""

    def forward(self, x: Tensor) -> Tensor:
        return self.spread(self.bbox_reg(self.conv(x)))


class Detector(nn.Module):
    """Part with weights: from an image, float [n, 3, s, s], to each level's logits and box differences."""

    def __init__(self, width: int, groups: int, base_width: int, channels: int, classes: int) -> None:
        super().__init__()
        self.backbone = Backbone(width, groups, base_width, channels)
        self.head = nn.ModuleDict({
            "classification_head": Classes(channels, "cls_logits", classes),
            "regression_head": Boxes(channels, "bbox_reg", 4),
        })

    def forward(self, x: Tensor) -> list[tuple[Tensor, Tensor]]:
        out: list[tuple[Tensor, Tensor]] = []
        for level in self.backbone(x):
            out.append((self.head["classification_head"](level), self.head["regression_head"](level)))
        return out


class RetinaNet(nn.Module):
    """Network from images, uint8 [n, s, s, 3] or normalised float32 [n, 3, s, s], to the k best candidates of each image.

    Returns boxes, float32 [n, k, 4] as x1 y1 x2 y2 in pixels, scores, float32 [n, k], and classes, int32 [n, k]. Each level
    contributes its 1000 best pairs of anchor and class. A score up to 0.05 becomes 0, so that k is constant.
    """

    def __init__(self, width: int = 64, groups: int = 32, base_width: int = 4, channels: int = 256,
                 classes: int = 264, size: int = 800, top: int = TOP) -> None:
        super().__init__()
        self.size, self.classes, self.score, self.growth = size, classes, SCORE, GROWTH
        self.normalise = Normalise()
        self.network = Detector(width, groups, base_width, channels, classes)
        grids, grid = [], math.ceil(size / 4)
        for _ in SIZES:
            grid = math.ceil(grid / 2)
            grids.append(grid)
        levels = [anchors(size, grid, lengths) for grid, lengths in zip(grids, SIZES)]
        self.register_buffer("anchors", torch.cat(levels))
        self.counts = [len(level) for level in levels]
        self.tops = [min(top, count * classes) for count in self.counts]
        self.candidates = sum(self.tops)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        image = self.normalise(image).to(self.network.backbone.body.conv1.weight.dtype)
        boxes: list[Tensor] = []
        scores: list[Tensor] = []
        labels: list[Tensor] = []
        first = 0
        for level, (logits, moves) in enumerate(self.network(image)):
            last = first + self.counts[level]
            box, score, label = self.best(logits, moves, self.anchors[first:last], self.tops[level])
            boxes.append(box)
            scores.append(score)
            labels.append(label)
            first = last
        return torch.cat(boxes, 1), torch.cat(scores, 1), torch.cat(labels, 1)

    def best(self, logits: Tensor, moves: Tensor, anchors: Tensor, top: int) -> tuple[Tensor, Tensor, Tensor]:
        """Returns a level's `top` best pairs of anchor and class. First selects anchors by the score of their best class."""
        few = torch.topk(logits.amax(2), min(top, logits.shape[1])).indices  # [n, selected anchors]
        few = few.sort(1).values
        logits = logits.gather(1, few[:, :, None].expand(-1, -1, self.classes)).flatten(1)
        logits, pairs = torch.topk(logits, top)
        which = few.gather(1, torch.div(pairs, self.classes, rounding_mode="floor"))
        scores = logits.to(torch.float32).sigmoid()
        scores = torch.where(scores > self.score, scores, torch.zeros_like(scores))
        moves = moves.gather(1, which[:, :, None].expand(-1, -1, 4)).to(torch.float32)
        boxes = self.decode(moves, anchors[which])
        return boxes, scores, torch.remainder(pairs, self.classes).to(torch.int32)

    def decode(self, moves: Tensor, anchors: Tensor) -> Tensor:
        """Moves each anchor's centre in units of its size, and scales it. All are [n, k, 4]; boxes are clipped to the image."""
        size = anchors[:, :, 2:] - anchors[:, :, :2]
        centre = anchors[:, :, :2] + 0.5 * size + moves[:, :, :2] * size
        half = 0.5 * torch.exp(moves[:, :, 2:].clamp(max=self.growth)) * size
        return torch.cat([centre - half, centre + half], 2).clamp(0, self.size)


@torch.no_grad()
def build(small: bool = False) -> RetinaNet:
    """Returns the network with random weights from torch's global generator, scaled to plausible scores and boxes."""
    model = RetinaNet(4, 4, 16, 8, 5, 128, 100) if small else RetinaNet()
    model.eval().apply(he)
    # Statistics need no image of full size, and everything before the candidates accepts any size.
    noise = torch.randn(2, 3, 256, 256)
    calibrate(model.network, noise)
    logits, moves = (torch.cat([level[i].flatten() for level in model.network(noise)]) for i in (0, 1))
    classes = model.network.head["classification_head"].cls_logits
    classes.weight.mul_(1 / logits.std())
    classes.bias.fill_(-6)  # makes about a thousandth of all pairs candidates
    model.network.head["regression_head"].bbox_reg.weight.mul_(0.3 / moves.std())
    return model


def prepare(model: RetinaNet) -> None:
    """Prepares the network for inference: folds batch norms, and stores channels last."""
    fold(model.network)
    model.network.to(memory_format=torch.channels_last)


def fuse(model: RetinaNet) -> None:
    """Fuses convolutions, which may be faster on a GPU; call it after `prepare`."""
    fuse_trunk(model.network.backbone.body)
    for head in model.network.head.values():
        head.conv = nn.Sequential(*(ConvRelu(layer) for layer in head.conv if isinstance(layer, nn.Conv2d)))


def examples(model: RetinaNet, n: int) -> tuple[Tensor, ...]:
    """Returns `n` samples of noise."""
    return (torch.randint(0, 256, (n, model.size, model.size, 3), dtype=torch.uint8),)


def rename(key: str) -> str | None:
    """Returns the name in `network` of a weights file's key."""
    return key


def manifests(model: RetinaNet) -> dict[str, dict]:
    """Returns two manifests: samples of pixels, and of JPEG files."""
    k = model.candidates
    pixels = {
        "workload": "object-detection",
        "inputs": [("image", "uint8", [model.size, model.size, 3])],
        "outputs": [("boxes", "float32", [k, 4]), ("scores", "float32", [k]), ("labels", "int32", [k])],
        "parameters": {"score_threshold": SCORE, "nms_threshold": 0.5, "max_detections": 300},
    }
    return {NAME: pixels, f"{NAME}-jpeg": pixels | {"parameters": {"samples": "jpeg"} | pixels["parameters"]}}
