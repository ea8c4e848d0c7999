"""Runs the six commands of docs/QUICKSTART.md with vLLM on the CPU: a report of a run whose samples all completed.

Usage: page.py ENGINES PROGRAMS PROMPTS OUTPUT

The tiny model of ENGINES, free ports and a short run replace the page's; PROMPTS are ids in the model's small vocabulary. Expects the
variables that run.py sets for vLLM.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/QUICKSTART.md"
NAME = "Llama-3.1-8B-Instruct"
RESULT = "out/llama3.1-8b-server-performance"
# Time limit for all commands, in seconds; vLLM takes up to a minute to start.
LIMIT = 600


def commands():
    """Returns the block that starts vLLM."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if block.startswith("vllm serve ")]
    return block


def free_ports(count):
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def replaced(text, model, prompts):
    """Returns the commands for this machine. Fails if a text that is to be replaced does not occur."""
    server, node = free_ports(2)
    replacements = {
        f"./{NAME}": str(model),
        f"--served-model-name {NAME}": f"--served-model-name {model.name}",
        "--port 8000": f"--port {server}",
        "127.0.0.1:8000": f"127.0.0.1:{server}",
        "127.0.0.1:50051": f"127.0.0.1:{node}",
        "--max-num-seqs 256": "--max-num-seqs 8",
        # The node's first prompt has 1024 tokens; the tiny model has no room for more than 2048, and no tokenizer.
        "--max-model-len 2176": "--max-model-len 2048 --skip-tokenizer-init --dtype float32 --enforce-eager",
        "--engine openai ": "--engine openai --max-batch 8 ",
        # The vocabulary lacks most synthetic ids.
        "synthetic-ids:100x128-1024": str(prompts),
        "server_target_qps=10": "server_target_qps=1",
        # Few queries on a slow machine are INVALID: exit code 1.
        "min_duration_ms=60000": "min_duration_ms=5000 --setting min_query_count=1 || [ $? = 1 ]",
    }
    for old, new in replacements.items():
        if old not in text:
            sys.exit(f"{PAGE.name} has nothing to put {new!r} in place of: {old!r}")
    return re.sub("|".join(map(re.escape, replacements)), lambda found: replacements[found[0]], text)


def end(group):
    """Ends all processes of a group: vLLM has children."""
    try:
        for number, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            os.killpg(group, number)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                os.killpg(group, 0)
                time.sleep(0.2)
    except ProcessLookupError:
        pass


def run(script, folder, variables):
    """Runs a script; fails with the end of its log if it does not succeed."""
    log = folder / "page.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            ["bash", "-c", f"set -euo pipefail\n{script}"], cwd=folder, env=variables, stdout=file, stderr=file, start_new_session=True
        )
        try:
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = f"no end within {LIMIT} s"
        finally:
            end(process.pid)
    if code != 0:
        sys.exit(f"{PAGE.name}: {code}; {log} ends with:\n" + "\n".join(log.read_text().splitlines()[-40:]))


def main():
    engines, programs, prompts, folder = (Path(path).resolve() for path in sys.argv[1:5])
    folder.mkdir(parents=True)
    script = replaced(commands(), engines / "model/llama", prompts)
    path = os.pathsep.join([str(programs), str(engines / "python/bin"), os.environ["PATH"]])
    run(script, folder, {**os.environ, "PATH": path})
    samples = json.loads((folder / RESULT / "result.json").read_text())["samples"]
    if not 0 < samples["issued"] == samples["completed"] or samples["lost"]:
        sys.exit(f"{PAGE.name}: {samples}")
    if not (folder / RESULT / "report.html").stat().st_size:
        sys.exit(f"{PAGE.name}: the report is empty")
    print(f"{PAGE.name}: {samples['completed']} samples completed", flush=True)


if __name__ == "__main__":
    main()
