"""Fails if an input that mlperf-automations has too is mapped to another key of env: names.py OURS THEIRS."""

import pathlib
import sys

import yaml


def inputs(script):
    return yaml.safe_load((script / "meta.yaml").read_text(encoding="utf-8"))["input_mapping"].items()


ours = inputs(pathlib.Path(sys.argv[1], "script", "run-netdiv"))
scripts = pathlib.Path(sys.argv[2], "script")
theirs = {
    pair
    for script in ("app-mlperf-inference-mlcommons-python", "run-mlperf-inference-app")
    for pair in inputs(scripts / script)
}
names = {name for name, _ in theirs}
differing = [(n, key) for n, key in ours if n in names and not key.startswith("MLC_NETDIV_") and (n, key) not in theirs]
if differing:
    sys.exit(f"mapped differently in mlperf-automations: {differing}")
