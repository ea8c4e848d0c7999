"""Reads the user's files. Fails, with a remedy, if a file is missing or differs from the published one."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipInfo

import numpy as np

from . import texts
from .errors import DataError
from .facts import Facts

STAMPS: dict[Path, str] = {}  # stamp of each source, from before it was read
PIECE = 1 << 20  # number of labels that are checked at once


def stamp(path: Path) -> str:
    """Returns the size and modification time of a file, which change if it is written to."""
    status = path.stat()
    return f"{status.st_size}/{status.st_mtime_ns}"


def noted(path: Path) -> Path:
    """Records the file's stamp for `check_unchanged`; returns the path."""
    try:
        STAMPS.setdefault(path, stamp(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    return path


def check_unchanged() -> None:
    """Fails if sources have changed since `noted`."""
    changed = [path for path, known in STAMPS.items() if not path.exists() or stamp(path) != known]
    if changed:
        raise DataError(
            f"{len(changed)} sources changed while they were read, the first is {changed[0]}. "
            "Stop the programs that write to them, and run the same command again")


def file(folder: Path, *names: str) -> Path:
    """Returns the path of the first of these files that the folder contains."""
    for name in names:
        if (folder / name).is_file():
            return noted(folder / name)
    raise DataError(f"{folder} has no {' and no '.join(names)}")


def published(path: Path, facts: Facts, incomplete: bool, name: str | None = None) -> Path:
    """Returns the path; fails if MLCommons publishes another digest for a file of that name."""
    digest = facts.md5.get(name or path.name) or facts.md5.get(f"{path.parent.name}/{path.name}")
    if digest and not incomplete:
        check_md5(path, {name or path.name: digest})
    return path


def calibration_list(path: Path, facts: Facts, incomplete: bool) -> Path:
    """Returns the path; fails if the file is not one of MLCommons' lists."""
    noted(path)
    if not incomplete:
        check_md5(path, facts.lists)
    return path


def check_md5(path: Path, known: dict[str, str]) -> None:
    """Reads the whole file; fails if its digest is not one of `known`."""
    with open(path, "rb") as opened:
        found = hashlib.file_digest(opened, "md5").hexdigest()
    if found not in known.values():
        wanted = " or ".join(f"{digest} for {name}" for name, digest in known.items())
        raise DataError(f"{path}: its MD5 is {found}, MLCommons publishes {wanted}. Fetch it again, or use --incomplete for practice")


def place(raw: BinaryIO, info: ZipInfo) -> int:
    """Returns the offset of a file's bytes in an archive. Lengths in the local header may differ from those in the directory."""
    raw.seek(info.header_offset + 26)
    lengths = int.from_bytes(raw.read(2), "little") + int.from_bytes(raw.read(2), "little")
    return info.header_offset + 30 + lengths


def lines(path: Path) -> list[str]:
    """Returns the lines of a file that are not empty."""
    return [line for _, line in numbered_lines(path)]


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Returns the lines that are not empty, each with its number in the file."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    found = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not found:
        raise DataError(f"{path} is empty")
    return found


def read_text(path: Path) -> str:
    """Reads a text in any form that editors write: with a byte order mark, CR or CR LF, or in UTF-16."""
    try:
        return texts.decode(path.read_bytes())
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file: {error.reason} at byte {error.start}; save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """Returns the content of a JSON file."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error


def number(text: str, below: int) -> int | None:
    """Parses an integer from 0 to below `below`, in decimal digits; returns None for other text."""
    known = text.isascii() and text.isdigit() and len(text) < 20 and int(text) < below
    return int(text) if known else None


def check_classes(labels: np.ndarray, facts: Facts, name_of: Callable[[int], str]) -> None:
    """Fails if a label is not the number of a class; `name_of` names the label for the error."""
    for start in range(0, len(labels), PIECE):
        piece = labels[start : start + PIECE]
        bad = np.flatnonzero(~np.isin(piece, np.arange(facts.classes)))
        if bad.size:
            raise DataError(f"{name_of(start + int(bad[0]))} is {piece[bad[0]]}, and classes are 0 to {facts.classes - 1}. Fetch it again")


def all_there(paths: list[Path], named_by: Path) -> None:
    """Fails if a file that a list names is missing."""
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{len(missing)} of {len(paths)} files that {named_by.name} names are missing, the first is {missing[0]}")
    for path in paths:
        noted(path)


def chosen(names: list[str], wanted: list[str], named_by: Path) -> list[int]:
    """Returns the index of each wanted name; fails if one is not in the data set."""
    places = {name: place for place, name in enumerate(names)}
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise DataError(f"{named_by}: {len(unknown)} of its {len(wanted)} names are not in the data set, the first is {unknown[0]}")
    return [places[name] for name in wanted]
