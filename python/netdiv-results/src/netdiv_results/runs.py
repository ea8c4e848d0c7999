"""Runs: `result.json`, `series.csv` and `histograms.hlog`."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

import pandas as pd

from .errors import ResultsError, reading
from .histograms import Encoded, Histogram, decoded, encoded_histograms
from .records import RUN, Folder, Record, flat, table

TIMES = ("start_seconds", "end_seconds")
COUNTS = (
    "issued", "sent", "completed", "waiting", "in_flight", "p50_ns", "p99_ns", "max_ns", "bytes_sent", "bytes_received",
    "first_tokens", "first_p50_ns", "first_p99_ns", "tokens",
)  # fmt: skip

# Folder that a sweep has set aside: its run failed, ended without a result, or was over other nodes.
UNFINISHED = re.compile(r"\.unfinished-\d+$")

# Keys of result.json with settings, machines and lists, in place of figures.
NO_FIGURES = {
    "nodes", "findings", "waived", "prepared", "input", "interfaces", "shortages", "evidence", "digests", "settings", "logs",
    "test_settings",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Run:
    """Finished run."""

    folder: Path
    result: Record = field(repr=False)
    """Whole content of result.json."""
    figures: pd.Series[Any] = field(repr=False)
    """Figures of the run by their paths, such as `metric.value` and `loadgen_latency_ns.99.00`."""
    nodes: pd.DataFrame = field(repr=False)
    """Row for each node, in the order of result.json, with columns such as `latency_ns.p99`."""
    series: pd.DataFrame = field(repr=False)
    """Rows of series.csv, with an empty `node` for all nodes together; empty for a run without that file."""
    encoded: Encoded = field(repr=False)

    @property
    def measures(self) -> list[str]:
        """Measures that have histograms."""
        return list(dict.fromkeys(measure for _, measure in self.encoded))

    def histogram(self, measure: str = "latency", node: Optional[Union[str, int]] = None) -> Histogram:
        """Returns the histogram of a node, by its name or its place in `nodes`, or of all nodes together."""
        path = self.folder / "histograms.hlog"
        names = [each["name"] for each in self.result["nodes"]]
        if node is not None and node not in names and node not in range(len(names)):
            raise ResultsError(f"{path}: the run has no node {node!r}; pass one of {names}")
        those = [
            text for (place, what), text in self.encoded.items()
            if what == measure and (node is None or node in (place, names[place]))
        ]  # fmt: skip
        if not those:
            raise ResultsError(f"{path}: it has no histogram {measure!r} of these nodes; pass one of {self.measures}")
        with reading(path):
            return decoded(measure, those)


def read_run(folder: Folder) -> Run:
    """Reads the run in a folder (`--output` of `loadgen-node run`)."""
    folder = Path(folder)
    result = RUN.read(folder)
    with reading(folder / RUN.file):
        figures = pd.Series(flat(result, NO_FIGURES), dtype=object)
        nodes = table(result["nodes"], {"batches", "servers"})
        if invalid := [node["name"] for node in result["nodes"] if not isinstance(node["name"], str)]:
            raise TypeError(f"the name of a node is invalid: {invalid[0]!r}")
    hlog = folder / "histograms.hlog"
    with reading(hlog):
        encoded = encoded_histograms(hlog.read_text("utf-8")) if hlog.exists() else {}
        if any(place >= len(nodes) for place, _ in encoded):
            raise ValueError(f"it has more nodes than {RUN.file}")
    return Run(folder, result, figures, nodes, _series(folder / "series.csv"), encoded)


def read_runs(folder: Folder) -> pd.DataFrame:
    """Returns the figures of each run below a folder: a row for each, by its path.

    Leaves out folders that a sweep has set aside, and damaged runs, of which it warns.
    """
    folder = Path(folder)
    names = sorted(path.parent.relative_to(folder) for path in folder.rglob(RUN.file))
    runs: dict[str, Record] = {}
    damage: Optional[ResultsError] = None
    for name in names:
        if UNFINISHED.search(name.name):
            continue
        try:
            runs[name.as_posix()] = RUN.read(folder / name)
        except ResultsError as error:
            damage = error
            warnings.warn(f"a run is left out: {error}", stacklevel=2)
    if not runs:
        none = ResultsError(f"{folder}: it contains no runs; pass a folder that contains folders of `{RUN.command}` (--output)")
        raise damage or none
    return table(runs.values(), NO_FIGURES).set_index(pd.Index(list(runs), name="run"))


def _series(path: Path) -> pd.DataFrame:
    with reading(path):
        text = path.read_text("utf-8") if path.exists() else ""
        # The last line of a run that was killed may be incomplete.
        lines = text[: text.rfind("\n") + 1] or ",".join((*TIMES, "node", *COUNTS))
        types = {"node": "str"} | dict.fromkeys(TIMES, "float64") | dict.fromkeys(COUNTS, "Int64")
        empty = dict.fromkeys((*TIMES, *COUNTS), [""])
        series = pd.read_csv(io.StringIO(lines), dtype=types, keep_default_na=False, na_values=empty)
        if missing := [column for column in types if column not in series]:
            raise ValueError(f"it lacks the columns {missing}")
        if not (series["end_seconds"] > series["start_seconds"]).all():
            raise ValueError("an interval ends before it starts")
        return series
