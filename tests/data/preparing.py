"""Runs deploy/data/prepare on a source in a folder of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DATA = Path(__file__).parents[2] / "deploy" / "data"
CASES = json.loads((DATA / "netdiv_data" / "kits19_cases.json").read_text())
sys.path.insert(0, str(DATA))

LONGEST = 300  # seconds of one command; far more than any takes


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "netdiv_data", *map(str, args)]


def start(*args: object) -> subprocess.Popen[str]:
    """Starts the command as a shell does in the foreground: a test that runs in the background ignores SIGINT, and so would this."""
    return subprocess.Popen(
        command(*args), env=os.environ | {"PYTHONPATH": str(DATA), "PYTHONFAULTHANDLER": "1"}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def end_of(running: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Waits for the command and for all that it started. One that hangs says where each of its processes does, and fails."""
    try:
        output, errors = running.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGABRT)
        output, errors = running.communicate()
        raise AssertionError(f"hangs: {errors}") from None
    return subprocess.CompletedProcess(running.args, running.returncode, output, errors)


def prepare(*args: object) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
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
