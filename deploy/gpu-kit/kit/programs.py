"""The programs: a SUT node, its `bench`, runs of LoadGen, and what the network costs."""

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

START_SECONDS = 120  # until a node has loaded and warmed up its model


def environment(s: Settings, other: dict[str, str | None] | None = None) -> dict[str, str]:
    """That of all programs: libtorch is Python's. In `other`, None takes a variable away."""
    words = os.environ | {"LIBTORCH": str(s.libtorch)} | (other or {})
    return {key: value for key, value in words.items() if value is not None}


def ask(s: Settings, *words: str, codes: tuple[int, ...] = (0,), seconds: float = 300, env: dict | None = None) -> str:
    """What a program of the kit prints. Any other exit code than `codes` is a failure, with the end of its log."""
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
    """A node's settings file; None takes a key away."""
    keys = {"engine": "torch", "model": str(manifest), "devices": [s.device], "batch_timeout": "5ms"} | keys
    file = s.folder("configs") / f"{name}.toml"
    # JSON's strings, numbers, truth values and lists are TOML's.
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items() if value is not None))
    return file


class Node:
    """A SUT node, while the `with` block lasts; `options` are a settings file or words of the command line."""

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
        """Its log so far."""
        return self.log.read_text()

    def maps(self) -> str:
        """The files that it has mapped."""
        return Path(f"/proc/{self.process.pid}/maps").read_text()

    def resident_mib(self) -> float:
        """The process's memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1]) / 1024

    def end(self, seconds: float = 30) -> int | None:
        """Ask it to end: its exit code, or None if it has not ended by then."""
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
    """Options of `loadgen-node run`, without what they are for."""
    words = ["--scenario", scenario, "--dataset", str(dataset), "--quiet", *more]
    if "--benchmark" not in more:
        words += ["--benchmark", name]
    return words + [f"--setting={key}={value}" for key, value in settings.items()]


def run_folder(s: Settings, name: str) -> Path:
    """A folder that no run has used."""
    runs = s.folder("runs")
    return runs / f"{name}-{sum(1 for _ in runs.iterdir())}"


def run(s: Settings, address: str, scenario: str, dataset: str | Path, name: str, *more: str,
        codes: tuple[int, ...] = (0, 1), **settings: object) -> tuple[dict, Path]:
    """One run of LoadGen over the network: its result.json, and its folder."""
    folder = run_folder(s, name)
    words = ["loadgen-node", "run", *run_words(s, scenario, dataset, name, *more, **settings)]
    ask(s, *words, "--nodes", address, "--output", str(folder), codes=codes)
    return json.loads((folder / "result.json").read_text()), folder


def responses(s: Settings, node: Node, dataset: str | Path, name: str) -> list[bytes]:
    """An accuracy run: the response to each sample, in their order."""
    _, folder = run(s, node.address, "offline", dataset, name, "--mode", "accuracy")
    entries = json.loads((folder / "mlperf_log_accuracy.json").read_text())
    return [bytes.fromhex(entry["data"]) for entry in sorted(entries, key=lambda entry: entry["qsl_idx"])]


def bench(s: Settings, configuration: Path, dataset: str | Path, seconds: float, env: dict | None = None) -> float:
    """Samples per second of the node's engines without a network."""
    said = ask(s, "sut-node", "bench", "--config", str(configuration), "--dataset", str(dataset),
               "--seconds", str(seconds), env=env)
    return float(re.search(r"samples per second\s+([\d.]+)", said)[1])


def tax(s: Settings, configuration: Path, scenario: str, dataset: str | Path, name: str, rounds: int,
        *more: str, **settings: object) -> list[tuple[dict, dict]]:
    """The same run over the network and in one process, in turn: both result.json of each round."""
    folder = run_folder(s, f"tax-{name}")
    ask(s, "loadgen-node", "tax", "--node-config", str(configuration), "--rounds", str(rounds), "--output", str(folder),
        "--", *run_words(s, scenario, dataset, name, *more, **settings))

    def read(kind: str) -> dict:
        return json.loads((folder / kind / "result.json").read_text())

    return [(read(f"{number}-network"), read(f"{number}-in-process")) for number in range(1, rounds + 1)]


def loops(s: Settings, manifest: Path, batches: list[int], seconds: float, *more: str,
          kinds: tuple[str, ...] = ("overlaps",)) -> dict[tuple[int, str], float]:
    """Samples per second of the bare loop in Python, deploy/models/loop.py, by batch and kind. On a CPU nothing is copied that
    could overlap: there a loop waits under either name."""
    own = kinds if s.cuda else ("waits",)
    words = own_python(str(KIT / "models" / "loop.py"), str(manifest), "--batch", *map(str, batches), "--kinds", *own,
                       "--device", s.device, "--seconds", str(seconds), *more)
    cache = {"TORCHINDUCTOR_CACHE_DIR": str(s.folder("inductor"))}
    said = called(words, (0,), 400, os.environ | cache)
    lines = re.findall(r"^(\d+) (waits|overlaps) ([\d.]+)$", said, re.MULTILINE)
    found = {(int(batch), kind): float(rate) for batch, kind, rate in lines}
    return {(batch, kind): found[batch, kind if s.cuda else "waits"] for batch in batches for kind in kinds}
