"""Sweeps: `sweep.json`, which also has the rows of `sweep.csv`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from .errors import reading
from .records import SWEEP, Folder, Record, table
from .runs import Run, read_run

SOURCES = ("loadgen", "netdiv")
REQUIRED = ("nodes", "load", "folder", "verdict", "latency_ns")
MEASURES = ("latency_ns", "first_token_ns", "further_token_ns")
STEP = (
    "nodes", "load", "searched", "folder", "verdict", "reasons", "samples", "passes", "seconds", "window_seconds",
    "samples_per_second", "tokens_per_second", "tokens_per_second_per_user",
    *(f"{measure}.{key}" for measure in MEASURES for key in ("mean", "p50", "p90", "p99", "p99_9", "max")),
    "network_share", "qdl_share", "lost", "client_limit",
)  # fmt: skip
BEST = ("nodes", "load", "samples_per_second", "folder", "lowest_invalid")


@dataclass(frozen=True, eq=False)
class Sweep:
    """Series of runs at increasing load, over sets of nodes."""

    folder: Path
    record: Record = field(repr=False)
    """Whole content of sweep.json."""
    latency_source: str
    """Source of the latencies: `loadgen`, from the scheduled time, or `netdiv`, from sending."""
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
        source = record["latency_source"]
        if source not in SOURCES:
            raise ValueError(f"latency_source {source!r} is unknown; this package reads {' and '.join(SOURCES)}")
        for step in record["steps"]:
            if missing := [key for key in REQUIRED if key not in step]:
                raise ValueError(f"a step lacks the keys {missing}")
        return Sweep(Path(folder), record, source, table(record["steps"], columns=STEP), table(record["best"], columns=BEST))
