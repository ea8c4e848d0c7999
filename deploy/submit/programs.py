"""Calls of loadgen-node: queries without a run, and steps."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

from submit.errors import Refused, Stopped

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Program:
    """Program loadgen-node, run in the folder of the files."""

    def __init__(self, folder: Path) -> None:
        named = Path(os.environ["BIN"]).absolute() / "loadgen-node" if os.environ.get("BIN") else None
        path = shutil.which(named or "loadgen-node")
        if path is None:
            raise Refused(f"{named or 'loadgen-node'} is missing: set BIN to its folder")
        self.path, self.folder = os.path.abspath(path), folder
        self.inherited: tuple[int, ...] = ()  # the lock, which lasts until a step ends, even if submit.sh is killed
        self.sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        self.stopped_by: int | None = None
        self.child: subprocess.Popen | None = None
        self.configs: dict[tuple[str, ...], dict] = {}
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self.forward)

    def forward(self, number: int, _frame: object) -> None:
        """Forwards a signal to the running step, which then cleans up and ends."""
        self.stopped_by = number
        if self.child and self.child.poll() is None:
            os.killpg(self.child.pid, number)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command that is not a step; returns its output."""
        said = ("", "")
        if self.stopped_by is None:
            self.start([self.path, *words], self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            said = self.child.communicate()
        self.end_if_stopped()
        return subprocess.CompletedProcess(words, self.child.returncode, *said)

    def start(self, words: list[str], cwd: Path, **pipes: object) -> None:
        # A separate group, so that a signal reaches all processes of the step once.
        self.child = subprocess.Popen(words, cwd=cwd, process_group=0, stdin=subprocess.DEVNULL, **pipes)
        if self.stopped_by is not None:
            self.forward(self.stopped_by, None)

    def end_if_stopped(self) -> None:
        if self.stopped_by is not None:
            raise Stopped(3, f"stopped by {signal.Signals(self.stopped_by).name}. Run the same command again to continue with this step.")

    def config(self, *options: str) -> dict:
        """Returns the settings of `run` with run.toml and further options; fails if it rejects them."""
        if options not in self.configs:
            printed = self.ask("run", "--config", "run.toml", *options, "--print-config")
            if printed.returncode:
                raise Refused(f"run.toml, as `loadgen-node run {' '.join(options)}` reads it: {last_error(printed.stderr)}")
            # Relative paths, so that a moved folder keeps its runs.
            self.configs[options] = tomllib.loads(printed.stdout.replace(f"{self.folder.resolve()}/", ""))
        return self.configs[options]

    def run(self, words: list[str], cwd: Path | None = None, log: Path | None = None) -> int:
        """Runs a step and returns its exit code. Its output is also written to `log`, if set."""
        if self.stopped_by is None:
            pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"} if log else {}
            self.start(words, cwd or self.folder, pass_fds=self.inherited, **pipe)
            if log:
                with open(log, "w") as file:
                    for line in self.child.stdout:
                        print(line, end="", flush=True)
                        file.write(line)
            code = self.child.wait()
        self.end_if_stopped()
        return code


def last_error(text: str) -> str:
    """Returns the last error of a log, with all its lines, without time and origin."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
    said = [one.strip() for one in re.split(r"(?m)^(?=[0-9]{4}-[0-9]{2}-[0-9]{2}T|error: )", text) if one.strip()] or ["no output"]
    errors = [one for one in said if re.match(r"\S+ +ERROR |error: ", one)] or said[-1].splitlines()
    return re.sub(r"^\S+ +ERROR \S+: ", "", errors[-1].split("\n\n")[0])
