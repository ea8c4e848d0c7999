"""Runs netdiv's programs for MLCFlow: loadgen-node at LoadGen's end (lon), sut-node at the SUT's end (sut)."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque

PROGRAMS = {"lon": "loadgen-node", "sut": "sut-node"}
# Keys of env, and the options that they are passed as.
OPTIONS = {
    "lon": {
        "MLC_NETDIV_CONFIG": "config",
        "MLC_NETWORK_LOADGEN_SUT_SERVERS": "nodes",
        "MLC_MLPERF_MODEL": "benchmark",
        "MLC_MLPERF_LOADGEN_MODE": "mode",
        "MLC_MLPERF_SUBMISSION_DIVISION": "division",
        "MLC_NETDIV_DATASET": "dataset",
        "MLC_NETDIV_LABELS": "labels",
        "MLC_MLPERF_USER_CONF": "user-conf",
    },
    "sut": {
        "MLC_NETDIV_CONFIG": "config",
        "MLC_MLPERF_MODEL": "model",
        "MLC_MLPERF_LOADGEN_MAX_BATCHSIZE": "max-batch",
        "MLC_NUM_THREADS": "threads",
    },
}
# LoadGen's targets; latencies of mlperf-automations are in milliseconds.
TARGETS = {
    "offline": ("OFFLINE_TARGET_QPS", "TARGET_QPS", "offline_expected_qps", 1),
    "server": ("SERVER_TARGET_QPS", "TARGET_QPS", "server_target_qps", 1),
    "single-stream": ("SINGLESTREAM_TARGET_LATENCY", "TARGET_LATENCY", "single_stream_expected_latency_ns", 10**6),
    "multi-stream": ("MULTISTREAM_TARGET_LATENCY", "TARGET_LATENCY", "multi_stream_expected_latency_ns", 10**6),
}
# Scenarios, and their names in mlperf-automations.
NAMES = {"offline": "Offline", "server": "Server", "single-stream": "SingleStream", "multi-stream": "MultiStream"}
# Keys of result.json that are copied to the state.
RECORDED = (
    "verdict", "reasons", "division", "benchmark", "scenario", "mode", "metric", "token_metric", "accuracy",
    "loadgen_latency_ns", "samples", "sut_name",
)  # fmt: skip
# Exit codes of a finished run: 1 is an invalid run.
FINISHED = {"lon": (0, 1), "sut": (0,)}
# Exit code of a failed run; result.json contains the reason, unless a second signal ended the run.
FAILED = 3


class Refused(Exception):
    """Error in the inputs."""


def preprocess(i):
    env = i["env"]
    try:
        end = env.get("MLC_NETWORK_LOADGEN", "")
        if end not in PROGRAMS:
            raise Refused("select an end: _network-lon (the LoadGen node) or _network-sut (a SUT node)")
        command = [program(env, PROGRAMS[end]), *(loadgen_node(env) if end == "lon" else sut_node(env))]
    except Refused as refusal:
        return {"return": 1, "error": str(refusal)}
    i["automation"].logger.info(shlex.join(command))
    code, said = run(command, env["MLC_USER_RUN_DIR"])
    if code in FINISHED[end]:
        return {"return": 0}
    if end == "lon" and code == FAILED and os.path.exists(result_file(env)):
        said = " ".join(read_result(env)["reasons"])
    ended = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
    return {"return": 1, "error": f"{PROGRAMS[end]}, {ended}: {said}"}


def postprocess(i):
    env, state = i["env"], i["state"]
    if env["MLC_NETWORK_LOADGEN"] == "lon":
        result = read_result(env)
        env["MLC_NETDIV_VERDICT"] = result["verdict"]
        state["netdiv"] = {key: result.get(key) for key in RECORDED}
        for_mlperf_automations(state, result)
    return {"return": 0}


def program(env, name):
    folder = env.get("MLC_NETDIV_PATH", "")
    found = shutil.which(name, path=os.path.join(env["MLC_USER_RUN_DIR"], folder) if folder else None)
    if not found:
        raise Refused(f"{name} is missing in {folder or '$PATH'}; set its folder with --netdiv_path=FOLDER")
    return os.path.abspath(found)


def options(env, end):
    given = {option: env.get(key, "") for key, option in OPTIONS[end].items()}
    return [f"--{option}={text(value)}" for option, value in given.items() if text(value)]


def text(value):
    """Returns a text with commas for a list (`--sut_servers,=a,b`) or a text."""
    return ",".join(value) if isinstance(value, list) else str(value)


def loadgen_node(env):
    model = env.get("MLC_MLPERF_MODEL", "")
    if not model:
        raise Refused("name the benchmark, for example --model=resnet50")
    if not env.get("MLC_NETWORK_LOADGEN_SUT_SERVERS") and not env.get("MLC_NETDIV_CONFIG"):
        raise Refused("name the SUT nodes: --sut_servers=HOST:PORT,HOST:PORT")
    mode = env["MLC_MLPERF_LOADGEN_MODE"]
    scenario = env["MLC_MLPERF_LOADGEN_SCENARIO"]
    # The program rejects an unknown scenario, and lists the known ones.
    scenario = next((ours for ours, theirs in NAMES.items() if theirs.lower() == scenario.lower()), scenario)
    folder = os.path.join(env.get("OUTPUT_BASE_DIR") or "out", f"{model}-{scenario}-{mode}")
    env["MLC_MLPERF_OUTPUT_DIR"] = os.path.join(env["MLC_USER_RUN_DIR"], folder)
    arguments = [f"--scenario={scenario}", f"--output={env['MLC_MLPERF_OUTPUT_DIR']}"]
    return ["run", *options(env, "lon"), *arguments, *target(env, scenario)]


def target(env, scenario):
    if scenario not in TARGETS:
        return []
    *keys, field, factor = TARGETS[scenario]
    given = next(filter(None, (env.get(f"MLC_MLPERF_LOADGEN_{key}") for key in keys)), None)
    if given is None:
        return []
    try:
        return [f"--setting={field}={float(given) * factor:.15g}"]
    except ValueError:
        raise Refused(f"{given} is not a number; a target is in samples per second or milliseconds") from None


def sut_node(env):
    host, port = env.get("MLC_NETDIV_HOST", ""), env.get("MLC_NETDIV_PORT", "")
    if host and not port:
        raise Refused("--host requires --port")
    return [*options(env, "sut"), *([f"--listen={host or '127.0.0.1'}:{port}"] if port else [])]


def run(command, folder):
    """Runs a program until it ends, and forwards signals to it. Returns its exit code and its error."""
    sys.stdout.flush()
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        before = {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                before[number] = signal.signal(number, lambda number, _: process.send_signal(number))
        lines = deque(maxlen=20)
        for line in process.stderr:
            sys.stderr.write(line)
            _, error, message = line.partition(" ERROR ")
            if error or line.startswith("error: "):
                lines.clear()
            lines.append(message or line)
        code = process.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
    return code, "".join(lines).strip()


def result_file(env):
    return os.path.join(env["MLC_MLPERF_OUTPUT_DIR"], "result.json")


def read_result(env):
    with open(result_file(env), encoding="utf-8") as file:
        return json.load(file)


def for_mlperf_automations(state, result):
    """Adds the results of a run to the state under the keys of mlperf-automations."""
    found = {}
    metric = result.get("token_metric") or result["metric"]
    if metric:
        found["performance"] = str(round(metric["value"] / (10**6 if metric["unit"] == "ns" else 1), 3))
        found["performance_valid"] = result["verdict"] == "VALID"
    if result["accuracy"]:
        found["accuracy"] = result["accuracy"]["reported"]
    state.setdefault("mlc-mlperf-inference-results-last", {}).update(found)
    place = state.setdefault("mlc-mlperf-inference-results", {})
    for name in (result["sut_name"], result["benchmark"], NAMES[result["scenario"]]):
        place = place.setdefault(name, {})
    place.update(found)
