"""Makes the packages of the tests, each once per process, and calls the programs on them."""

import functools
import json
import os
import signal
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path

import torch

import export
import export_language_model
import hugging_face
from configurations import MODELS
from language_model import LanguageModel
from torchscript import PRECISIONS

HOME = Path(__file__).resolve().parents[2]
FIXTURES = HOME / "tests/models"
PROGRAMS = Path(os.environ["PROGRAMS"]).resolve()
PLUGIN = PROGRAMS / "libnetdiv_engine_torch.so"
FOLDER = Path(os.environ["FOLDER"]).resolve()  # what one run leaves there speeds the next one up
NETWORKS = ["digits", "resnet50", "retinanet", "bert", "unet3d", "dlrm"]
LARGEST = 8
PAIRS = 270 * LARGEST  # of a batch of DLRM: a node warms up with 270 for each sample

os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(FOLDER / "inductor"))


@functools.cache
def network(name: str, ending: str) -> tuple[Path, dict]:
    """Returns the narrow variant of a network as a TorchScript file (`pt`) or as a package (`pt2`), and its manifest."""
    folder, module = FOLDER / ending, export.NETWORKS[name]
    torch.manual_seed(1)
    largest = None if ending == "pt" else PAIRS if name == "dlrm" else LARGEST
    export.write(module, module.build(True), folder, "fp32", "random, seed 1", largest=largest)
    return folder / f"{name}.{ending}", tomllib.loads((folder / f"{name}.toml").read_text())


@functools.cache
def language_model(name: str) -> tuple[Path, dict]:
    """Returns the file of a model of tests/models with a package beside it, and its manifest."""
    manifest = (FIXTURES / f"{name}.toml").read_text()
    keys = tomllib.loads(manifest)
    precision, beams = keys["precision"], keys["tokens"]["beams"]
    model = LanguageModel(hugging_face.shape_of(MODELS[name.removesuffix(f"-{precision}")], name), PRECISIONS[precision]).eval()
    model.load_state_dict(torch.jit.load(str(FIXTURES / f"{name}.pt")).state_dict())
    path, _ = export_language_model.write(name, model, FOLDER / "language", precision, manifest)
    export_language_model.write_package(model, path, precision, beams, "cpu")
    return path, keys


def changed(package: Path, stem: str, facts: dict[str, str | None] | None = None, library: int | None = None) -> Path:
    """Returns a copy of a package with other metadata, without a key whose value is None, or with so many bytes of its library."""
    reader, path = torch._C.PyTorchFileReader(str(package)), package.with_name(f"{stem}.pt2")
    writer = torch._C.PyTorchFileWriter(str(path))
    for name in reader.get_all_records():
        record = reader.get_record(name)
        if name.endswith("metadata.json"):
            keys = json.loads(record) | (facts or {})
            record = json.dumps({key: value for key, value in keys.items() if value is not None}).encode()
        if name.endswith(".so"):
            record = record[:library]
        if name not in ("version", ".data/version", "byteorder", ".data/serialization_id"):
            writer.write_record(name, record, len(record))
    writer.write_end_of_file()
    return path


class Node:
    """SUT node without compiler and Python. Its log is `said`."""

    def __init__(self, manifest: Path, *options: str) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.ready, self.log = (Path(self.folder.name) / name for name in ("ready.json", "log"))
        words = [str(PROGRAMS / "sut-node"), "--engine", "torch", "--model", str(manifest), "--listen", "127.0.0.1:0",
                 "--name", "node", "--ready-file", str(self.ready), *options]
        env = {"PATH": "/nonexistent", "LIBTORCH": os.environ["LIBTORCH"]}
        self.process = subprocess.Popen(words, stderr=open(self.log, "w"), stdout=subprocess.DEVNULL, env=env, cwd=self.folder.name)

    def address(self) -> str:
        """Waits until the node is ready, and returns its address."""
        until = time.monotonic() + 60
        while not self.ready.exists():
            assert self.process.poll() is None and time.monotonic() < until, self.said()
            time.sleep(0.01)
        return json.loads(self.ready.read_text())["grpc"]

    def said(self) -> str:
        return self.log.read_text()

    def end(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(30)

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.folder.cleanup()


def accuracy(node: Node, dataset: str, *options: str) -> tuple[list[bytes], dict]:
    """Runs LoadGen for accuracy; returns the response to each sample, and result.json."""
    output = Path(tempfile.mkdtemp(dir=node.folder.name)) / "run"
    words = [str(PROGRAMS / "loadgen-node"), "run", "--nodes", node.address(), "--scenario", "offline", "--mode", "accuracy",
             "--quiet", "--output", str(output), *(["--dataset", dataset] if dataset else []), *options]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr + node.said()
    entries = json.loads((output / "mlperf_log_accuracy.json").read_text())
    responses = [bytes.fromhex(entry["data"]) for entry in sorted(entries, key=lambda entry: entry["qsl_idx"])]
    return responses, json.loads((output / "result.json").read_text())
