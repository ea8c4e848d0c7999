"""What was prepared, from what, and the digest of every sample: a file beside the data set, which runs check and carry."""

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORM = 1
PACKAGES = ("nibabel", "numpy", "opencv-python-headless", "pandas", "pillow", "scipy", "transformers")


def packages() -> dict[str, str]:
    """Versions of what samples are made with."""
    return {name: version(name) for name in PACKAGES}


def path(data_set: Path) -> Path:
    """Where the manifest of a data set is."""
    return data_set.with_name(data_set.name + ".manifest.json")


def write(data_set: Path, about: dict[str, Any], names: list[str], digests: list[str]) -> None:
    """Writes it, a line for each sample."""
    head = {"form": FORM, **about, "packages": packages()}
    lines = [json.dumps({"name": name, "sha256": digest}, ensure_ascii=False) for name, digest in zip(names, digests, strict=True)]
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "samples": [\n' + ",\n".join(lines) + "\n]}\n"
    unfinished = data_set.with_name("." + path(data_set).name)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path(data_set))


def read(data_set: Path) -> dict[str, Any]:
    """What it says; nothing where there is none."""
    try:
        known = json.loads(path(data_set).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        known = {}
    return known if isinstance(known, dict) else {}
