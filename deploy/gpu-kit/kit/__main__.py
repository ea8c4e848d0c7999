"""Run a group of steps, each in a process of its own, and write the report after each.

    gpu-kit/run.sh 1
    gpu-kit/run.sh all --device cpu --small
    gpu-kit/run.sh lost-device --output gpu-report

Exit code 0: no step failed; 1: a step failed or was stopped; 2: the kit cannot run here.
"""

import argparse
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from kit import machine
from kit.report import NAME, OtherMachine, Report
from kit.settings import KIT, Settings, own_python
from kit.step import STEPS, Step, run

GROUP_SECONDS = 470  # a group stays below eight minutes
PATIENCE = 3  # times as long on a CPU, which others may use
NO_DEVICE = 5  # the group that needs none
LEAST = 10  # seconds with which a step is still begun
LOG = "gpu-kit.log"


def command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="number of a group, `all`, the name of a step, or `list`")
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu (default: cuda:0)")
    parser.add_argument("--small", action="store_true", help="tiny networks and short measurements")
    parser.add_argument("--output", type=Path, default=Path("gpu-report"), help="folder of the report (default: gpu-report)")
    parser.add_argument("--work", type=Path, default=KIT / "work", help="folder of models and runs (default: beside run.sh)")
    parser.add_argument("--libtorch", type=Path, help="torch's folder (default: that of this Python)")
    parser.add_argument("--as-step", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.device != "cpu" and not (args.device.startswith("cuda:") and args.device[5:].isdecimal()):
        parser.error(f"--device {args.device}: must be cuda:N or cpu")
    return args


def chosen(what: str) -> list[Step]:
    return [step for step in STEPS.values() if what in ("all", str(step.group), step.name)]


def in_its_own_process(step: Step, settings: Settings, seconds: float) -> dict:
    """Run a step for so long at most; what it started ends with it."""
    file = settings.folder("results") / f"{step.name}.json"
    file.unlink(missing_ok=True)
    words = own_python("-m", "kit", step.name, *settings.arguments(), "--as-step", str(file))
    with open(settings.output / LOG, "a", encoding="utf-8") as log:
        log.write(f"\n== {step.name}\n")
        log.flush()
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(seconds)
            stopped = False
        except subprocess.TimeoutExpired:
            stopped = True
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # the step, and the programs that it left
            except ProcessLookupError:
                pass
            process.wait()
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
    return found


def unsuitable(why: Exception | str) -> int:
    print(f"gpu-kit: {why}", file=sys.stderr)
    return 2


def main() -> int:
    args = command_line()
    try:
        machine.check_python("numpy", *(("torch", "torchvision") if args.what != "list" else ()))
    except machine.Unsuitable as error:
        return unsuitable(error)
    importlib.import_module("kit.steps")  # registers them
    if args.what == "list":
        for step in STEPS.values():
            print(f"{step.group}  {step.name:<24} {step.shows.splitlines()[0]}")
        return 0
    steps = chosen(args.what)
    if not steps:
        return unsuitable(f"{args.what}: there is no such group or step; `run.sh list` names them")
    if args.device == "cpu" and not args.small and any(step.group != NO_DEVICE for step in steps):
        return unsuitable(f"--device cpu needs --small but for group {NO_DEVICE}: networks of full size would take hours")
    try:
        libtorch = args.libtorch or machine.pythons_torch()
        settings = Settings(args.device, args.small, libtorch, args.output.resolve(), args.work.resolve())
        if args.as_step:
            run(args.what, settings, args.as_step)
            return 0
        report = Report(settings.output, machine.facts(args.device, libtorch), args.small)
    except (machine.Unsuitable, OtherMachine) as error:
        return unsuitable(error)
    patience = 1 if settings.cuda else PATIENCE
    failed, group, left = False, 0, 0.0
    for step in steps:
        if step.group != group:
            group, left = step.group, float(GROUP_SECONDS * patience)
        print(f"{step.name} … ", end="", flush=True)
        started = time.monotonic()
        if left < LEAST:
            found = {"state": "stopped", "why": [f"not begun: the time of group {group} is over"], "figures": {},
                     "shown": [], "seconds": 0}
        else:
            found = in_its_own_process(step, settings, min(left, step.seconds * patience))
        left -= time.monotonic() - started
        report.add(step.name, found)
        failed |= found["state"] in ("failed", "stopped")
        print(found["state"], f"{found['seconds']} s", *(f"\n    {why}" for why in found["why"]), flush=True)
    shutil.rmtree(settings.folder("runs"), ignore_errors=True)
    print(f"report: {settings.output / NAME}.md")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
