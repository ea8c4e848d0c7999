"""The kit's programs: a SUT node, its `bench`, runs of LoadGen, and `tax`."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

from kit.settings import KIT, Settings, own_python
from kit.step import Failed

START_SECONDS = 120  # maximum time in which a node loads and warms up its model


def environment(s: Settings, other: dict[str, str | None] | None = None) -> dict[str, str]:
    """Returns the environment of all programs, with Python's libtorch. None in `other` removes a variable."""
    words = os.environ | {"LIBTORCH": str(s.libtorch)} | (other or {})
    return {key: value for key, value in words.items() if value is not None}


def ask(s: Settings, *words: str, codes: tuple[int, ...] = (0,), seconds: float = 300, env: dict | None = None) -> str:
    """Returns the output of a program of the kit. Fails, with the end of its log, if the exit code is not one of `codes`."""
    return called([s.program(words[0]), *words[1:]], codes, seconds, environment(s, env))


def called(words: list[str], codes: tuple[int, ...], seconds: float, env: dict[str, str]) -> str:
    print("$", *words, flush=True)
    try:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=seconds, env=env)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{Path(words[0]).name} took longer than {seconds:.0f} s") from error
    print(ran.stdout, ran.stderr, sep="", flush=True)
    if ran.returncode not in codes:
        raise Failed(f"{Path(words[0]).name} {words[1]} ended with {ran.returncode}: {last_lines(ran.stderr)}")
    return ran.stdout


def last_lines(text: str, count: int = 3) -> str:
    return " / ".join(line.strip() for line in text.strip().splitlines()[-count:])


def config(s: Settings, manifest: Path, name: str, **keys: object) -> Path:
    """Writes a node's settings file; returns its path. None removes a key."""
    keys = {"engine": "torch", "model": str(manifest), "devices": [s.device], "batch_timeout": "5ms"} | keys
    file = s.folder("configs") / f"{name}.toml"
    # JSON and TOML write strings, numbers, booleans and lists alike.
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None))
    return file


class Node:
    """SUT node that runs within a `with` block; `options` are a settings file or options of the command line."""

    def __init__(self, s: Settings, *options: str | Path, env: dict | None = None) -> None:
        folder = s.folder("runs")
        self.log, self.ready_file = folder / "node.log", folder / "node.json"
        words = ["--config", str(options[0])] if isinstance(options[0], Path) else list(options)
        self.words = [s.program("sut-node"), *words, "--listen", "127.0.0.1:0", "--name", "node",
                      "--ready-file", str(self.ready_file)]
        self.env = environment(s, env)

    def __enter__(self) -> "Node":
        self.ready_file.unlink(missing_ok=True)
        print("$", *self.words, flush=True)
        self.process = subprocess.Popen(self.words, stderr=open(self.log, "w"), env=self.env)
        until = time.monotonic() + START_SECONDS
        while not self.ready_file.exists():
            if self.process.poll() is not None:
                raise Failed(f"the node ended with {self.process.returncode} before it was ready: {last_lines(self.said())}")
            if time.monotonic() > until:
                self.process.kill()
                raise Failed(f"the node was not ready within {START_SECONDS} s: {last_lines(self.said())}")
            time.sleep(0.02)
        self.address = json.loads(self.ready_file.read_text())["grpc"]
        return self

    def said(self) -> str:
        """Returns the node's log so far."""
        return self.log.read_text()

    def maps(self) -> str:
        """Returns the files that the node has mapped."""
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def resident_mib(self) -> float:
        """Returns the resident memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1]) / 1024

    def end(self, seconds: float = 30) -> int | None:
        """Sends SIGTERM; returns the exit code, or None if the node has not ended in time."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float) -> int | None:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None and self.end() is None:
            self.process.kill()
            self.process.wait()
        print(self.said(), flush=True)


def run_words(s: Settings, scenario: str, dataset: str | Path, name: str, *more: str, **settings: object) -> list[str]:
    """Returns options of `loadgen-node run`, without nodes and output folder."""
    words = ["--scenario", scenario, "--dataset", str(dataset), "--quiet", *more]
    if "--benchmark" not in more:
        words += ["--benchmark", name]
    return words + [f"--setting={key}={value}" for key, value in settings.items()]


def run_folder(s: Settings, name: str) -> Path:
    """Returns a folder that no run has used."""
    runs = s.folder("runs")
    return runs / f"{name}-{sum(1 for _ in runs.iterdir())}"


def run(s: Settings, address: str, scenario: str, dataset: str | Path, name: str, *more: str,
        codes: tuple[int, ...] = (0, 1), **settings: object) -> tuple[dict, Path]:
    """Runs LoadGen over the network; returns result.json and the run's folder."""
    folder = run_folder(s, name)
    words = ["loadgen-node", "run", *run_words(s, scenario, dataset, name, *more, **settings)]
    ask(s, *words, "--nodes", address, "--output", str(folder), codes=codes)
    return json.loads((folder / "result.json").read_text()), folder


def responses(s: Settings, node: Node, dataset: str | Path, name: str) -> list[bytes]:
    """Runs LoadGen for accuracy; returns the response to each sample, ordered by sample."""
    _, folder = run(s, node.address, "offline", dataset, name, "--mode", "accuracy")
    entries = json.loads((folder / "mlperf_log_accuracy.json").read_text())
    return [bytes.fromhex(entry["data"]) for entry in sorted(entries, key=lambda entry: entry["qsl_idx"])]


def bench(s: Settings, configuration: Path, dataset: str | Path, seconds: float, env: dict | None = None) -> float:
    """Returns the samples per second of the node's engines without a network."""
    said = ask(s, "sut-node", "bench", "--config", str(configuration), "--dataset", str(dataset),
               "--seconds", str(seconds), env=env)
    return float(re.search(r"samples per second\s+([\d.]+)", said)[1])


def tax(s: Settings, configuration: Path, scenario: str, dataset: str | Path, name: str, rounds: int,
        *more: str, **settings: object) -> list[tuple[dict, dict]]:
    """Runs LoadGen over the network and in one process, in turn; returns both result.json of each round."""
    folder = run_folder(s, f"tax-{name}")
    ask(s, "loadgen-node", "tax", "--node-config", str(configuration), "--rounds", str(rounds), "--output", str(folder),
        "--", *run_words(s, scenario, dataset, name, *more, **settings))

    def read(kind: str) -> dict:
        return json.loads((folder / kind / "result.json").read_text())

    return [(read(f"{number}-network"), read(f"{number}-in-process")) for number in range(1, rounds + 1)]


def loops(s: Settings, manifest: Path, batches: list[int], seconds: float, *more: str,
          kinds: tuple[str, ...] = ("overlaps",)) -> dict[tuple[int, str], float]:
    """Returns the samples per second of the bare loop in Python, deploy/models/loop.py, by batch and kind.

    On a CPU there are no copies to overlap, so both kinds wait.
    """
    own = kinds if s.cuda else ("waits",)
    words = own_python(str(KIT / "models" / "loop.py"), str(manifest), "--batch", *map(str, batches), "--kinds", *own,
                       "--device", s.device, "--seconds", str(seconds), *more)
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(s.folder("inductor"))}
    said = called(words, (0,), 400, os.environ | cache)
    lines = re.findall(r"^(\d+) (waits|overlaps) ([\d.]+)$", said, re.MULTILINE)
    found = {(int(batch), kind): float(rate) for batch, kind, rate in lines}
    return {(batch, kind): found[batch, kind if s.cuda else "waits"] for batch in batches for kind in kinds}
