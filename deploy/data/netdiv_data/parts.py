"""Parts of a data set, as `loadgen-node run --dataset` opens them: an array, a folder, or a file of token ids."""

import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from .errors import DataError

PARTIAL = ".partial"


def reserve(path: Path, size: int) -> None:
    """Allocates `size` bytes on the disk. Otherwise a write to a mapped page of a full disk would kill the process."""
    with open(path, "r+b" if path.exists() else "w+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            needed, free = size / 1e9, shutil.disk_usage(path.parent).free / 1e9
            raise DataError(f"{path.parent} needs {needed:.1f} GB, {free:.1f} GB are free: {error.strerror}") from error


class Part(ABC):
    """File or folder with a part of each sample. Its name ends in `.partial` until it is complete."""

    lasting = True  # written samples survive an interruption

    def __init__(self, name: str) -> None:
        self.name = name

    def path(self, folder: Path) -> Path:
        return folder / self.name

    def partial(self, folder: Path) -> Path:
        return folder / (self.name + PARTIAL)

    @abstractmethod
    def begin(self, folder: Path, count: int) -> None:
        """Allocates room for `count` samples, or opens the unfinished part."""

    @abstractmethod
    def write(self, index: int, item: Any) -> bytes:
        """Writes a sample's part; returns its bytes."""

    @abstractmethod
    def read(self, index: int) -> bytes | None:
        """Returns the bytes that were written for a sample, or None."""

    def close(self) -> None:
        """Finishes the part after the last sample."""


class Array(Part):
    """Samples of one type and shape in one `.npy` file."""

    def __init__(self, name: str, data_type: str, shape: tuple[int, ...]) -> None:
        super().__init__(name + ".npy")
        self.data_type, self.shape = np.dtype(data_type), shape

    def begin(self, folder: Path, count: int) -> None:
        path, shape = self.partial(folder), (count, *self.shape)
        if not self.opened(path, shape):
            self.array = np.lib.format.open_memmap(path, mode="w+", dtype=self.data_type, shape=shape)
        reserve(path, path.stat().st_size)

    def opened(self, path: Path, shape: tuple[int, ...]) -> bool:
        """Opens the file of an interrupted preparation; returns false if it does not match."""
        try:
            self.array = np.lib.format.open_memmap(path, mode="r+")
        except (OSError, ValueError):
            return False
        return self.array.shape == shape and self.array.dtype == self.data_type

    def write(self, index: int, item: np.ndarray) -> bytes:
        if item.shape != self.shape or item.dtype != self.data_type:
            raise DataError(f"sample {index}: found {item.dtype} {item.shape}, expected {self.data_type} {self.shape}")
        self.array[index] = item
        return item.tobytes()

    def read(self, index: int) -> bytes | None:
        return self.array[index].tobytes()

    def close(self) -> None:
        self.array.flush()
        del self.array


class Folder(Part):
    """Folder with a file for each sample, named by its number: an array, or unchanged bytes if there is a suffix."""

    def __init__(self, name: str, suffix: str | None = None) -> None:
        super().__init__(name)
        self.suffix = suffix

    def begin(self, folder: Path, count: int) -> None:
        self.folder = self.partial(folder)
        self.folder.mkdir(exist_ok=True)
        self.digits = len(str(count - 1))

    def file(self, index: int) -> Path:
        return self.folder / f"{index:0{self.digits}}{self.suffix or '.npy'}"

    def write(self, index: int, item: Any) -> bytes:
        path = self.file(index)
        unfinished = path.with_name("." + path.name)
        with open(unfinished, "wb") as file:
            if self.suffix:
                file.write(item)
            else:
                np.lib.format.write_array(file, np.ascontiguousarray(item), allow_pickle=False)
        os.replace(unfinished, path)
        return item if self.suffix else item.tobytes()

    def read(self, index: int) -> bytes | None:
        try:
            return self.file(index).read_bytes() if self.suffix else np.load(self.file(index), allow_pickle=False).tobytes()
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        for left_over in self.folder.glob(".*"):
            left_over.unlink()


class Ids(Part):
    """File with the token ids of all samples; their number differs between samples (docs/ENGINES.md)."""

    lasting = False

    def __init__(self, name: str) -> None:
        super().__init__(name + ".ids")
        self.rows: dict[int, bytes] = {}

    def begin(self, folder: Path, count: int) -> None:
        self.count, self.file = count, self.partial(folder)

    def write(self, index: int, item: list[int]) -> bytes:
        try:
            row = np.asarray(item)
        except (ValueError, TypeError, OverflowError):
            row = np.empty(0)
        if row.ndim != 1 or not row.size or row.dtype.kind not in "iu" or row.min() < 0 or row.max() >= 1 << 31:
            raise DataError(f"sample {index}: not a list of token ids from 0 to {(1 << 31) - 1} with at least one id")
        self.rows[index] = row.astype("<i4").tobytes()
        return self.rows[index]

    def read(self, index: int) -> bytes | None:
        return self.rows.get(index)

    def close(self) -> None:
        rows = [self.rows[index] for index in range(self.count)]
        offsets = np.cumsum([0] + [len(row) // 4 for row in rows]).astype("<u8")
        with open(self.file, "wb") as file:
            file.write(b"NDIDS001" + np.uint64(len(rows)).astype("<u8").tobytes() + offsets.tobytes())
            file.writelines(rows)
