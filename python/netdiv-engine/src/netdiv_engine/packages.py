"""Versions of the interpreter and of the packages that an engine has imported."""

from __future__ import annotations

import platform
import sys
from importlib import metadata


def packages() -> "dict[str, str]":
    """Returns the versions of the distributions whose modules are imported, by name."""
    roots = {name.partition(".")[0] for name in list(sys.modules)}
    return {name: version for name, version in sorted(_versions(roots).items()) if name and version}


def _versions(roots: "set[str]") -> "dict[str, str]":
    by_module = getattr(metadata, "packages_distributions", None)
    if by_module is not None:
        names = {name for module, names in by_module().items() if module in roots for name in names}
        return {name: metadata.version(name) for name in names}
    # Python 3.9: names of modules are those that the distributions state, or else their own.
    found = {}
    for one in metadata.distributions():
        name = one.metadata["Name"] or ""
        modules = (one.read_text("top_level.txt") or "").split() or [name.replace("-", "_").lower()]
        if any(module in roots for module in modules):
            found[name] = one.version
    return found


def python() -> str:
    """Returns the interpreter's name and version, such as `CPython 3.11.2`."""
    return f"{platform.python_implementation()} {platform.python_version()}"
