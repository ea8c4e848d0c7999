"""Steps, which are functions with a name, a group and a time limit; and their results."""

import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

from kit.settings import Settings


COVERS = "measured"  # name of the figure that states the range of the others
# Maximum time of each group's steps on a GPU, in seconds; in the order in which `all` runs the groups.
GROUPS = {"first": 330, "second": 250} | {str(number): 560 for number in range(1, 9)}


class Skip(Exception):
    """Exception of a step that does not apply; the text is the reason."""


class Failed(Exception):
    """Failure of a program; the text contains the end of its output."""


class Result:
    """Result of a step. It is written at every change, so that a stopped step leaves a partial result."""

    def __init__(self, file: Path) -> None:
        self.file, self.started = file, time.monotonic()
        self.state, self.why = "running", []
        self.figures: dict[str, float | int | str] = {}
        self.shown: list[str] = []

    def figure(self, name: str, value: float | int | str) -> None:
        """Records a figure for the report. Goals refer to its name. Infinities and NaN become text, since JSON has neither."""
        if isinstance(value, float):
            value = float(f"{value:.4g}") if math.isfinite(value) else str(value)
        self.figures[name] = value
        self.write()

    def covers(self, what: str) -> None:
        """Records the range that the figures cover. Goals of a stopped step are judged for this range."""
        self.figure(COVERS, what)

    def expect(self, holds: bool, what: str) -> None:
        """Records whether a statement holds. If it does not, the step fails but continues."""
        if holds:
            self.shown.append(what)
        else:
            self.why.append(f"does not hold: {what}")
        self.write()

    def end(self, state: str, why: str = "") -> None:
        self.state = state
        self.why += [why] if why else []
        self.write()

    def write(self) -> None:
        found = {"state": self.state, "why": self.why, "figures": self.figures, "shown": self.shown,
                 "seconds": round(time.monotonic() - self.started, 1)}
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(found))
        part.replace(self.file)


@dataclasses.dataclass(frozen=True)
class Step:
    """Step of the kit."""

    name: str
    group: str  # key of GROUPS
    seconds: int  # time limit on a GPU
    needs_device: bool
    shows: str
    work: Callable[[Settings, Result], None]


STEPS: dict[str, Step] = {}


def step(group: int | str, seconds: int, needs_device: bool = True, name: str = "") -> Callable:
    """Registers a function as a step: its name with hyphens names the step, or `name`; its docstring describes it in the report."""

    def register(work: Callable[[Settings, Result], None]) -> Callable[[Settings, Result], None]:
        own = name or work.__name__.replace("_", "-")
        STEPS[own] = Step(own, str(group), seconds, needs_device, (work.__doc__ or "").strip(), work)
        return work

    return register


def in_order() -> list[Step]:
    """Returns all steps, group by group."""
    return sorted(STEPS.values(), key=lambda step: list(GROUPS).index(step.group))


def run(name: str, settings: Settings, file: Path) -> None:
    """Runs a step in this process and writes its result."""
    result = Result(file)
    result.write()
    try:
        STEPS[name].work(settings, result)
    except Skip as reason:
        result.end("skipped", str(reason))
    except Exception as error:  # every error becomes the step's result
        result.end("failed", f"{type(error).__name__}: {error}" if not isinstance(error, Failed) else str(error))
        if not isinstance(error, Failed):
            raise
    else:
        result.end("failed" if result.why else "passed")
