"""loadgen-node: what it is asked without a run, and how a step is run."""

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
    """The program, in the folder of the files."""

    def __init__(self, folder: Path) -> None:
        named = Path(os.environ["BIN"]).absolute() / "loadgen-node" if os.environ.get("BIN") else None
        path = shutil.which(named or "loadgen-node")
        if path is None:
            raise Refused(f"there is no {named or 'loadgen-node'}: set BIN to the folder that it is in")
        self.path, self.folder = os.path.abspath(path), folder
        self.inherited: tuple[int, ...] = ()  # the lock: it lasts as long as a step, whatever ends submit.sh
        self.sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        self.stopped_by: int | None = None
        self.child: subprocess.Popen | None = None
        self.configs: dict[tuple[str, ...], dict] = {}
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self.forward)

    def forward(self, number: int, _frame: object) -> None:
        """A signal ends the step that runs, which tidies up after itself."""
        self.stopped_by = number
        if self.child and self.child.poll() is None:
            os.killpg(self.child.pid, number)

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What it says of something that is no step."""
        said = ("", "")
        if self.stopped_by is None:
            self.start([self.path, *words], self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            said = self.child.communicate()
        self.end_if_stopped()
        return subprocess.CompletedProcess(words, self.child.returncode, *said)

    def start(self, words: list[str], cwd: Path, **pipes: object) -> None:
        # A group of its own: one signal reaches the processes that it has started, once.
        self.child = subprocess.Popen(words, cwd=cwd, process_group=0, stdin=subprocess.DEVNULL, **pipes)
        if self.stopped_by is not None:
            self.forward(self.stopped_by, None)

    def end_if_stopped(self) -> None:
        if self.stopped_by is not None:
            raise Stopped(3, f"stopped by {signal.Signals(self.stopped_by).name}. The same command goes on with this step.")

    def config(self, *options: str) -> dict:
        """What `run` makes of run.toml and further options; it has to accept them."""
        if options not in self.configs:
            printed = self.ask("run", "--config", "run.toml", *options, "--print-config")
            if printed.returncode:
                raise Refused(f"run.toml, as `loadgen-node run {' '.join(options)}` reads it: {last_error(printed.stderr)}")
            # A folder that is moved keeps its runs.
            self.configs[options] = tomllib.loads(printed.stdout.replace(f"{self.folder.resolve()}/", ""))
        return self.configs[options]

    def run(self, words: list[str], cwd: Path | None = None, log: Path | None = None) -> int:
        """Runs a step and returns its exit code; with a log, what it prints goes there too."""
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
    """The last error with all its lines, without time and origin."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).strip()
    said = [one.strip() for one in re.split(r"(?m)^(?=[0-9]{4}-[0-9]{2}-[0-9]{2}T|error: )", text) if one.strip()] or ["no word was said"]
    errors = [one for one in said if re.match(r"\S+ +ERROR |error: ", one)] or said[-1].splitlines()
    return re.sub(r"^\S+ +ERROR \S+: ", "", errors[-1].split("\n\n")[0])
