"""Records in JSON, and tables of their objects."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Union

import pandas as pd

from .errors import ResultsError, reading

Folder = Union[str, "PathLike[str]"]
Record = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """Kind of record: its file, its reader, the command that writes it, and the types of its required keys."""

    file: str
    reader: str
    command: str
    keys: Mapping[str, type]
    number: Optional[str] = None
    """Key of the number of the format, which is 1."""

    def read(self, folder: Folder) -> Record:
        """Reads the record in a folder."""
        path = Path(folder) / self.file
        if not path.exists():
            raise ResultsError(self._missing(Path(folder)))
        with reading(path):
            record = json.loads(path.read_bytes())
            if not isinstance(record, dict):
                raise ValueError("it is not a JSON object")
            if self.number and isinstance(record[self.number], int) and record[self.number] != 1:
                raise ValueError(f"{self.number} {record[self.number]} is unknown; this package reads {self.number} 1")
            for key, expected in self.keys.items():
                if not isinstance(record[key], expected):
                    raise TypeError(f"the value of {key!r} is invalid: {record[key]!r}")
        return record

    def _missing(self, folder: Path) -> str:
        if not folder.is_dir():
            return f"{folder}: it is not a folder; pass the folder that `{self.command}` wrote (--output)"
        if others := [kind for kind in (RUN, SWEEP, FABRIC) if (folder / kind.file).exists()]:
            return f"{folder}: it has no {self.file}, but a {others[0].file}; read it with {others[0].reader}"
        below = "; read_runs reads all runs below a folder" if self is RUN else ""
        return f"{folder}: it has no {self.file}; pass the folder that `{self.command}` wrote (--output){below}"


RUN = Kind(
    "result.json",
    "read_run",
    "loadgen-node run",
    {"verdict": str, "benchmark": str, "scenario": str, "mode": str, "nodes": list, "samples": dict, "loadgen_latency_ns": dict},
)
SWEEP = Kind(
    "sweep.json",
    "read_sweep",
    "loadgen-node sweep",
    {"version": int, "benchmark": str, "load": str, "latency_source": str, "bounds": dict, "steps": list, "best": list},
    "version",
)
FABRIC = Kind(
    "fabric.json",
    "read_fabric",
    "loadgen-node fabric",
    {"form": int, "routes": list, "round_trips": list, "bandwidth": list},
    "form",
)


def flat(record: Record, apart: Collection[str] = ()) -> Record:
    """Returns the values of nested objects by their paths, such as `latency_ns.p99`, without the keys in `apart`."""
    if not isinstance(record, dict):
        raise TypeError(f"{record!r} is not an object")
    values: Record = {}
    for key, value in record.items():
        if key in apart:
            continue
        if isinstance(value, dict):
            values.update({f"{key}.{path}": inner for path, inner in flat(value).items()})
        else:
            values[key] = value
    return values


def table(records: Iterable[Record], apart: Collection[str] = (), columns: Collection[str] = ()) -> pd.DataFrame:
    """Returns a row for each record. The table has `columns` even if no record has them."""
    rows = [flat(record, apart) for record in records]
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*columns, *(key for row in rows for key in row)])))
