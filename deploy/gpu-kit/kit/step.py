"""A step: a function with a name, a group and a bound on its time; and the result that it fills in."""

import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

from kit.settings import Settings


COVERS = "measured"  # the figure that says what the others cover


class Skip(Exception):
    """The step does not apply here; the text says why."""


class Failed(Exception):
    """A program did not do what it was asked for; the text says what it said."""


class Result:
    """What a step found. It is written at every change, so that a step that is stopped leaves what it had."""

    def __init__(self, file: Path) -> None:
        self.file, self.started = file, time.monotonic()
        self.state, self.why = "running", []
        self.figures: dict[str, float | int | str] = {}
        self.shown: list[str] = []

    def figure(self, name: str, value: float | int | str) -> None:
        """A figure for the report; goals name it. What is no finite number becomes a word, as JSON has none."""
        if isinstance(value, float):
            value = float(f"{value:.4g}") if math.isfinite(value) else str(value)
        self.figures[name] = value
        self.write()

    def covers(self, what: str) -> None:
        """Record the range that the figures cover: goals of a step that is stopped are judged for that."""
        self.figure(COVERS, what)

    def expect(self, holds: bool, what: str) -> None:
        """What has to hold, as a sentence; if it does not, the step fails and goes on."""
        if holds:
            self.shown.append(what)
        else:
            self.why.append(f"not so: {what}")
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
    """One thing that the kit shows."""

    name: str
    group: int
    seconds: int  # bound on a GPU
    needs_device: bool
    shows: str
    work: Callable[[Settings, Result], None]


STEPS: dict[str, Step] = {}


def step(group: int, seconds: int, needs_device: bool = True) -> Callable:
    """Make a step of a function: its name with hyphens, its documentation as what it shows."""

    def register(work: Callable[[Settings, Result], None]) -> Callable[[Settings, Result], None]:
        name = work.__name__.replace("_", "-")
        STEPS[name] = Step(name, group, seconds, needs_device, (work.__doc__ or "").strip(), work)
        return work

    return register


def in_order() -> list[Step]:
    """All steps, group by group."""
    return sorted(STEPS.values(), key=lambda step: step.group)


def run(name: str, settings: Settings, file: Path) -> None:
    """Run one step in this process and write its result."""
    result = Result(file)
    result.write()
    try:
        STEPS[name].work(settings, result)
    except Skip as reason:
        result.end("skipped", str(reason))
    except Exception as error:  # whatever goes wrong is the step's result
        result.end("failed", f"{type(error).__name__}: {error}" if not isinstance(error, Failed) else str(error))
        if not isinstance(error, Failed):
            raise
    else:
        result.end("failed" if result.why else "passed")
