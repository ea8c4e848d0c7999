"""Tests serving engines behind a node: a run receives the same ids as from the engine alone, sampled ids depend on the seed, and the
engine stops when its client disappears. With vLLM, the commands of docs/QUICKSTART.md and examples of engines in Python run as well.

Usage: run.py ENGINES PROGRAMS OUTPUT [SERVER]...      SERVER is llama or vllm (default: both)
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

engines, programs, out = (Path(folder).resolve() for folder in sys.argv[1:4])
answers = json.loads((engines / "model/answers.json").read_text())
TOKENS = 32
# Number of tokens that takes an engine several seconds.
MANY = 400
# One thread: several threads of vLLM would compete for few cores.
VARIABLES = {
    **os.environ,
    "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1",
    "VLLM_HOST_IP": "127.0.0.1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def fetch(port, path, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


class Vllm:
    node = ["--engine", "openai"]

    def __init__(self, port):
        self.port = port
        self.command = [
            engines / "python/bin/vllm", "serve", engines / "model/llama", "--served-model-name", "tiny",
            "--skip-tokenizer-init", "--dtype", "float32", "--enforce-eager", "--max-model-len", "1024", "--max-num-seqs", "8",
            "--generation-config", "vllm", "--no-enable-prefix-caching", "--host", "127.0.0.1", "--port", str(port),
        ]

    def is_ready(self):
        fetch(self.port, "/health")

    def ask(self, prompt):
        request = {"model": "tiny", "prompt": prompt, "temperature": 0, "max_tokens": TOKENS, "return_token_ids": True}
        answer = fetch(self.port, "/v1/completions", {**request, "stop_token_ids": [answers["eos"]]})
        return json.loads(answer)["choices"][0]["token_ids"]


class Llama:
    node = ["--engine", "openai", "--openai-dialect", "llamacpp"]

    def __init__(self, port):
        self.port = port
        self.command = [
            engines / "llama-server", "--model", engines / "model/llama.gguf", "--host", "127.0.0.1", "--port", str(port),
            "--ctx-size", "8192", "--parallel", "8", "--threads", "1", "--no-webui",
            # The defaults, flash attention and a cache of half precision, would change the ids.
            "--flash-attn", "off", "--cache-type-k", "f32", "--cache-type-v", "f32",
        ]

    def is_ready(self):
        fetch(self.port, "/health")

    def ask(self, prompt):
        request = {"prompt": prompt, "temperature": 0, "top_k": 1, "n_predict": TOKENS, "return_tokens": True}
        return json.loads(fetch(self.port, "/completion", {**request, "cache_prompt": False}))["tokens"]


@contextlib.contextmanager
def started(command, log):
    """Runs a process; ends it and its children after the `with` block."""
    with open(log, "w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=VARIABLES, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def wait_until(is_so, process, seconds, log):
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if is_so() is not False:
                return
        if process.poll() is not None or time.monotonic() > until:
            sys.exit(f"the process did not start; {log} ends with:\n" + "\n".join(log.read_text().splitlines()[-20:]))
        time.sleep(0.2)


@contextlib.contextmanager
def node(server, folder, tokens, seed=None):
    """Runs a node in front of a server; yields its address. With a seed the model samples, one request at a time."""
    folder.mkdir(parents=True)
    model = folder / "tiny.toml"
    model.write_text(
        f"name = 'tiny'\nvocabulary = 2048\nmax_input_tokens = 300\nmax_tokens = {tokens}\neos = [{answers['eos']}]\n"
        + ("" if seed is None else "sampled = true\n")
    )
    ready, log = folder / "ready.json", folder / "node.log"
    command = [programs / "sut-node", "--name", "a", "--listen", "127.0.0.1:0", "--ready-file", ready, *server.node]
    command += ["--url", f"http://127.0.0.1:{server.port}", "--model", model]
    command += ["--max-batch", "8"] if seed is None else ["--max-batch", "1", "--sampling-seed", str(seed)]
    with started(command, log) as process:
        wait_until(ready.exists, process, 60, log)
        yield json.loads(ready.read_text())["grpc"]


def load_gen(address, folder, *settings):
    command = [programs / "loadgen-node", "run", "--nodes", address, "--benchmark", "chat", "--dataset", out / "prompts.ids"]
    return [*command, "--output", folder, *settings]


def run(address, folder, scenario):
    """Returns the outputs of all prompts in an accuracy run."""
    command = load_gen(address, folder, "--mode", "accuracy", "--scenario", scenario)
    latencies = ["use_token_latencies=true", "server_ttft_latency=20000000000", "server_tpot_latency=20000000000"]
    for setting in (*latencies, "server_target_qps=5"):
        command += ["--setting", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{scenario}: {done.stdout}{done.stderr}")
    outputs = {}
    for entry in json.loads((folder / "mlperf_log_accuracy.json").read_text()):
        outputs[entry["qsl_idx"]] = list(memoryview(bytes.fromhex(entry["data"])).cast("i"))
    return [outputs[number] for number in range(len(answers["prompts"]))]


def processor_seconds(group):
    """Returns the CPU time of all processes in a process group."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:13])) if int(fields[2]) == group else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def leave(address, folder, process):
    """Kills a client that waits for long outputs; fails unless the engine is idle a second later. Returns its CPU share."""
    command = load_gen(address, folder, "--mode", "performance", "--scenario", "offline")
    client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def used(seconds):
        before = processor_seconds(process.pid)
        time.sleep(seconds)
        return (processor_seconds(process.pid) - before) / seconds

    until = time.monotonic() + 30
    while used(0.5) < 0.3:
        if time.monotonic() > until or client.poll() is not None:
            sys.exit("the engine did not start")
    client.kill()
    client.wait()
    time.sleep(1)
    share = used(1)
    if share > 0.2:
        sys.exit(f"a second after its client was killed, the engine uses {share:.0%} of a CPU")
    return share


