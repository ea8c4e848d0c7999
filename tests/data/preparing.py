"""Runs deploy/data/prepare on a source in a folder of its own."""

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[2] / "deploy" / "data"
CASES = json.loads((DATA / "netdiv_data" / "kits19_cases.json").read_text())
sys.path.insert(0, str(DATA))

ENVIRONMENT = os.environ | {"PYTHONPATH": str(DATA), "PYTHONFAULTHANDLER": "1"}
LONGEST = 300  # seconds of one command; far more than any takes


@dataclass
class Running:
    """Command in a fork of the server."""

    args: tuple[object, ...]
    pid: int
    folder: tempfile.TemporaryDirectory[str]


@functools.cache
def server() -> subprocess.Popen[bytes]:
    """Starts the process that `start` asks, and ends it with this one.

    Its pipes have no buffer, in which `select` would miss a line.
    """
    running = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py")], env=ENVIRONMENT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, bufsize=0)
    atexit.register(running.communicate)
    return running


def start(*args: object) -> Running:
    """Starts the command in a fork of a process that has imported its packages."""
    folder = tempfile.TemporaryDirectory()
    request = {"args": [*map(str, args)], "output": f"{folder.name}/output", "errors": f"{folder.name}/errors"}
    server().stdin.write(json.dumps(request).encode() + b"\n")
    return Running(args, int(server().stdout.readline()), folder)


def has_ended(seconds: float = 0) -> bool:
    """Returns true once the command that was started has ended, and all that it started."""
    return bool(select.select([server().stdout], [], [], seconds)[0])


def end_of(running: Running) -> subprocess.CompletedProcess[str]:
    """Waits for the command and for all that it started. One that hangs says where each of its processes does, and fails."""
    hangs = not has_ended(LONGEST)
    if hangs:
        os.killpg(running.pid, signal.SIGABRT)
    code = int(server().stdout.readline())
    with running.folder as folder:
        output, errors = (Path(folder, name).read_text() for name in ("output", "errors"))
    if hangs:
        raise AssertionError(f"{running.args} hangs: {errors}")
    return subprocess.CompletedProcess(running.args, code, output, errors)


def prepare(*args: object) -> subprocess.CompletedProcess[str]:
    return end_of(start(*args))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.source, self.output = self.root / "source", self.root / "out"

    def made(self, *args: object) -> list[Path]:
        """Runs the command, which has to succeed; gives the parts of the data set."""
        ran = prepare(args[0], "--from", self.source, "--output", self.output, "--incomplete", *args[1:])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [Path(path) for path in ran.stdout.removeprefix("--dataset ").strip().split("+")]

    def refused(self, words: str, *args: object) -> None:
        ran = prepare(args[0], "--from", self.source, "--output", self.output, *args[1:])
        self.assertEqual((ran.returncode, ran.stdout), (2, ""), ran.stderr)
        self.assertIn(words, ran.stderr)
        self.assertNotIn("Traceback", ran.stderr)

    def manifest(self, path: Path) -> dict:
        return json.loads(path.with_name(path.name + ".manifest.json").read_text())
