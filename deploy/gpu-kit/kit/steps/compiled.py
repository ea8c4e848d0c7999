"""The second yardstick, of groups 2 and 4: networks as `torch.compile(mode="max-autotune")` makes them."""

import shutil

import numpy as np

from kit import models, programs
from kit.settings import Settings
from kit.step import Result, Skip, step
from kit.steps.resnet50 import fixed, precision_of


def beside_compiled(s: Settings, r: Result, network: str, batches: list[int], data: dict[int, str], length: int,
                    **keys: object) -> None:
    """Engines beside a loop over the compiled network, batch by batch, as compiling takes long."""
    if shutil.which("c++") is None and shutil.which("g++") is None:
        raise Skip("torch.compile needs a C++ compiler")
    manifest, seconds = models.manifest_of(s, network, precision_of(s)), s.pick(3, 0.5)
    for batch in batches:
        compiled = programs.loops(s, manifest, [batch], seconds, "--compiled", "--length", str(length),
                                  *["--small"] * s.small)[batch, "overlaps"]
        engines = programs.bench(s, fixed(s, manifest, batch, "compiled", **keys), data[batch], seconds)
        r.figure(f"batch {batch}: engines, samples/s", engines)
        r.figure(f"batch {batch}: compiled loop, samples/s", compiled)
        r.figure(f"batch {batch}: engines to the compiled loop", engines / compiled)
        r.covers(", ".join(f"batch {size}" for size in batches[:batches.index(batch) + 1]))


@step(group=2, seconds=200)
def resnet50_compiled(s: Settings, r: Result) -> None:
    """ResNet50: engines beside torch.compile at its best, with CUDA graphs and Triton's kernels."""
    size = models.size_of(models.manifest_of(s, "resnet50", precision_of(s)))
    batches = s.pick([64, 1], [8])
    data = {batch: f"synthetic:{max(batch, 32) * 2}x{size * size * 3}" for batch in batches}
    beside_compiled(s, r, "resnet50", batches, data, 1)


@step(group=4, seconds=200)
def bert_compiled(s: Settings, r: Result) -> None:
    """BERT-large: engines beside torch.compile at its best, with samples of the longest length."""
    batch, length = s.pick(8, 4), s.pick(384, 64)
    rows = np.ones((batch * 2, length), np.int32)
    data = "+".join(str(models.saved(s, f"bert-{name}", rows)) for name in ("ones", "mask", "segments"))
    beside_compiled(s, r, "bert", [batch], {batch: data}, length, buckets=[length])
