"""Groups `first` and `second`: what decides most, in a quarter of an hour on a GPU."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kit import answers, language, models, programs
from kit.settings import Settings
from kit.step import Failed, Result, Skip, step
from kit.steps import tokens
from kit.steps.compiled import needs_a_compiler
from kit.steps.endurance import lookup, lost_device, memory
from kit.steps.networks import detections, same_detections
from kit.steps.resnet50 import devices, expect_compiler, fixed, precision_of, resnet50_overlap


@step(group="first", seconds=20)
def first_devices(s: Settings, r: Result) -> None:
    """Checks that the node finds the device and Python's torch; names the libraries that a node has loaded."""
    devices(s, r)
    with programs.Node(s, programs.config(s, lookup(s), "libraries", max_batch=4)) as node:
        loaded = sorted(set(re.findall(r"\S*/lib(?:torch|c10|cu|nv)\S*", node.maps())))
        r.figure("libraries of torch and CUDA that the node has loaded", ", ".join(loaded))
        r.expect(any("libtorch_cpu.so" in file for file in loaded), "the node has loaded libtorch")


def each_form(s: Settings, r: Result, network: str, batches: tuple[int, ...], check: Callable[[str, Path], None]) -> None:
    """Measures a network as TorchScript, with fused convolutions, and as a package that is compiled ahead of time.

    First passes each form's manifest to `check`, for its answers. A form that fails does not hide the others.
    """
    forms = {"TorchScript": (), "fused": ("--fused",), "package": ("--ahead", s.device, "--largest", str(max(batches)))}
    size = models.size_of(models.manifest_of(s, network, precision_of(s)))
    rates = {}
    for form, options in forms.items():
        try:
            began = time.monotonic()
            if form == "package":
                needs_a_compiler(s)
            manifest = models.exported(s, network, precision_of(s), *options) / f"{network}.toml"
            if options:
                r.figure(f"{form}: export, s", time.monotonic() - began)
            check(form, manifest)
            for batch in batches:
                data = f"synthetic:{max(batch, 32) * 2}x{size * size * 3}"
                rates[form, batch] = programs.bench(s, fixed(s, manifest, batch, "form"), data, s.pick(1, 0.5))
                r.figure(f"{form}, batch {batch}: engines, samples/s", rates[form, batch])
                if form != "TorchScript" and ("TorchScript", batch) in rates:
                    r.figure(f"{form}, batch {batch}: to TorchScript", rates[form, batch] / rates["TorchScript", batch])
        except Skip as reason:
            r.figure(form, f"skipped: {reason}")
        except Failed as error:
            r.expect(False, f"{form}: {error}")
        r.covers(f"the forms up to {form}")


@step(group="first", seconds=165)
def first_resnet50(s: Settings, r: Result) -> None:
    """Compares ResNet50's labels, logits and speed as TorchScript, fused, and compiled ahead of time."""
    precision, batches = precision_of(s), s.pick((1, 8, 64), (1, 2, 8))
    script = models.manifest_of(s, "resnet50", precision)
    # The last batch is a short one, which the node pads.
    data, images = models.pixels(s, "first-resnet50", script, s.pick(197, 21))
    logits = models.Reference(s, script, precision).each(max(batches), images)[0]

    def check(form: str, manifest: Path) -> None:
        sizes = {"max_batch": max(batches), "batch_sizes": list(batches), "batch_timeout": "100ms"}
        with programs.Node(s, programs.config(s, manifest, "first-labels", **sizes)) as node:
            if s.cuda and form == "TorchScript":
                expect_compiler(r, node)
            answers.same_labels(r, f"{form}, labels", programs.responses(s, node, data, "labels"), logits, precision)
        tensors = models.variant(manifest, "logits", workload="tensors")
        with programs.Node(s, programs.config(s, tensors, "first-logits", **sizes)) as node:
            got = answers.floats(programs.responses(s, node, data, "logits"))
        answers.same_tensors(r, f"{form}, logits", got, list(logits), precision)

    each_form(s, r, "resnet50", batches, check)


@step(group="first", seconds=25)
def first_overlap(s: Settings, r: Result) -> None:
    """Checks in one round that copies overlap computing."""
    resnet50_overlap(s, r, 1)


@step(group="first", seconds=65)
def first_llama(s: Settings, r: Result) -> None:
    """Compares a Llama's ids with Python's, and measures tokens per second, with 1 row and with many."""
    tokens.needs_the_engine()
    precision, (longest, most), sizes = tokens.half_of(s), tokens.lengths(s), s.pick((1, 32), (1, 8))
    data, rows = language.prompts(s, "first-llama", max(sizes), (longest // 4, longest))
    decoder = language.Decoder(s, language.exported(s, precision, 1, longest, most), precision)
    want = decoder.outputs(rows, most)[0]
    r.expect(len(np.unique(want, axis=0)) > 1, "outputs differ between prompts, so that the comparison is meaningful")
    for slots in sizes:
        manifest = language.exported(s, precision, slots, longest, most)
        with programs.Node(s, tokens.settings(s, manifest)) as node:
            got = [np.frombuffer(x, "<i4") for x in programs.responses(s, node, data, "first-llama")]
            tokens.same_outputs(r, f"{precision}, {slots} slots", decoder, rows, got, want)
            tokens.offline_rate(s, r, node, data, slots)


@step(group="first", seconds=35)
def first_bert(s: Settings, r: Result) -> None:
    """Measures BERT-large with samples of maximum length, in batches of 1 and 64."""
    manifest, length = models.manifest_of(s, "bert", precision_of(s)), s.pick(384, 64)
    for batch in s.pick((1, 64), (1, 4)):
        settings = fixed(s, manifest, batch, "first-bert", buckets=[length])
        rate = programs.bench(s, settings, models.ones_of_bert(s, batch, length), s.pick(1, 0.5))
        r.figure(f"batch {batch}: engines, samples/s", rate)
    r.expect(rate > 0, "each batch has a speed")


step(group="first", seconds=20, name="first-lost-device")(lost_device)


@step(group="second", seconds=145)
def second_retinanet(s: Settings, r: Result) -> None:
    """Compares RetinaNet's detections and speed as TorchScript, fused, and compiled ahead of time."""
    precision, batches = precision_of(s), s.pick((1, 8), (1, 4))
    data, want = detections(s, models.manifest_of(s, "retinanet", precision), precision, s.pick(9, 5))

    def check(form: str, manifest: Path) -> None:
        same_detections(s, r, form, fixed(s, manifest, max(batches), "second-retinanet"), data, want, precision)

    each_form(s, r, "retinanet", batches, check)


step(group="second", seconds=40, name="second-memory")(memory)
step(group="second", seconds=65, name="second-lengths")(tokens.tokens_lengths)
