"""Group 8: switches that only a GPU can judge. Each is measured off and on; it stays off by default until it is faster."""

from pathlib import Path

import numpy as np

from kit import answers, models, programs
from kit.settings import Settings
from kit.step import Result, step
from kit.steps.networks import questions
from kit.steps.resnet50 import fixed, precision_of


def on_to_off(s: Settings, r: Result, batch: int, kinds: dict[str, tuple[Path, dict]], data: str | Path) -> float:
    """Measures batches of one size with a switch off and on, in turn; returns the ratio of the speeds, on to off."""
    found = {kind: [] for kind in kinds}
    for _ in range(s.pick(2, 1)):
        for kind, (settings, variables) in kinds.items():
            found[kind].append(programs.bench(s, settings, data, s.pick(2, 0.5), env=variables))
    rates = {kind: float(np.median(each)) for kind, each in found.items()}
    for kind, rate in rates.items():
        r.figure(f"batch {batch}: {kind}, samples/s", rate)
    r.figure(f"batch {batch}: on to off", rates["on"] / rates["off"])
    return rates["on"] / rates["off"]


def off_and_on(s: Settings, r: Result, on: Path, env: dict[str, str]) -> None:
    """Measures ResNet50 by default, and with another manifest or environment, in turn; compares answers and speed."""
    precision = precision_of(s)
    off = models.manifest_of(s, "resnet50", precision)
    data, images = models.pixels(s, "switch", off, s.pick(512, 32))
    logits = models.Reference(s, off, precision).each(s.pick(64, 8), images)[0]
    ratios = []
    for batch in s.pick((1, 8, 32, 128), (1, 8)):
        kinds = {"off": (fixed(s, off, batch, "off"), {}), "on": (fixed(s, on, batch, "on"), env)}
        ratios.append(on_to_off(s, r, batch, kinds, data))
    r.figure("minimum of on to off", min(ratios))
    with programs.Node(s, fixed(s, on, batch, "on"), env=env) as node:
        answers.same_labels(r, "switched on", programs.responses(s, node, data, "switch"), logits, precision)


@step(group=8, seconds=200)
def switch_fused_convolutions(s: Settings, r: Result) -> None:
    """Measures convolutions fused with their ReLU and sum (`export.py --fused`), off and on."""
    off_and_on(s, r, models.exported(s, "resnet50", precision_of(s), "--fused") / "resnet50.toml", {})


@step(group=8, seconds=200)
def switch_fuser(s: Settings, r: Result) -> None:
    """Measures TorchScript's fuser of pointwise operations (NETDIV_TORCH_FUSER=1), off and on."""
    off_and_on(s, r, models.manifest_of(s, "resnet50", precision_of(s)), {"NETDIV_TORCH_FUSER": "1"})


@step(group=8, seconds=110)
def switch_cudnn_attention(s: Settings, r: Result) -> None:
    """Measures BERT-large's attention by cuDNN (NETDIV_TORCH_CUDNN_ATTENTION=1), off and on; all batches have the same shape."""
    precision, length, ratios, on = precision_of(s), s.pick(384, 64), [], {"NETDIV_TORCH_CUDNN_ATTENTION": "1"}
    manifest = models.manifest_of(s, "bert", precision)
    for batch in s.pick((8, 64), (4,)):
        settings = fixed(s, manifest, batch, "attention", buckets=[length])
        data = models.ones_of_bert(s, batch, length)
        ratios.append(on_to_off(s, r, batch, {"off": (settings, {}), "on": (settings, on)}, data))
    r.figure("minimum of on to off", min(ratios))
    # The node pads the shorter questions.
    data, want = questions(s, "attention", manifest, precision, [length, length // 2] * 4)
    with programs.Node(s, settings, env=on) as node:
        got = programs.responses(s, node, data, "attention")
    answers.same_tensors(r, "switched on", answers.floats(got, (-1, 2)), want, precision)
