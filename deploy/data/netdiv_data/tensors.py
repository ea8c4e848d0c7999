"""Reads a vector of integers that torch.save wrote, without PyTorch. A pickle can run any code: this reader allows only a tensor."""

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from . import sources
from .errors import DataError

MOST = 1 << 20  # maximum size of the pickled description of a tensor, in bytes


class Vector(pickle.Unpickler):
    """Unpickler that returns the storage's number, offset, shape and strides."""

    def find_class(self, module: str, name: str) -> Any:
        match module, name:
            case "torch._utils", "_rebuild_tensor_v2":
                return lambda storage, offset, shape, strides, *_: (storage, offset, shape, strides)
            case "torch", "LongStorage":
                return "int64"
            case "collections", "OrderedDict":
                return dict
        raise DataError(f"it refers to {module}.{name}, expected only a vector of int64; none of its code was run")

    def persistent_load(self, saved: Any) -> str:
        kind, data_type, number, *_ = saved
        if (kind, data_type) != ("storage", "int64") or not str(number).isdigit():
            raise DataError("it does not contain a vector of int64")
        return str(number)


def vector(path: Path) -> np.ndarray:
    """Maps the numbers into memory."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            head = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
            for info in archive.infolist():
                if info.filename.endswith(("/data.pkl", "/byteorder")) and info.file_size > MOST:
                    raise DataError(f"{info.filename} is too large for one vector")
            with archive.open(head) as file:
                number, offset, (length,), (stride,) = Vector(file).load()
            folder = head.filename.removesuffix("data.pkl")
            if folder + "byteorder" in archive.namelist() and archive.read(folder + "byteorder") != b"little":
                raise DataError("its bytes are not in the order of this machine")
            info = archive.getinfo(f"{folder}data/{number}")
            begin, end = offset * 8, (offset + length) * 8
            if stride != 1 or length < 1 or offset < 0 or info.compress_type != zipfile.ZIP_STORED or end > info.file_size:
                raise DataError("it is not a contiguous, uncompressed vector")
            if damaged := archive.testzip():
                raise DataError(f"{damaged} is damaged: its checksum does not match. Run split_seeds.py again")
            return np.memmap(path, "<i8", "r", sources.place(raw, info) + begin, (length,))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except OSError:
        raise
    except Exception as error:  # other files cause exceptions of many types
        raise DataError(f"{path}: not a tensor that torch.save wrote: {error}") from error
