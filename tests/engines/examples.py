"""Runs examples of engines in Python that need large packages, behind a node: all samples are answered, and tokens as expected.

Usage: examples.py ENGINES PROGRAMS PROMPTS OUTPUT
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Time limit for a node to load its engine, in seconds.
LIMIT = 300
# Number of characters in the list of Whisper's accuracy script.
CHARACTERS = 42


def run(engines, programs, folder, example, variables, data, *options):
    """Runs an accuracy run with these options against a node with the example. Returns its entries."""
    folder.mkdir(parents=True)
    ready, log = folder / "ready.json", folder / "node.log"
    node = [programs / "sut-node", "--name", "a", "--listen", "127.0.0.1:0", "--ready-file", ready, "--engine", "python"]
    node += ["--model", REPOSITORY / "examples" / example, "--python", engines / "python/bin/python"]
    with log.open("w") as file:
        process = subprocess.Popen(node, stdout=file, stderr=file, env={**os.environ, **variables})
    try:
        until = time.monotonic() + LIMIT
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{example}: no node; {log} ends with:\n" + "\n".join(log.read_text().splitlines()[-20:]))
            time.sleep(0.2)
        command = [programs / "loadgen-node", "run", "--nodes", json.loads(ready.read_text())["grpc"], "--benchmark", "x"]
        command += ["--scenario", "offline", "--mode", "accuracy", "--dataset", data, "--output", folder / "run"]
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    finally:
        process.terminate()
        process.wait(30)
    return json.loads((folder / "run/mlperf_log_accuracy.json").read_text())


def outputs(entries):
    """Returns the outputs of an accuracy run, by the number of the sample."""
    return {entry["qsl_idx"]: list(memoryview(bytes.fromhex(entry["data"])).cast("i")) for entry in entries}


def main():
    engines, programs, prompts, folder = (Path(path).resolve() for path in sys.argv[1:5])
    answers = json.loads((engines / "model/answers.json").read_text())
    model = {"MODEL": str(engines / "model/llama"), "HF_HUB_OFFLINE": "1"}
    done = outputs(run(engines, programs, folder / "transformers", "transformers_greedy.py", model, prompts))
    for number, wanted in enumerate(answers["outputs"]):
        # The expected outputs are shorter than those of the example.
        if done[number][:len(wanted)] != wanted:
            sys.exit(f"transformers_greedy.py: output {number} is {done[number]}, not {wanted}")
    network = {"RESNET50": str(REPOSITORY / "tests/models/resnet50.pt")}
    run(engines, programs, folder / "torch", "torch_resnet.py", network, f"synthetic:64x{224 * 224 * 3}")
    speech = folder / "speech"
    subprocess.run([engines / "python/bin/python", "-P", REPOSITORY / "tests/engines/whisper.py", speech], check=True)
    counted = ("--setting", "use_token_latencies=true")
    texts = run(engines, programs, folder / "whisper", "whisper_engine.py", {"MODEL": str(speech / "model")}, speech / "waveforms", *counted)
    for text in texts:
        if text["token_count"] < 2 or not all(place < CHARACTERS for place in bytes.fromhex(text["data"])):
            sys.exit(f"whisper_engine.py: {text}")
    print(f"examples: {len(done)} outputs as expected, 64 images and {len(texts)} waveforms answered", flush=True)


if __name__ == "__main__":
    main()
