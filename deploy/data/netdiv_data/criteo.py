"""DLRMv2: the first half of Criteo's day 23, cut into samples of 100 to 700 pairs as the reference does."""

import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import sources
from .errors import DataError
from .facts import CRITEO
from .parts import Folder
from .preparation import Preparation

FORMS = ("tensors",)
REFERENCE = "recommendation/dlrm_v2/pytorch/python/multihot_criteo.py, --samples-to-aggregate-quantile-file=tools/dist_quantile.txt"
DENSE, LABELS, SPARSE, TRACE = "day_23_dense.npy", "day_23_labels.npy", "day_23_sparse_multi_hot.npz", "dlrm_trace_of_aggregated_samples.txt"
FEATURES = 26
HOT = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
ROWS = 178274637  # of day 23
CALIBRATION_PAIRS = 128000  # from the beginning of the second half: calibration/CriteoTerabyte/README.md of the reference
PAIRS = (100, 100, *[200] * 12, 300, 300, 400, 500, 600, 700)  # tools/dist_quantile.txt
SEED = 123  # --numpy-rand-seed of the reference


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads the three files of day 23 in FOLDER."""
    if calibration:
        raise DataError(f"no list is needed: calibrate with the {CALIBRATION_PAIRS} pairs from row {(ROWS + 1) // 2} of day 23")
    files = [sources.published(sources.file(folder, name), CRITEO, incomplete) for name in (DENSE, LABELS, SPARSE)]
    dense, labels, *sparse = arrays = [opened(files[0]), opened(files[1]), *unzipped(files[2])]
    rows = len(dense)
    shapes = [(rows, 13), (rows, 1), *[(rows, hot) for hot in HOT]]
    for array, shape in zip(arrays, shapes, strict=True):
        if array.shape != shape:
            raise DataError(f"{folder}: an array has the shape {array.shape}, expected {shape}")
    if rows != ROWS and not incomplete:
        raise DataError(f"{files[0]} has {rows} rows, day 23 has {ROWS}. Use --incomplete for practice")
    sources.check_classes(labels[: (rows + 1) // 2, 0], CRITEO, lambda row: f"{files[1]}: the label of row {row}")
    places = borders((rows + 1) // 2)
    names = [f"{start}-{end}" for start, end in zip(places, places[1:])]
    ranges = list(zip(places, places[1:]))
    return Preparation(
        "dlrm-v2", CRITEO, form, REFERENCE, [Folder("criteo-dense"), Folder("criteo-sparse")], names, ranges,
        partial(make, dense, sparse), files, parallel=False,
        extra={TRACE: partial(save_trace, ranges, rows == ROWS), "criteo-targets.txt": partial(save_targets, labels, places[-1])})


def opened(path: Path) -> np.ndarray:
    """Maps an array into memory."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path}: not an array: {error}") from error


def unzipped(path: Path) -> list[np.ndarray]:
    """Maps the arrays 0.npy to 25.npy of an uncompressed archive into memory."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as raw:
            return [member(archive, raw, path, f"{number}.npy") for number in range(FEATURES)]
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise DataError(f"{path}: not the archive of day 23's indices: {error}") from error


def member(archive: zipfile.ZipFile, raw: Any, path: Path, name: str) -> np.ndarray:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise DataError(f"{path}: {name} is compressed")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_columns, data_type = read(file)
        header = file.tell()
    if data_type != np.int32:
        raise DataError(f"{path}: {name} is {data_type}, not int32")
    offset = sources.place(raw, info) + header
    return np.memmap(path, data_type, "r", offset, shape, "F" if by_columns else "C")


def borders(pairs: int) -> list[int]:
    """Returns the first row of each sample, and the end of the last one. Draws the lengths as the reference does."""
    random = np.random.RandomState(SEED)
    places = [0]
    while places[-1] < pairs:
        places.append(min(places[-1] + PAIRS[random.randint(low=0, high=len(PAIRS))], pairs))
    return places


def make(dense: np.ndarray, sparse: list[np.ndarray], rows: tuple[int, int]) -> list[np.ndarray]:
    """Returns a sample: float32 [pairs, 13] and int32 [pairs, 214]."""
    start, end = rows
    numbers = np.float32(dense[start:end])
    if not np.isfinite(numbers).all():
        raise DataError(f"{DENSE}: rows {start} to {end - 1} contain values that are not finite. Fetch it again")
    return [numbers, np.concatenate([feature[start:end] for feature in sparse], axis=1)]


def save_trace(ranges: list[tuple[int, int]], official: bool, path: Path) -> None:
    """Writes the file for --aggregation-trace-file of accuracy-dlrm.py."""
    path.write_text("".join(f"{start}, {end}, {end - start}\n" for start, end in ranges), encoding="ascii")
    if official:
        sources.published(path, CRITEO, False)


def save_targets(labels: np.ndarray, pairs: int, path: Path) -> None:
    """Writes the file for --day-23-file of accuracy-dlrm.py, which reads only the first column."""
    with open(path, "w", encoding="ascii") as file:
        for start in range(0, pairs, 1 << 20):
            file.writelines(f"{int(label)}\t\n" for label in labels[start : min(start + (1 << 20), pairs), 0])
