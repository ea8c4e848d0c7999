"""Compares the time of packages with that of TorchScript, in the plug-in on one thread; prints a table. docs/adr/0012-packages.md has one.

    PYTHONPATH=deploy/models:tests/models PROGRAMS=target/release FOLDER=target/packages python tests/packages/figures.py [NETWORK:ROWS...]

Both run in turn, for five rounds; the table has the medians of the rounds, and the median of their ratios. NETWORK is a network of
export.py, with `-full` for its full size, or a language model of tests/models, for which ROWS samples take steps.
"""

import statistics
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import torch

import export
import made
from plugin import Batches, Engine

ROUNDS, SECONDS = 5, 1.0
DEFAULT = ["digits:8", "resnet50:8", "resnet50-full:4", "retinanet:8", "bert:8", "unet3d:8", "dlrm:8", "tiny-llama:1", "tiny-llama:4",
           "tiny-llama:16", "tiny-llama-bf16:1", "tiny-gptj:1"]


def full(name: str, ending: str) -> tuple[Path, dict]:
    """Returns a network of full size as a file with this ending, and its manifest; reuses the file of an earlier run."""
    path = made.FOLDER / "full" / ending / f"{name}.{ending}"
    if not path.exists():
        torch.manual_seed(1)
        module = export.NETWORKS[name]
        export.write(module, module.build(False), path.parent, "fp32", "random, seed 1", largest=made.LARGEST if ending == "pt2" else None)
    return path, tomllib.loads(path.with_suffix(".toml").read_text())


def batches(name: str, rows: int, ending: str) -> Callable[[], object]:
    """Returns a function that runs a batch."""
    network, is_full = name.removesuffix("-full"), name.endswith("-full")
    model = Batches(made.PLUGIN, *(full if is_full else made.network)(network, ending))
    module = export.NETWORKS[network]
    inputs = [x.numpy() for x in module.examples(module.build(not is_full), rows)]
    instance = model.open()
    return lambda: model.run(instance, inputs, {"tokens": inputs[0].shape[-1]})


def steps(name: str, rows: int, ending: str) -> Callable[[], object]:
    """Returns a function that takes a step of `rows` samples, which begin again when their outputs have ended."""
    path, keys = made.language_model(name)
    tokens = keys["tokens"] | {"eos": [], "slots": rows}
    engine = Engine(made.PLUGIN, path.with_suffix(f".{ending}"), tokens, keys["precision"], 1)
    left = 0

    def step() -> None:
        nonlocal left
        if left == 0:
            for sample in range(rows):
                engine.submit(sample, [7] * 20, 40, 40)
            while len(engine.step()) < rows:
                pass
            left = 38  # the last step, of the 40th token, is the next call's
        engine.step()
        left -= 1
        if left == 0:
            engine.step()

    return step


def seconds(run: Callable[[], object]) -> float:
    """Returns the median time of a run."""
    times, until = [], time.perf_counter() + SECONDS
    while time.perf_counter() < until or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    torch.set_num_threads(1)
    print("| network | rows | TorchScript | package | ratio |\n|---|---|---|---|---|", flush=True)
    for word in sys.argv[1:] or DEFAULT:
        name, _, rows = word.partition(":")
        make = steps if name.split("-")[0] == "tiny" else batches
        script, package = make(name, int(rows), "pt"), make(name, int(rows), "pt2")
        for run in (script, package):
            for _ in range(4):
                run()
        rounds = [(seconds(script), seconds(package)) for _ in range(ROUNDS)]
        one, two = (statistics.median(each) * 1e3 for each in zip(*rounds, strict=True))
        ratio = statistics.median(b / a for a, b in rounds)
        print(f"| `{name}` | {rows} | {one:.2f} ms | {two:.2f} ms | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
