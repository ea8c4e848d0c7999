"""Images as OpenCV decodes them, of files that hold all of an image."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np

from . import jpeg
from .errors import DataError

cv2.setNumThreads(1)  # a process for each core is enough
# libjpeg fills in what it cannot read, and reports that on standard error alone: only the first fault of an image.
DAMAGED = ("Premature end", "Corrupt JPEG data", "Inconsistent progression")
# In an image of one scan every pixel was read before the last marker; in one of several, a scan may be missing.
AT_THE_END = "extraneous bytes before marker 0xd9"


def read(path: Path) -> tuple[bytes, np.ndarray]:
    """Gives the file's bytes, and the image, [H, W, 3]. Refuses a file that does not hold all of it."""
    data = path.read_bytes()
    try:
        with standard_error() as report:
            # Of bytes OpenCV decodes no image that ends early; of a file it does.
            image = cv2.imdecode(np.frombuffer(jpeg.with_usual_headers(data), np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # an empty file, or one with more pixels than OpenCV allows
        image = None
    if image is None:
        raise DataError(f"{path}: OpenCV cannot decode it: it is truncated, or no image. Fetch it again")
    one_scan = jpeg.has_one_scan(data)
    damage = next((line for line in report if line.startswith(DAMAGED) and not (one_scan and AT_THE_END in line)), None)
    if damage:
        raise DataError(f"{path}: part of the image is damaged ({damage}). Fetch it again")
    return data, cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


@contextmanager
def standard_error() -> Iterator[list[str]]:
    """Collects the lines that C libraries write to standard error within the block; they are there after it."""
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
