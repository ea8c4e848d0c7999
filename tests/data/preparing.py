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
from pathlib import Path

DATA = Path(__file__).parents[2] / "deploy" / "data"
CASES = json.loads((DATA / "netdiv_data" / "kits19_cases.json").read_text())
sys.path.insert(0, str(DATA))

ENVIRONMENT = os.environ | {"PYTHONPATH": str(DATA), "PYTHONFAULTHANDLER": "1"}
LONGEST = 300  # seconds of one command; far more than any takes


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "netdiv_data", *map(str, args)]


def start(*args: object) -> subprocess.Popen[str]:
    """Starts the command as a shell does in the foreground: a test that runs in the background ignores SIGINT, and so would this."""
    return subprocess.Popen(
        command(*args), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def end_of(running: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Waits for the command and for all that it started. One that hangs says where each of its processes does, and fails."""
    try:
        output, errors = running.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGABRT)
        output, errors = running.communicate()
        raise AssertionError(f"hangs: {errors}") from None
    return subprocess.CompletedProcess(running.args, running.returncode, output, errors)


@functools.cache
def server() -> subprocess.Popen[bytes]:
    """Starts the process that `prepare` asks, and ends it with this one.

    Its pipes have no buffer, in which `select` would miss a line.
    """
    running = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py")], env=ENVIRONMENT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, bufsize=0)
    atexit.register(running.communicate)
    return running


def prepare(*args: object) -> subprocess.CompletedProcess[str]:
    """Runs the command in a fork of a process that has imported its packages."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        request = {"args": [*map(str, args)], "output": str(output), "errors": str(errors)}
        server().stdin.write(json.dumps(request).encode() + b"\n")
        group = int(server().stdout.readline())
        hangs = not select.select([server().stdout], [], [], LONGEST)[0]
        if hangs:
            os.killpg(group, signal.SIGABRT)
        code = int(server().stdout.readline())
        if hangs:
            raise AssertionError(f"{args} hangs: {errors.read_text()}")
        return subprocess.CompletedProcess(args, code, output.read_text(), errors.read_text())


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
