"""Runs, sweeps and network measurements of netdiv as pandas tables.

Columns and keys are named as in the files, nested keys with dots: `latency_ns.p99`. docs/RECORDS.md of netdiv describes the files.
"""

from .errors import ResultsError
from .fabric import Fabric, read_fabric
from .histograms import Histogram
from .runs import Run, read_run, read_runs
from .sweeps import Sweep, read_sweep

__all__ = [
    "Fabric", "Histogram", "ResultsError", "Run", "Sweep", "read_fabric", "read_run", "read_runs", "read_sweep",
]  # fmt: skip