def main():
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    prompts = out / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"input_ids": prompt}) + "\n" for prompt in answers["prompts"]))
    command = [programs / "loadgen-node", "ids", prompts, "--key", "input_ids", "--output", out / "prompts.ids"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for kind in (Llama, Vllm):
        name = kind.__name__.lower()
        if sys.argv[4:] and name not in sys.argv[4:]:
            continue
        folder = out / name
        folder.mkdir()
        server, log = kind(free_port()), folder / "engine.log"
        with started(server.command, log) as process:
            wait_until(server.is_ready, process, 300, log)
            direct = [server.ask(prompt) for prompt in answers["prompts"]]
            compare(name, "without a node", direct)
            with node(server, folder / "short", TOKENS) as address:
                for scenario in ("offline", "server"):
                    compare(name, scenario, run(address, folder / scenario, scenario))
            sample(name, server, folder)
            with node(server, folder / "long", MANY) as address:
                share = leave(address, folder / "left", process)
        print(f"{name}: {len(direct)} outputs as expected; {share:.0%} of a CPU after its client was killed", flush=True)
        if kind is Vllm:
            run_script("page.py", folder / "page")
            run_script("examples.py", folder / "examples")


def sample(name, server, folder):
    """Fails unless sampled outputs depend on the seed alone."""
    outputs = []
    for number, seed in enumerate((7, 7, 8)):
        with node(server, folder / f"sampled/{number}", TOKENS, seed) as address:
            outputs.append(run(address, folder / f"sampled/run-{number}", "offline"))
    first, again, other = outputs
    greedy = sum(got == wanted for got, wanted in zip(first, answers["outputs"], strict=True))
    same = sum(got == wanted for got, wanted in zip(first, other, strict=True))
    if first != again or greedy > 1 or same > 1:
        sys.exit(f"{name}: equal seeds: {first == again}; {greedy} outputs are greedy, {same} do not depend on the seed")


def run_script(name, folder):
    """Runs a script of this folder, which starts programs of its own."""
    command = [sys.executable, "-P", Path(__file__).with_name(name), engines, programs, out / "prompts.ids", folder]
    if subprocess.run(command, env=VARIABLES).returncode != 0:
        sys.exit(f"{name} failed")


def compare(name, where, outputs):
    for number, (got, wanted) in enumerate(zip(outputs, answers["outputs"], strict=True)):
        if got != wanted:
            sys.exit(f"{name}, {where}: output {number} is {got}, not {wanted}")


main()
