"""Measurements of the network: `fabric.json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from .errors import reading
from .records import FABRIC, Folder, Record, table

HERE = "(here)"


@dataclass(frozen=True, eq=False)
class Fabric:
    """Measurement of the network between this machine and nodes. Tables of parts that were not measured have no rows."""

    folder: Path
    record: Record = field(repr=False)
    """Whole content of fabric.json."""
    routes: pd.DataFrame = field(repr=False)
    round_trips: pd.DataFrame = field(repr=False)
    bandwidth: pd.DataFrame = field(repr=False)
    """Row for each measured bandwidth; `part` is `sizes`, `soak`, or, with `--matrix`, `fan_out` or `incast`."""
    nodes: pd.DataFrame = field(repr=False)
    """Share of each node in each bandwidth."""
    open_loop: pd.DataFrame = field(repr=False)
    benchmarks: pd.DataFrame = field(repr=False)
    pairs: pd.DataFrame = field(repr=False)
    """Row for each pair of hosts, with `--matrix`; `(here)` is the LoadGen node's machine."""
    matrix: pd.DataFrame = field(repr=False)
    """Rates of the pairs in bytes per second: a row for each sender, a column for each receiver."""


def read_fabric(folder: Folder) -> Fabric:
    """Reads the measurement in a folder (`--output` of `loadgen-node fabric`)."""
    record = FABRIC.read(folder)
    with reading(Path(folder) / FABRIC.file):
        matrix = record.get("matrix") or {}
        parts = [("sizes", cell) for cell in record["bandwidth"]]
        parts += [("soak", record["soak"])] if record.get("soak") else []
        parts += [(part, matrix[part]) for part in ("fan_out", "incast") if matrix.get(part)]
        cells = [{"part": part} | cell for part, cell in parts]
        keys = ("part", "message_bytes", "direction")
        pairs = table(map(_pair, matrix.get("pairs", [])))
        return Fabric(
            Path(folder),
            record,
            table(record["routes"]),
            table(record["round_trips"], {"histogram_ns"}),
            table(cells, {"intervals", "far_ends", "shortages", "nodes", "streams"}),
            table({key: cell[key] for key in keys} | node for cell in cells for node in cell["nodes"]),
            table(record.get("open_loop", [])),
            table(record.get("benchmarks", [])),
            pairs,
            pairs if pairs.empty else pairs.pivot(index="from", columns="to", values="bytes_per_second"),
        )


def _pair(pair: Record) -> Record:
    ends = {end: HERE if pair[end] == "here" else pair[end]["node"] for end in ("from", "to")}
    return {"bytes_per_second": None} | pair | ends
