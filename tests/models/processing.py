"""Pre- and post-processing of the node in Python: pictures and their crops, detections, sliding windows.

It is used for making fixtures, and by the GPU kit for comparing answers.
"""

import itertools

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Tensor, nn
from torchvision.ops import batched_nms, box_iou

Array = np.ndarray


def picture(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Returns a picture of a gradient between two colours, with seven shapes on it."""
    ends = rng.integers(0, 256, (2, 3))
    across = np.linspace(0, 1, width)[None, :] * rng.uniform(0.2, 0.8)
    down = np.linspace(0, 1, height)[:, None] * 0.2
    share = (across + down)[:, :, None]
    image = Image.fromarray((ends[0] * (1 - share) + ends[1] * share).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for shape in range(7):
        x, y = rng.integers(0, width - 20), rng.integers(0, height - 20)
        w, h = rng.integers(12, width // 2), rng.integers(12, height // 2)
        colour = tuple(int(c) for c in rng.integers(0, 256, 3))
        (draw.ellipse if shape % 2 else draw.rectangle)([int(x), int(y), int(x + w), int(y + h)], fill=colour)
    return image


def crop(image: Image.Image, short: int, size: int, how: Image.Resampling = Image.Resampling.BILINEAR) -> Array:
    """Resizes the short side to `short` and crops the centre, as MLPerf's pre_process_imagenet_pytorch does: uint8 [size, size, 3]."""
    image, (w, h) = image.convert("RGB"), image.size
    image = image.resize((short, int(short * h / w)) if w < h else (int(short * w / h), short), how)
    left, top = round((image.width - size) / 2), round((image.height - size) / 2)
    return np.asarray(image.crop((left, top, left + size, top + size)))


def detections(boxes: Tensor, scores: Tensor, labels: Tensor, size: int, fields: dict) -> tuple[Array, bool]:
    """Returns MLPerf's rows, float32 [n, 7], of an image's candidates, and a flag that is set if they do not depend on rounding."""
    there = scores > fields["score_threshold"]
    boxes, scores, labels = boxes[there], scores[there], labels[there].to(torch.int64)
    keep = batched_nms(boxes, scores, labels, fields["nms_threshold"])[:fields["max_detections"]]
    rows = torch.stack([torch.zeros(len(keep)), *(boxes[keep][:, [1, 0, 3, 2]] / size).unbind(1), scores[keep],
                        labels[keep].to(torch.float32)], 1)
    overlap = box_iou(boxes, boxes)[labels[:, None] == labels]
    ordered = scores.sort().values
    clear = (
        bool(((overlap - fields["nms_threshold"]).abs() > 5e-4).all())
        and bool((ordered.diff() > 1e-5).all())
        and bool((ordered > fields["score_threshold"] + 2e-4).all())
        and len(keep) < len(scores)  # something is suppressed
    )
    return rows.numpy(), clear


def weights_of_window(r: int) -> Array:
    """Returns the weights of a window's voxels, float32 [r, r, r]: the cube root of a Gaussian in three dimensions."""
    line = np.exp(-0.5 * ((np.arange(r) - (r - 1) / 2) / (0.125 * r)) ** 2)
    weights = np.cbrt(line[:, None, None] * line[None, :, None] * line[None, None, :])
    return (weights / weights.max()).astype(np.float32)


def segment(model: nn.Module, volume: Array, r: int) -> tuple[Array, Array]:
    """Slides the window by half its length; returns classes, uint8 [d, h, w], and the margin of each voxel's class."""
    weights, total, norm = weights_of_window(r), 0.0, np.zeros(volume.shape[1:], np.float32)
    starts = [range(0, length - r + 1, r // 2) for length in volume.shape[1:]]
    for at in itertools.product(*starts):
        part = tuple(slice(a, a + r) for a in at)
        logits = model(torch.from_numpy(volume[(slice(None), *part)][None].copy()))[0].numpy()
        total = np.zeros((len(logits), *volume.shape[1:]), np.float32) if isinstance(total, float) else total
        total[(slice(None), *part)] += logits * weights
        norm[part] += weights
    mean = total.astype(np.float64) / norm
    ordered = np.sort(mean, 0)
    return mean.argmax(0).astype(np.uint8), ordered[-1] - ordered[-2]
