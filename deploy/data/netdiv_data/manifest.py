"""Manifest of a data set: its description, its sources, and the digest of every sample, in a file beside it.

`loadgen-node run` checks it and copies it to the results.
"""

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

FORM = 1
PACKAGES = ("nibabel", "numpy", "opencv-python-headless", "pandas", "pillow", "pyarrow", "scipy", "transformers")


def packages() -> dict[str, str]:
    """Returns the versions of the packages that make samples."""
    return {name: version(name) for name in PACKAGES}


def path(data_set: Path) -> Path:
    """Returns the path of a data set's manifest."""
    return data_set.with_name(data_set.name + ".manifest.json")


def write(data_set: Path, about: dict[str, Any], names: list[str], digests: list[str]) -> None:
    """Writes the manifest, with a line for each sample."""
    head = {"form": FORM, **about, "packages": packages()}
    lines = [json.dumps({"name": name, "sha256": digest}, ensure_ascii=False) for name, digest in zip(names, digests, strict=True)]
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "samples": [\n' + ",\n".join(lines) + "\n]}\n"
    unfinished = data_set.with_name("." + path(data_set).name)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path(data_set))


def read(data_set: Path) -> dict[str, Any]:
    """Reads a data set's manifest; returns an empty dictionary if there is no valid one."""
    try:
        known = json.loads(path(data_set).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        known = {}
    return known if isinstance(known, dict) else {}
