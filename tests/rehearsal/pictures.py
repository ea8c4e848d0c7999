"""Writes random pictures in the form of ImageNet's validation set: JPEG files and val_map.txt."""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 1000
SIZE = (500, 375)  # size of most of ImageNet's images
BLOCKS = (20, 15, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    lines = []
    for number in range(args.count):
        name = f"ILSVRC2012_val_{number + 1:08}.JPEG"
        blocks = random.integers(0, 256, BLOCKS, dtype=np.uint8)
        Image.fromarray(blocks).resize(SIZE, Image.Resampling.BICUBIC).save(args.folder / name)
        lines.append(f"{name} {random.integers(CLASSES)}\n")
    (args.folder / "val_map.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
