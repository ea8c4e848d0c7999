"""Reading what a user has: each file is there, and is what MLCommons published, or the error says what is wrong."""

import hashlib
import json
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipInfo

from .errors import DataError
from .facts import Facts


def file(folder: Path, *names: str) -> Path:
    """The first of these files that the folder has."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has no {' and no '.join(names)}")


def published(path: Path, facts: Facts, incomplete: bool) -> Path:
    """The same path; refused where MLCommons publishes another digest for a file of that name."""
    digest = facts.md5.get(path.name) or facts.md5.get(f"{path.parent.name}/{path.name}")
    if digest and not incomplete:
        with open(path, "rb") as opened:
            found = hashlib.file_digest(opened, "md5").hexdigest()
        if found != digest:
            raise DataError(f"{path}: its MD5 is {found}, MLCommons publishes {digest}. Fetch it again, or give --incomplete for practice")
    return path


def place(raw: BinaryIO, info: ZipInfo) -> int:
    """Where the bytes of a file in an archive begin: its local header's own lengths may differ from those of the directory."""
    raw.seek(info.header_offset + 26)
    lengths = int.from_bytes(raw.read(2), "little") + int.from_bytes(raw.read(2), "little")
    return info.header_offset + 30 + lengths


def lines(path: Path) -> list[str]:
    """Its lines that are not empty."""
    try:
        found = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text file") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    if not found:
        raise DataError(f"{path} is empty")
    return found


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error


def number(text: str, below: int) -> int | None:
    """A whole number from 0, in decimal digits."""
    known = text.isascii() and text.isdigit() and len(text) < 20 and int(text) < below
    return int(text) if known else None


def all_there(paths: list[Path], named_by: Path) -> None:
    """Refuses a list that names files which are missing."""
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{len(missing)} of {len(paths)} files that {named_by.name} names are missing, the first is {missing[0]}")


def chosen(names: list[str], wanted: list[str], named_by: Path) -> list[int]:
    """Where the wanted names are among all."""
    places = {name: place for place, name in enumerate(names)}
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise DataError(f"{named_by}: {len(unknown)} of its {len(wanted)} names are not in the data set, the first is {unknown[0]}")
    return [places[name] for name in wanted]
