"""R-GAT: the samples, which are numbers of papers. igbh_graph.py prepares the graph that the nodes hold."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import sources
from .errors import DataError
from .facts import IGBH
from .parts import Array
from .preparation import Preparation
from .tensors import vector

FORMS = ("nodes", "graph", "graph-fp16")
REFERENCE = "graph/R-GAT/dgl_utilities/feature_fetching.py: IGBHeteroGraphStructure; tools/split_seeds.py"
SIZES = ("full", "large", "medium", "small", "tiny")
TYPES = ("paper", "author", "conference", "fos", "institute", "journal")
# feature_fetching.py of the reference, in the order of TYPES.
NODES = {
    "full": (269346174, 277220883, 4547, 712960, 26918, 49052),
    "large": (100000000, 116959896, 4490, 649707, 26524, 48820),
    "medium": (10000000, 15544654, 4189, 415054, 23256, 37565),
    "small": (1000000, 1926066, 1215, 190449, 14751, 15277),
    "tiny": (100000, 357041, 398, 84220, 8738, 8101),
}
WIDTH = 1024


@dataclass(frozen=True)
class Table:
    """Features or labels of the nodes of one type: rows, with or without a header before them."""

    path: Path
    header: int
    rows: int
    width: int
    data_type: np.dtype = np.dtype("<f4")

    def array(self) -> np.ndarray:
        return np.memmap(self.path, self.data_type, "r", self.header, (self.rows, self.width))


def size_of(folder: Path, incomplete: bool) -> tuple[str, Path]:
    """Returns the largest of IGBH's sizes that the folder contains, and that size's folder."""
    for size in SIZES:
        if (folder / size / "processed").is_dir():
            if size != "full" and not incomplete:
                raise DataError(f"{folder} has the size {size}, the benchmark needs full. Use --incomplete for practice")
            return size, folder / size / "processed"
    raise DataError(f"{folder} has no {'/processed, '.join(SIZES)}/processed: pass the folder that the reference's scripts download to")


def table(path: Path, width: int) -> Table:
    """Opens an `.npy` file of IGBH. Files of papers and authors have no header at the sizes large and full."""
    bytes_there = path.stat().st_size
    with open(path, "rb") as file:
        if file.read(6) != np.lib.format.MAGIC_PREFIX:
            if bytes_there == 0 or bytes_there % (4 * width):
                raise DataError(f"{path}: {bytes_there} bytes are not a whole number of rows of {width} float32. Fetch it again")
            return Table(path, 0, bytes_there // (4 * width), width)
        file.seek(0)
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_columns, data_type = read(file)
        except ValueError as error:
            raise DataError(f"{path}: not an array: {error}") from error
        header = file.tell()
    rows, columns = (*shape, 1)[:2] if shape else (0, 0)
    if header % 4:
        raise DataError(f"{path}: its header ends at byte {header}, which is not a multiple of 4, so it cannot be mapped. Save it again with numpy.save")
    plain = data_type.kind in "iuf" and len(shape) in (1, 2) and not (by_columns and columns > 1)
    if not plain or rows * columns == 0 or bytes_there < header + data_type.itemsize * rows * columns:
        raise DataError(f"{path}: {data_type} {shape} in {bytes_there} bytes are not rows of numbers. Fetch it again")
    return Table(path, header, rows, columns, data_type)


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None) -> Preparation:
    """Reads the folder that the reference's download script and split_seeds.py write: `full/processed` with `val_idx.pt`."""
    size, processed = size_of(folder, incomplete)
    labels = table(sources.published(sources.file(processed / "paper", "node_label_2K.npy"), IGBH, incomplete), 1)
    papers = NODES[size][0]
    if calibration:
        read = [sources.calibration_list(calibration, IGBH, incomplete)]
        numbers = np.array([number_of(line, papers, calibration) for line in sources.lines(calibration)])
    else:
        read = [sources.file(processed, "val_idx.pt")]
        numbers = vector(read[0])
    if numbers.min() < 0 or numbers.max() >= min(papers, labels.rows):
        raise DataError(f"{read[0]}: numbers from {numbers.min()} to {numbers.max()}, but {labels.path} has {labels.rows} papers")
    wanted = labels.array()[numbers, 0]
    if not np.isfinite(wanted).all():
        raise DataError(f"{labels.path}: some papers of {read[0].name} have no label. Run split_seeds.py with --dataset_size {size}")
    sources.check_classes(wanted, IGBH, lambda row: f"{labels.path}: the label of paper {numbers[row]}")
    return Preparation(
        "rgat", IGBH, form, REFERENCE, [Array("rgat-calibration" if calibration else "rgat", "int64", (1,))],
        [str(number) for number in numbers], numbers, lambda number: [np.array([number], np.int64)], [*read, labels.path],
        labels=wanted.astype(np.int64), calibration=calibration is not None, parallel=False)


def number_of(line: str, papers: int, named_by: Path) -> int:
    number = sources.number(line, papers)
    if number is None:
        raise DataError(f"{named_by}: {line!r} is not the number of a paper")
    return number
