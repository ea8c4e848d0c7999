"""Measures the cost of the node and the network for a language model: loopback compared with one process, and a step without a model.

    PYTHONPATH=deploy/models python tests/models/bench_network.py target/release --plugin-header sut-node/plugin/include

The model and its prompts are those of bench.py; ids that end outputs are chosen so that their lengths differ. `loadgen-node tax` runs
LoadGen's Offline over loopback and in one process in turn. The second model counts (tests/plugin/counter.cc) and costs almost nothing,
so that the time of a step with 32 slots is the node's cost.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import torch

import bench
from language_models import save_ids

COUNTER = """
name = "counter"
model = "model.txt"
workload = "language-model"
precision = "fp32"

[tokens]
vocabulary = 32000
max_input_tokens = 64
max_tokens = 200
slots = 32
chunk = 4096
"""
SLOTS, OUTPUT = 32, 200  # for the counter, whose outputs all have the maximum length
ENDS = list(range(0, bench.CONFIG["vocab_size"], 48))  # ends an output after 48 tokens on average


def ran(*words: str | Path) -> str:
    """Returns the output of a program; fails with its log."""
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def spread(numbers: list[float], digits: int) -> str:
    middle, least, most = (f"{number:.{digits}f}" for number in (statistics.median(numbers), min(numbers), max(numbers)))
    return f"{middle} ({least} – {most})"


class Programs:
    """Programs of a folder."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.folder, self.work = folder, work

    def node_file(self, name: str, engine: str | Path, manifest: Path) -> Path:
        """Writes settings of a node with an engine on one thread."""
        file = self.work / f"{name}-node.toml"
        file.write_text(f'engine = "{engine}"\nmodel = "{manifest}"\nthreads = 1\n')
        return file

    def tokens_per_second(self, node: Path, dataset: str | Path, samples: int, rounds: int) -> tuple[list[float], list[float]]:
        """Returns LoadGen's tokens per second of each round: over loopback, and in one process."""
        folder = self.work / node.stem
        ran(self.folder / "loadgen-node", "tax", "--node-config", node, "--rounds", str(rounds), "--output", folder, "--",
            "--scenario", "offline", "--benchmark", "bench", "--dataset", str(dataset), "--quiet",
            *(f"--setting={setting}" for setting in ("use_token_latencies=true", "offline_expected_qps=1", "min_duration_ms=1",
                                                     f"min_query_count={samples}", "server_ttft_latency=3600000000000",
                                                     "server_tpot_latency=3600000000000")))

        def rate(number: int, kind: str) -> float:
            result = json.loads((folder / f"{number}-{kind}" / "result.json").read_text())
            if result["samples"]["completed"] != samples:
                raise SystemExit(f"{folder}/{number}-{kind}: {result['verdict']}, {result['samples']}")
            return result["token_metric"]["value"]

        return tuple([rate(number, kind) for number in range(1, rounds + 1)] for kind in ("network", "in-process"))

    def step_alone(self, node: Path, dataset: str, seconds: float) -> float:
        """Returns the microseconds of a step of all slots without LoadGen and a network."""
        said = ran(self.folder / "sut-node", "bench", "--config", node, "--name", "bench", "--dataset", dataset,
                   "--seconds", str(seconds))
        return 1e6 * SLOTS / float(re.search(r"tokens per second\s+([\d.]+)", said)[1])


def against_one_process(programs: Programs, samples: int, rounds: int) -> None:
    """Prints tokens per second over loopback and in one process, and their ratios."""
    asked = bench.requests()
    bench.export(programs.work, ENDS)
    save_ids(programs.work / "prompts.ids", [prompt for prompt, _ in asked])
    node = programs.node_file("llama", "torch", programs.work / "bench.toml")
    network, alone = programs.tokens_per_second(node, programs.work / "prompts.ids", samples, rounds)
    print(f"tokens/s over loopback: {spread(network, 1)}; in one process: {spread(alone, 1)}; "
          f"ratio: {spread([a / b for a, b in zip(network, alone)], 3)}", flush=True)


def step_cost(programs: Programs, header: Path, rounds: int, seconds: float) -> None:
    """Prints the microseconds of a step of 32 slots with a model that costs almost nothing."""
    (programs.work / "counter.toml").write_text(COUNTER)
    (programs.work / "model.txt").write_text("counts")
    library = programs.work / "libcounter.so"
    source = Path(__file__).parent.parent / "plugin" / "counter.cc"
    ran("c++", "-std=c++17", "-O2", "-shared", "-fPIC", "-I", header, source, "-o", library)
    node, dataset = programs.node_file("counter", library, programs.work / "counter.toml"), "synthetic-ids:1000x8-64"
    fed = [programs.step_alone(node, dataset, seconds) for _ in range(rounds)]
    samples = int(seconds * 1e6 / statistics.median(fed) * SLOTS / OUTPUT)
    network, alone = ([1e6 * SLOTS / rate for rate in rates]
                      for rates in programs.tokens_per_second(node, dataset, samples, rounds))
    print(f"a step of {SLOTS} slots without a model, µs: fed by `sut-node bench` {spread(fed, 1)}; "
          f"by LoadGen in one process {spread(alone, 1)}; over loopback {spread(network, 1)}", flush=True)


def main() -> None:
    """Measures and prints both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path, help="folder with loadgen-node, sut-node and the plug-in torch")
    parser.add_argument("--plugin-header", type=Path, required=True, help="folder with netdiv_engine.h")
    parser.add_argument("--samples", type=int, default=bench.SAMPLES, help="number of samples of each run with the language model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="duration of each run without a model")
    args = parser.parse_args()
    os.environ["LIBTORCH"] = str(Path(torch.__file__).parent)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        programs = Programs(args.programs.resolve(), Path(name))
        step_cost(programs, args.plugin_header, args.rounds, args.seconds)
        against_one_process(programs, args.samples, args.rounds)


if __name__ == "__main__":
    main()
