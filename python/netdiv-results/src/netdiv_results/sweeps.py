"""Sweeps: `sweep.json`, which also has the rows of `sweep.csv`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from .errors import reading
from .records import SWEEP, Folder, Record, table
from .runs import Run, read_run

STEP_KEYS = {"nodes", "load", "folder", "verdict", "latency_ns"}


@dataclass(frozen=True, eq=False)
class Sweep:
    """Series of runs at increasing load, over sets of nodes."""

    folder: Path
    record: Record = field(repr=False)
    """Whole content of sweep.json."""
    steps: pd.DataFrame = field(repr=False)
    """Row for each step, ordered by `nodes`, then by `load`: queries per second, or samples in flight, as `record["load"]` says."""
    best: pd.DataFrame = field(repr=False)
    """Highest VALID rate of each number of nodes; without rows for a sweep over concurrencies."""

    def run(self, step: str) -> Run:
        """Reads the run of a step, by the step's `folder`."""
        return read_run(self.folder / step)


def read_sweep(folder: Folder) -> Sweep:
    """Reads the sweep in a folder (`--output` of `loadgen-node sweep`)."""
    record = SWEEP.read(folder)
    with reading(Path(folder) / SWEEP.file):
        for step in record["steps"]:
            if missing := STEP_KEYS - step.keys():
                raise ValueError(f"a step lacks the keys {sorted(missing)}")
        return Sweep(Path(folder), record, table(record["steps"]), table(record["best"]))
