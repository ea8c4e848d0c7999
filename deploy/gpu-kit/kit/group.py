"""Groups of steps: time limits, and the processes that run the steps."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from kit.settings import Settings, own_python
from kit.step import GROUPS, Step

IMPORT_SECONDS = 20  # maximum time of a call beside its steps, which is mostly the import of torch
PATIENCE = 3  # factor of all maximums on a CPU, which other programs may use
LEAST = 10  # minimum time left in which a step is still started, in seconds
DYING = 10  # maximum time in which a killed process must end, in seconds
LOG = "gpu-kit.log"
LOG_HEAD, LOG_TAIL = 5 << 20, 10 << 20  # bytes that remain of a longer log

Runner = Callable[[Step, float], dict]


def run_steps(steps: Iterable[Step], patience: int, runner: Runner, add: Callable[[Step, dict], None],
              clock: Callable[[], float] = time.monotonic, started: float | None = None) -> bool:
    """Runs steps, group by group, and passes their results to `add`. Returns True if all of them passed or were skipped.

    `started` is the time at which the call began, before it imported torch. The first group's time is shortened by the import.
    """
    good, group, most, ends = True, "", 0, 0.0
    for step in steps:
        if step.group != group:
            began, most = clock(), GROUPS[step.group] * patience
            ends = began + most
            if not group and started is not None:
                ends = min(ends, started + most + IMPORT_SECONDS * patience)
            group = step.group
        print(f"{step.name} … ", end="", flush=True)
        left = ends - clock()
        bound = min(left, step.seconds * patience)
        if left < LEAST:
            found = {"state": "stopped", "why": [f"not started: the time of group {group} is over"], "figures": {},
                     "shown": [], "seconds": 0}
        else:
            found = runner(step, bound)
        found["bound"] = round(max(bound, 0.0), 1)
        add(step, found)
        good &= found["state"] not in ("failed", "stopped")
        print(found["state"], f"{found['seconds']} s of {found['bound']} s", *(f"\n    {why}" for why in found["why"]))
        print(f"  group {group}: {clock() - began:.0f} s of {most} s", flush=True)
    return good


def in_its_own_process(settings: Settings, step: Step, seconds: float) -> dict:
    """Runs a step for at most `seconds`. Ends the step and all programs that it started."""
    file = settings.folder("results") / f"{step.name}.json"
    file.unlink(missing_ok=True)
    words = own_python("-m", "kit", step.name, *settings.arguments(), "--as-step", str(file))
    with open(settings.output / LOG, "a", encoding="utf-8") as log:
        log.write(f"\n== {step.name}\n")
        log.flush()
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        stopped = True
        try:
            process.wait(seconds)
            stopped = False
        except subprocess.TimeoutExpired:
            pass
        finally:
            left = killed(process)
    shorten(settings.output / LOG)
    try:
        found = json.loads(file.read_text())
    except OSError:
        found = {"state": "failed", "why": [], "figures": {}, "shown": [], "seconds": 0}
    if stopped:
        found |= {"state": "stopped", "seconds": round(seconds, 1)}
        found["why"].append(f"took longer than {seconds:.0f} s")
    elif found["state"] == "running" or process.returncode != 0 and found["state"] == "passed":
        found["state"] = "failed"
        found["why"].append(f"ended with {process.returncode}; see {LOG}")
    if left:
        found["why"].append(f"killed, but still running: {', '.join(left)}; the driver may block them, and later steps may fail "
                            "because of them")
    return found


def killed(process: subprocess.Popen) -> list[str]:
    """Kills a step and the programs that it started. Returns the processes that do not end, such as one that the driver blocks."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    until = time.monotonic() + DYING
    while True:
        process.poll()
        left = members(process.pid)
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


def members(group: int) -> list[str]:
    """Returns the running processes of a group, as `name (number)`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, fields = stat.read_text().rsplit(")", 1)
        except OSError:
            continue
        state, _, its_group = fields.split()[:3]
        if int(its_group) == group and state not in "ZX":
            number, name = head.split(" (", 1)
            found.append(f"{name} ({number})")
    return sorted(found)


def shorten(log: Path) -> None:
    """Shortens a log that is too long to copy; keeps its head and its tail."""
    size = log.stat().st_size
    if size <= LOG_HEAD + LOG_TAIL:
        return
    with open(log, "rb") as file:
        head = file.read(LOG_HEAD)
        file.seek(size - LOG_TAIL)
        tail = file.read()
    left_out = f"\n… {size - LOG_HEAD - LOG_TAIL} bytes omitted …\n".encode()
    log.write_bytes(head + left_out + tail)
