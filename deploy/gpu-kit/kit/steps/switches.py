"""Group 6: switches that only a GPU can judge. Each is measured off and on; it stays off until it wins."""

import numpy as np

from kit import answers, models, programs
from kit.settings import Settings
from kit.step import Result, step
from kit.steps.resnet50 import fixed, precision_of


def off_and_on(s: Settings, r: Result, variable: str) -> None:
    """ResNet50 with an environment variable of the plug-in at 0 and at 1, in turn: the same answers, and the speed of both."""
    precision = precision_of(s)
    manifest = models.manifest_of(s, "resnet50", precision)
    data, images = models.pixels(s, "switch", manifest, s.pick(512, 32))
    logits = models.Reference(s, manifest, precision).each(s.pick(64, 8), images)[0]
    best = []
    for batch in s.pick((1, 8, 32, 128), (1, 8)):
        settings, rates = fixed(s, manifest, batch, "switch"), {"0": [], "1": []}
        for _ in range(s.pick(2, 1)):
            for value, found in rates.items():
                found.append(programs.bench(s, settings, data, s.pick(2, 0.5), env={variable: value}))
        off, on = (float(np.median(found)) for found in rates.values())
        r.figure(f"batch {batch}: off, samples/s", off)
        r.figure(f"batch {batch}: on, samples/s", on)
        best.append(on / off)
        r.figure(f"batch {batch}: on to off", best[-1])
    r.figure("least of on to off", min(best))
    with programs.Node(s, settings, env={variable: "1"}) as node:
        answers.same_labels(r, "switched on", programs.responses(s, node, data, "switch"), logits, precision)


@step(group=6, seconds=160)
def switch_fuser(s: Settings, r: Result) -> None:
    """TorchScript's fuser of pointwise operations (NETDIV_TORCH_FUSER), off and on."""
    off_and_on(s, r, "NETDIV_TORCH_FUSER")
