"""Reading what a user has: each file is there, and is what MLCommons published, or the error says what is wrong."""

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

STAMPS: dict[Path, str] = {}  # of each source, before anything of it was read
PIECE = 1 << 20  # labels that are checked at once


def stamp(path: Path) -> str:
    """Size and time of a file, which differ once it is written to."""
    status = path.stat()
    return f"{status.st_size}/{status.st_mtime_ns}"


def noted(path: Path) -> Path:
    """Notes the file as it is for `check_unchanged`; gives the path."""
    try:
        STAMPS.setdefault(path, stamp(path))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    return path


def check_unchanged() -> None:
    """Refuses sources that have changed since they were noted."""
    changed = [path for path, known in STAMPS.items() if not path.exists() or stamp(path) != known]
    if changed:
        raise DataError(
            f"{len(changed)} sources changed while they were read, the first is {changed[0]}. "
            "Let nothing write to them, and give the same command again")


def file(folder: Path, *names: str) -> Path:
    """The first of these files that the folder has."""
    for name in names:
        if (folder / name).is_file():
            return noted(folder / name)
    raise DataError(f"{folder} has no {' and no '.join(names)}")


def published(path: Path, facts: Facts, incomplete: bool, name: str | None = None) -> Path:
    """The same path; refused where MLCommons publishes another digest for a file of that name."""
    digest = facts.md5.get(name or path.name) or facts.md5.get(f"{path.parent.name}/{path.name}")
    if digest and not incomplete:
        check_md5(path, {name or path.name: digest})
    return path


def calibration_list(path: Path, facts: Facts, incomplete: bool) -> Path:
    """Refuses a file that is not one of MLCommons' lists; gives the path."""
    noted(path)
    if not incomplete:
        check_md5(path, facts.lists)
    return path


def check_md5(path: Path, known: dict[str, str]) -> None:
    """Reads the file to its end, and refuses one whose digest is not among these."""
    with open(path, "rb") as opened:
        found = hashlib.file_digest(opened, "md5").hexdigest()
    if found not in known.values():
        wanted = " or ".join(f"{digest} for {name}" for name, digest in known.items())
        raise DataError(f"{path}: its MD5 is {found}, MLCommons publishes {wanted}. Fetch it again, or give --incomplete for practice")


def place(raw: BinaryIO, info: ZipInfo) -> int:
    """Where the bytes of a file in an archive begin: its local header's own lengths may differ from those of the directory."""
    raw.seek(info.header_offset + 26)
    lengths = int.from_bytes(raw.read(2), "little") + int.from_bytes(raw.read(2), "little")
    return info.header_offset + 30 + lengths


def lines(path: Path) -> list[str]:
    """Its lines that are not empty."""
    return [line for _, line in numbered_lines(path)]


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """Lines that are not empty, each with its number in the file."""
    try:
        text = read_text(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    found = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not found:
        raise DataError(f"{path} is empty")
    return found


def read_text(path: Path) -> str:
    """Reads a text as editors of other systems write it: with a byte order mark, CR or CR LF, or in UTF-16."""
    try:
        return texts.decode(path.read_bytes())
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file: {error.reason} at byte {error.start}; save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error


def number(text: str, below: int) -> int | None:
    """A whole number from 0, in decimal digits."""
    known = text.isascii() and text.isdigit() and len(text) < 20 and int(text) < below
    return int(text) if known else None


def check_classes(labels: np.ndarray, facts: Facts, name_of: Callable[[int], str]) -> None:
    """Refuses a label that is not the number of a class; `name_of` says which it is."""
    for start in range(0, len(labels), PIECE):
        piece = labels[start : start + PIECE]
        bad = np.flatnonzero(~np.isin(piece, np.arange(facts.classes)))
        if bad.size:
            raise DataError(f"{name_of(start + int(bad[0]))} is {piece[bad[0]]}, and classes are 0 to {facts.classes - 1}. Fetch it again")


def all_there(paths: list[Path], named_by: Path) -> None:
    """Refuses a list that names files which are missing."""
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{len(missing)} of {len(paths)} files that {named_by.name} names are missing, the first is {missing[0]}")
    for path in paths:
        noted(path)


def chosen(names: list[str], wanted: list[str], named_by: Path) -> list[int]:
    """Where the wanted names are among all."""
    places = {name: place for place, name in enumerate(names)}
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise DataError(f"{named_by}: {len(unknown)} of its {len(wanted)} names are not in the data set, the first is {unknown[0]}")
    return [places[name] for name in wanted]
