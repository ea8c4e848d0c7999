"""What an unfinished preparation has written: a line for each sample, which outlives the process."""

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import DataError
from .manifest import packages
from .parts import Part


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder for one preparation at a time."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise DataError(f"another preparation writes to {folder}: wait for it, or choose another --output") from error
    finally:
        os.close(handle)


class Journal:
    """The first line says what is prepared, by which code and packages; the others have number, source and digests of a sample."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            head, *self.lines = path.read_text(encoding="utf-8").splitlines()
            self.head = json.loads(head)
        except (OSError, ValueError):
            self.head, self.lines = None, []

    def belongs_to(self, about: dict[str, Any]) -> bool:
        """Whether a preparation of that is unfinished; one of something else is refused."""
        if self.head is not None and self.head != head_of(about):
            raise DataError(
                f"{self.path.parent} has part of another preparation, or of one by other versions: choose another --output, or remove "
                f"{self.path.name} and *.partial there")
        return self.head is not None

    def begin(self, about: dict[str, Any], parts: list[Part], stamps: list[str]) -> dict[int, list[str]]:
        """Gives the digests of the samples that are there, made of what is still their source, and still what was written."""
        kept = {}
        for line in self.lines:
            index, stamp, *row = [*line.split(" "), "", ""]
            row = row[: len(parts)]
            if index.isdigit() and int(index) < len(stamps) and stamp == stamps[int(index)]:
                found = [part.read(int(index)) for part in parts]
                if all(data is not None and hashlib.sha256(data).hexdigest() == known for data, known in zip(found, row)):
                    kept[int(index)] = row
        if self.head is not None:
            print(f"going on: {len(kept)} samples are there", file=sys.stderr)
        lines = [json.dumps(head_of(about)), *(" ".join([str(index), stamps[index], *row]) for index, row in kept.items())]
        unfinished = self.path.with_name(self.path.name + ".new")
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(unfinished, self.path)
        self.file = open(self.path, "a", encoding="utf-8")
        return kept

    def add(self, index: int, stamp: str, digests: list[str]) -> None:
        """A sample is written."""
        print(index, stamp, *digests, file=self.file, flush=True)

    def remove(self) -> None:
        """All is complete."""
        self.file.close()
        self.path.unlink()


class NoJournal:
    """Where nothing outlives the process."""

    def belongs_to(self, about: dict[str, Any]) -> bool:
        return False

    def begin(self, about: dict[str, Any], parts: list[Part], stamps: list[str]) -> dict[int, list[str]]:
        return {}

    def add(self, index: int, stamp: str, digests: list[str]) -> None:
        pass

    def remove(self) -> None:
        pass


def head_of(about: dict[str, Any]) -> dict[str, Any]:
    """With what decides a sample beside its source."""
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))
    return {**about, "packages": packages(), "code": code.hexdigest()}
