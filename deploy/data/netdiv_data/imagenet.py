"""ResNet50: ImageNet's validation images, prepared as the reference's profiles do."""

from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from . import images, sources
from .errors import DataError
from .facts import IMAGENET
from .parts import Array, Folder
from .preparation import Preparation

FORMS = ("uint8", "fp32", "tensorflow", "jpeg")
REFERENCE = "vision/classification_and_detection/python/dataset.py"
SIDE, SHORT_SIDE = 224, 256
MEAN, DEVIATION = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])  # pre_process_imagenet_pytorch
TENSORFLOW_MEAN = np.float32([123.68, 116.78, 103.94])  # pre_process_vgg


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads val_map.txt of FOLDER, a line `NAME CLASS` for each image, and the images."""
    val_map = sources.file(folder, "val_map.txt")
    names, labels = read_map(val_map)
    read = [val_map]
    if calibration:
        read.append(sources.calibration_list(calibration, IMAGENET, incomplete))
        places = sources.chosen(names, [line.split()[0] for line in sources.lines(calibration)], calibration)
        names, labels = [names[place] for place in places], labels[places]
    paths = [folder / name for name in names]
    sources.all_there(paths, val_map)
    name = "imagenet-calibration" if calibration else "imagenet"
    part, function = {
        "uint8": (Array(f"{name}-uint8", "uint8", (SIDE, SIDE, 3)), "pre_process_imagenet_pytorch, before to_tensor"),
        "fp32": (Array(f"{name}-fp32", "float32", (3, SIDE, SIDE)), "pre_process_imagenet_pytorch, NCHW (resnet50-pytorch)"),
        "tensorflow": (Array(f"{name}-tensorflow", "float32", (SIDE, SIDE, 3)), "pre_process_vgg, NHWC (resnet50-tf)"),
        "jpeg": (Folder(f"{name}-jpeg", ".jpg"), "the files as they are"),
    }[form]
    return Preparation(
        "resnet50", IMAGENET, form, f"{REFERENCE}: {function}", [part], names, paths, partial(make, form), read,
        labels=labels, calibration=calibration is not None)


def read_map(path: Path) -> tuple[list[str], np.ndarray]:
    """Returns the names and classes of a val_map.txt."""
    rows = [(number, line.split()) for number, line in sources.numbered_lines(path)]
    for number, row in rows:
        if len(row) != 2 or sources.number(row[1], IMAGENET.classes) is None:
            raise DataError(f"{path}: line {number} is not `NAME CLASS` with a class from 0 to {IMAGENET.classes - 1}: {' '.join(row)}")
    return [name for _, (name, _) in rows], np.array([int(label) for _, (_, label) in rows], dtype=np.int64)


def make(form: str, path: Path) -> list[np.ndarray | bytes]:
    """Returns a sample."""
    data, image = images.read(path)
    if form == "jpeg":
        return [data]
    if form == "tensorflow":
        return [normalised_for_tensorflow(image)]
    cropped = resized_and_cropped(image)
    return [cropped if form == "uint8" else normalised(cropped)]


def resized_and_cropped(image: np.ndarray) -> np.ndarray:
    """Resizes the short side to 256 pixels with Pillow's bilinear filter, and crops the centre, as torchvision does."""
    height, width = image.shape[:2]
    short, long = min(height, width), max(height, width)
    other = int(SHORT_SIDE * long / short)
    size = (SHORT_SIDE, other) if width <= height else (other, SHORT_SIDE)
    pixels = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))
    top, left = (round((side - SIDE) / 2) for side in pixels.shape[:2])
    return pixels[top : top + SIDE, left : left + SIDE]


def normalised(cropped: np.ndarray) -> np.ndarray:
    """Scales to 0 to 1, subtracts the mean, and divides by the deviation; returns [3, H, W]."""
    scaled = cropped.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    return (scaled - MEAN[:, None, None]) / DEVIATION[:, None, None]


def normalised_for_tensorflow(image: np.ndarray) -> np.ndarray:
    """Resizes the short side to 256 pixels with OpenCV's area filter, crops the centre, and subtracts the mean; returns [H, W, 3]."""
    height, width = image.shape[:2]
    side = int(100.0 * SIDE / 87.5)
    size = (side, int(side * height / width)) if height > width else (int(side * width / height), side)
    pixels = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    top, left = (int((length - SIDE) / 2) for length in pixels.shape[:2])
    return pixels[top : top + SIDE, left : left + SIDE].astype(np.float32) - TENSORFLOW_MEAN
