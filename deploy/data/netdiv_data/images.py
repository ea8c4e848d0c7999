"""Decodes images with OpenCV; rejects damaged files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np

from . import jpeg
from .errors import DataError

cv2.setNumThreads(1)  # a process for each core is enough
# libjpeg fills in data that it cannot read. It reports only the first fault of an image, and only on standard error.
DAMAGED = ("Premature end", "Corrupt JPEG data", "Inconsistent progression")
# An image of one scan is complete before the last marker; an image of several scans may lack one.
AT_THE_END = "extraneous bytes before marker 0xd9"


def read(path: Path) -> tuple[bytes, np.ndarray]:
    """Returns the file's bytes, and the image, [H, W, 3]. Fails if part of the image is missing."""
    data = path.read_bytes()
    try:
        with standard_error() as report:
            # OpenCV rejects truncated images in memory; it accepts truncated files.
            image = cv2.imdecode(np.frombuffer(jpeg.with_usual_headers(data), np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # an empty file, or one with more pixels than OpenCV allows
        image = None
    if image is None:
        raise DataError(f"{path}: OpenCV cannot decode it: it is truncated, or not an image. Fetch it again")
    one_scan = jpeg.has_one_scan(data)
    damage = next((line for line in report if line.startswith(DAMAGED) and not (one_scan and AT_THE_END in line)), None)
    if damage:
        raise DataError(f"{path}: part of the image is damaged ({damage}). Fetch it again")
    return data, cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


@contextmanager
def standard_error() -> Iterator[list[str]]:
    """Collects the lines that C libraries write to standard error within the block; the list is complete after it."""
    lines: list[str] = []
    kept = os.dup(2)
    with open(os.memfd_create("stderr"), "w+b") as written:
        try:
            os.dup2(written.fileno(), 2)
            yield lines
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        written.seek(0)
        lines += written.read().decode(errors="replace").splitlines()
