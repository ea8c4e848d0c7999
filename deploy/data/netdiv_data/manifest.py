"""What was prepared, from what, and the digest of every sample: a file beside the data set, which runs check and carry."""

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORM = 1
PACKAGES = ("nibabel", "numpy", "opencv-python-headless", "pandas", "pillow", "scipy", "transformers")


def path(data_set: Path) -> Path:
    """Where the manifest of a data set is."""
    return data_set.with_name(data_set.name + ".manifest.json")


def write(data_set: Path, about: dict[str, Any], names: list[str], digests: list[str]) -> str:
    """Writes it, a line for each sample; gives its SHA-256."""
    head = {"form": FORM, **about, "packages": {name: version(name) for name in PACKAGES}}
    lines = [json.dumps({"name": name, "sha256": digest}, ensure_ascii=False) for name, digest in zip(names, digests, strict=True)]
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "samples": [\n' + ",\n".join(lines) + "\n]}\n"
    unfinished = data_set.with_name("." + path(data_set).name)
    unfinished.write_text(text)
    os.replace(unfinished, path(data_set))
    return hashlib.sha256(text.encode()).hexdigest()


def read(data_set: Path) -> dict[str, Any] | None:
    """What it says, where there is one."""
    try:
        return json.loads(path(data_set).read_text())
    except (OSError, ValueError):
        return None
