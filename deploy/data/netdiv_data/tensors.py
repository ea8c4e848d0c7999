"""A vector of whole numbers that torch.save wrote, read without PyTorch. A pickle can run any code: this one may only name a tensor."""

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from . import sources
from .errors import DataError

MOST = 1 << 20  # bytes of what is read at once: the form of one tensor


class Vector(pickle.Unpickler):
    """Gives number of the storage, offset, shape and strides."""

    def find_class(self, module: str, name: str) -> Any:
        match module, name:
            case "torch._utils", "_rebuild_tensor_v2":
                return lambda storage, offset, shape, strides, *_: (storage, offset, shape, strides)
            case "torch", "LongStorage":
                return "int64"
            case "collections", "OrderedDict":
                return dict
        raise DataError(f"it holds {module}.{name}, not a vector of int64 alone; nothing of it was run")

    def persistent_load(self, saved: Any) -> str:
        kind, data_type, number, *_ = saved
        if (kind, data_type) != ("storage", "int64") or not str(number).isdigit():
            raise DataError("it does not hold a vector of int64")
        return str(number)


def vector(path: Path) -> np.ndarray:
    """The numbers, on the disk."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            head = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
            for info in archive.infolist():
                if info.filename.endswith(("/data.pkl", "/byteorder")) and info.file_size > MOST:
                    raise DataError(f"{info.filename} is larger than that of one vector")
            with archive.open(head) as file:
                number, offset, (length,), (stride,) = Vector(file).load()
            folder = head.filename.removesuffix("data.pkl")
            if folder + "byteorder" in archive.namelist() and archive.read(folder + "byteorder") != b"little":
                raise DataError("its bytes are not in the order of this machine")
            info = archive.getinfo(f"{folder}data/{number}")
            begin, end = offset * 8, (offset + length) * 8
            if stride != 1 or length < 1 or offset < 0 or info.compress_type != zipfile.ZIP_STORED or end > info.file_size:
                raise DataError("it is not a plain vector")
            if damaged := archive.testzip():
                raise DataError(f"{damaged} is damaged: its checksum is another. Make it again")
            return np.memmap(path, "<i8", "r", sources.place(raw, info) + begin, (length,))
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except OSError:
        raise
    except Exception as error:  # whatever reading something else leads to
        raise DataError(f"{path}: not a tensor that torch.save wrote: {error}") from error
