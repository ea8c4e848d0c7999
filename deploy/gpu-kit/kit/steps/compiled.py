"""Comparison of groups 2 and 4 with networks that `torch.compile(mode="max-autotune")` compiles."""

import importlib.util
import shutil
import sysconfig
import time
from pathlib import Path

import numpy as np

from kit import models, programs
from kit.settings import Settings
from kit.step import Result, Skip, step
from kit.steps.resnet50 import fixed, precision_of


def needs_a_compiler(s: Settings) -> None:
    """Skips the step if torch.compile lacks a compiler."""
    if shutil.which("c++") is None and shutil.which("g++") is None:
        raise Skip("torch.compile needs a C++ compiler")
    if s.cuda and importlib.util.find_spec("triton") is None:
        raise Skip("torch.compile needs triton on a GPU")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise Skip("torch.compile needs Python.h, which is in a package such as python3-dev")


def beside_compiled(s: Settings, r: Result, network: str, batch: int, data: str, length: int, **keys: object) -> None:
    """Compares engines with a loop over the compiled network."""
    needs_a_compiler(s)
    manifest, seconds = models.manifest_of(s, network, precision_of(s)), s.pick(3, 0.5)
    engines = programs.bench(s, fixed(s, manifest, batch, "compiled", **keys), data, seconds)
    r.figure(f"batch {batch}: engines, samples/s", engines)
    began = time.monotonic()
    compiled = programs.loops(s, manifest, [batch], seconds, "--compiled", "--length", str(length),
                              *["--small"] * s.small)[batch, "overlaps"]
    r.figure("compiling and measuring, s", time.monotonic() - began)
    r.figure(f"batch {batch}: compiled loop, samples/s", compiled)
    r.figure(f"batch {batch}: engines to the compiled loop", engines / compiled)


@step(group=2, seconds=250)
def resnet50_compiled(s: Settings, r: Result) -> None:
    """Compares engines with torch.compile for ResNet50, with CUDA graphs and Triton's kernels."""
    size, batch = models.size_of(models.manifest_of(s, "resnet50", precision_of(s))), s.pick(64, 8)
    beside_compiled(s, r, "resnet50", batch, f"synthetic:{batch * 2}x{size * size * 3}", 1)


@step(group=4, seconds=300)
def bert_compiled(s: Settings, r: Result) -> None:
    """Compares engines with torch.compile for BERT-large, with samples of maximum length."""
    batch, length = s.pick(8, 4), s.pick(384, 64)
    beside_compiled(s, r, "bert", batch, models.ones_of_bert(s, batch, length), length, buckets=[length])
