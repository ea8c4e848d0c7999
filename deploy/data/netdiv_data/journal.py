"""Journal of an unfinished preparation: a line for each sample, which outlives the process."""

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
    """Locks the folder for one preparation; fails if another one has locked it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise DataError(f"another preparation writes to {folder}: wait for it, or choose another --output") from error
    finally:
        os.close(handle)


class Journal:
    """Journal file of a data set.

    The first line holds the data set's description, the code's digest and the packages' versions. Each other line holds the number,
    the source's stamp and the digests of a sample.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            head, *self.lines = path.read_text(encoding="utf-8").splitlines()
            self.head = json.loads(head)
        except (OSError, ValueError):
            self.head, self.lines = None, []

    def belongs_to(self, about: dict[str, Any]) -> bool:
        """Returns true if the journal is of an unfinished preparation of `about`; fails if it is of another one."""
        if self.head is not None and self.head != head_of(about):
            raise DataError(
                f"{self.path.parent} contains part of a preparation with other options or versions: choose another --output, or remove "
                f"{self.path.name} and *.partial from it")
        return self.head is not None

    def begin(self, about: dict[str, Any], parts: list[Part], stamps: list[str]) -> dict[int, list[str]]:
        """Starts or continues the journal. Returns the digests of the samples whose source and written bytes have not changed."""
        kept = {}
        for line in self.lines:
            index, stamp, *row = [*line.split(" "), "", ""]
            row = row[: len(parts)]
            if index.isdigit() and int(index) < len(stamps) and stamp == stamps[int(index)]:
                found = [part.read(int(index)) for part in parts]
                if all(data is not None and hashlib.sha256(data).hexdigest() == known for data, known in zip(found, row)):
                    kept[int(index)] = row
        if self.head is not None:
            print(f"continuing: {len(kept)} samples are already prepared", file=sys.stderr)
        lines = [json.dumps(head_of(about)), *(" ".join([str(index), stamps[index], *row]) for index, row in kept.items())]
        unfinished = self.path.with_name(self.path.name + ".new")
        unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(unfinished, self.path)
        self.file = open(self.path, "a", encoding="utf-8")
        return kept

    def add(self, index: int, stamp: str, digests: list[str]) -> None:
        """Records a sample that is written."""
        print(index, stamp, *digests, file=self.file, flush=True)

    def remove(self) -> None:
        """Removes the journal of a complete data set."""
        self.file.close()
        self.path.unlink()


class NoJournal:
    """Journal of a data set that keeps nothing if the process ends."""

    def belongs_to(self, about: dict[str, Any]) -> bool:
        return False

    def begin(self, about: dict[str, Any], parts: list[Part], stamps: list[str]) -> dict[int, list[str]]:
        return {}

    def add(self, index: int, stamp: str, digests: list[str]) -> None:
        pass

    def remove(self) -> None:
        pass


def head_of(about: dict[str, Any]) -> dict[str, Any]:
    """Returns `about` with the packages' versions and the code's digest, on which samples depend too."""
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))
    return {**about, "packages": packages(), "code": code.hexdigest()}
