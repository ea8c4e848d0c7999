"""Runs a group of steps, each in a separate process, and writes the report after each step.

    gpu-kit/run.sh first
    gpu-kit/run.sh all --device cpu --small
    gpu-kit/run.sh lost-device --output gpu-report

Exit code 0: no step failed; 1: a step failed or was stopped; 2: the kit cannot run here.
"""

import argparse
import functools
import importlib
import shutil
import sys
import time
from pathlib import Path

from kit import group, machine
from kit.report import NAME, OtherMachine, Report
from kit.settings import KIT, Settings
from kit.step import GROUPS, Step, in_order, run


def command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help=f"a group ({', '.join(GROUPS)}), `all`, name of a step, or `list`")
    parser.add_argument("--device", default="cuda:0", help="cuda:N or cpu (default: cuda:0)")
    parser.add_argument("--small", action="store_true", help="tiny networks and short measurements")
    parser.add_argument("--output", type=Path, default=Path("gpu-report"), help="folder to write the report to (default: gpu-report)")
    parser.add_argument("--work", type=Path, default=KIT / "work",
                        help="folder for models, data sets and runs, which git must not track (default: beside run.sh)")
    parser.add_argument("--libtorch", type=Path, help="folder of the Python package torch (default: this Python's)")
    parser.add_argument("--as-step", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.device != "cpu" and not (args.device.startswith("cuda:") and args.device[5:].isdecimal()):
        parser.error(f"--device {args.device}: must be cuda:N or cpu")
    return args


def chosen(what: str) -> list[Step]:
    return [step for step in in_order() if what in ("all", step.group, step.name)]


def unsuitable(why: Exception | str) -> int:
    print(f"gpu-kit: {why}", file=sys.stderr)
    return 2


def main() -> int:
    started = time.monotonic()
    args = command_line()
    try:
        machine.check_python("numpy", *(("torch", "torchvision") if args.what != "list" else ()))
    except machine.Unsuitable as error:
        return unsuitable(error)
    importlib.import_module("kit.steps")  # registers the steps
    if args.what == "list":
        for step in in_order():
            print(f"{step.group:<6}  {step.name:<24} {step.shows.splitlines()[0]}")
        return 0
    steps = chosen(args.what)
    if not steps:
        return unsuitable(f"{args.what}: unknown group or step; `run.sh list` lists them")
    if args.device == "cpu" and not args.small and any(step.needs_device for step in steps):
        free = sorted({step.group for step in in_order() if not step.needs_device})
        return unsuitable(f"--device cpu requires --small, except for group {', '.join(free)}: networks of full size would take hours")
    try:
        libtorch = args.libtorch or machine.pythons_torch()
        settings = Settings(args.device, args.small, libtorch, args.output.resolve(), args.work.resolve())
        if args.as_step:
            run(args.what, settings, args.as_step)
            return 0
        machine.check_work(settings.work)
        report = Report(settings.output, machine.facts(args.device, libtorch), args.small)
    except (machine.Unsuitable, OtherMachine) as error:
        return unsuitable(error)
    good = group.run_steps(steps, 1 if settings.cuda else group.PATIENCE,
                           functools.partial(group.in_its_own_process, settings),
                           lambda step, found: report.add(step.name, found), started=started)
    shutil.rmtree(settings.folder("runs"), ignore_errors=True)
    print(f"report: {settings.output / NAME}.md")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
