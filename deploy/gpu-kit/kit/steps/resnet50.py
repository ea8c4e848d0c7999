"""Groups 1 and 2: the node finds the device; answers of ResNet50 at every precision; its speed compared with Python."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kit import answers, machine, models, programs
from kit.settings import Settings
from kit.step import Result, Skip, step

DEFAULT_PRECISION = "fp16"  # precision of steps that measure speed


def precision_of(s: Settings) -> str:
    """Returns fp16 for a GPU, and fp32 for a CPU, which computes fp16 slowly."""
    return DEFAULT_PRECISION if s.cuda else "fp32"


def fixed(s: Settings, manifest: Path, batch: int, name: str, **keys: object) -> Path:
    """Writes settings of a node that pads all batches to one size; returns their path."""
    return programs.config(s, manifest, name, max_batch=batch, batch_sizes=[batch], batch_timeout="100ms", **keys)


@step(group=1, seconds=60)
def devices(s: Settings, r: Result) -> None:
    """Checks that the node finds Python's torch without settings, and the device."""
    if s.libtorch.resolve() != machine.pythons_torch().resolve():
        raise Skip("--libtorch names another torch than this Python's, which the node finds without settings")
    # A link would not do: a virtual environment's Python does not find its packages if called by another path.
    python = s.folder("path") / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    said = programs.ask(s, "sut-node", "devices", env={"PATH": path, "LIBTORCH": None, "LD_LIBRARY_PATH": None})
    r.figure("sut-node devices", " / ".join(line.strip() for line in said.strip().splitlines()))
    r.expect(s.device in said.split(), f"`sut-node devices` lists {s.device}")


def expect_compiler(r: Result, node: programs.Node) -> None:
    """Expects that a node with convolutions on a GPU has loaded NVRTC; records its compilers."""
    found = sorted(set(re.findall(r"\S*/libnv(?:rtc|JitLink)\S*", node.maps())))
    r.figure("compilers that the node has loaded", ", ".join(found) or "missing")
    r.expect(any("libnvrtc.so" in file for file in found), "the node has loaded NVRTC, with which cuDNN compiles operations")


@step(group=1, seconds=200)
def resnet50_answers(s: Settings, r: Result) -> None:
    """Compares labels and logits with Python's on the same device: at fp32, tf32, fp16 and bf16, in batches of 1 to 256."""
    count, exact = s.pick(512, 24), {}
    for precision in ("fp32", "tf32", "fp16", "bf16"):
        manifest = models.manifest_of(s, "resnet50", precision)
        data, images = models.pixels(s, "resnet50-answers", manifest, count)
        logits = models.Reference(s, manifest, precision).each(s.pick(64, 8), images)[0]
        sizes = s.pick([1, 8, 32, 256], [1, 8]) if precision == "fp32" else [s.pick(64, 8)]
        for batch in sizes:
            what = f"{precision}, batches of {batch}"
            with programs.Node(s, fixed(s, manifest, batch, "answers"), env={"LD_LIBRARY_PATH": None}) as node:
                if s.cuda and not exact:
                    expect_compiler(r, node)
                answers.same_labels(r, what, programs.responses(s, node, data, "labels"), logits, precision)
        tensors = models.variant(manifest, "logits", workload="tensors")
        with programs.Node(s, fixed(s, tensors, s.pick(64, 8), "logits")) as node:
            got = answers.floats(programs.responses(s, node, data, "logits"))
        answers.same_tensors(r, f"{precision}, logits", got, list(logits), precision)
        exact[precision] = np.stack(got)
    off = float(np.abs(exact["tf32"] - exact["fp32"]).max() / np.abs(exact["fp32"]).max())
    r.figure("tf32 beside fp32, largest difference", off)
    if s.cuda:
        r.expect(off > 0, "tf32 rounds: its logits differ from those of fp32")


@step(group=1, seconds=150)
def resnet50_speed(s: Settings, r: Result) -> None:
    """Compares engines with bare loops in Python, in batches of 1 to 256: one waits for each batch, one overlaps them."""
    precision, seconds = precision_of(s), s.pick(2, 0.5)
    manifest = models.manifest_of(s, "resnet50", precision)
    size = models.size_of(manifest)
    batches, ratios, speeds = s.pick([1, 8, 32, 128, 256], [1, 8]), [], []
    loops = programs.loops(s, manifest, batches, seconds, kinds=("waits", "overlaps"))
    for (batch, kind), rate in loops.items():
        r.figure(f"batch {batch}: loop that {kind}, samples/s", rate)
    for batch in batches:
        data = f"synthetic:{max(batch, 32) * 2}x{size * size * 3}"
        engines = programs.bench(s, fixed(s, manifest, batch, "speed"), data, seconds)
        ratios.append(engines / loops[batch, "overlaps"])
        speeds.append(engines)
        r.figure(f"batch {batch}: engines, samples/s", engines)
        r.figure(f"batch {batch}: engines to the loop that overlaps", ratios[-1])
        r.figure("minimum of engines to the loop that overlaps", min(ratios))
        r.figure("best engines to the best loop that waits",
                 max(speeds) / max(rate for (_, kind), rate in loops.items() if kind == "waits"))
        r.covers(f"batches of 1 to {batch}")
    r.expect(min(ratios) > 0, "engines and loop have a speed at every batch")


@step(group=2, seconds=130)
def resnet50_network(s: Settings, r: Result) -> None:
    """Compares Offline and Server over loopback with the same node in one process, to show the cost of the network."""
    precision, batch = precision_of(s), s.pick(64, 8)
    manifest = models.manifest_of(s, "resnet50", precision)
    size = models.size_of(manifest)
    data, rounds, ms = f"synthetic:{batch * 4}x{size * size * 3}", s.pick(2, 1), s.pick(3000, 600)
    offline = fixed(s, manifest, batch, "network-offline", io_threads=2)
    rate = programs.bench(s, offline, data, s.pick(2, 0.5))
    r.figure("engines, samples/s", rate)
    found = programs.tax(s, offline, "offline", data, "resnet50-offline", rounds,
                         offline_expected_qps=rate * 1.5, min_duration_ms=ms)  # the rate is above the expected one, so that a faster run is long enough too
    compare(r, "offline", found)
    sizes = sorted({1, batch // 4, batch // 2, batch} - {0})
    server = programs.config(s, manifest, "network-server", max_batch=batch, batch_sizes=sizes, batch_timeout="500us",
                             io_threads=2)
    found = programs.tax(s, server, "server", data, "resnet50-server", rounds, server_target_qps=rate * 0.6,
                         server_target_latency_ns=s.pick(15_000_000, 1_000_000_000), min_duration_ms=ms)
    compare(r, "server", found)
    for kind, number in (("over the network", 0), ("in one process", 1)):
        p99 = [pair[number]["loadgen_latency_ns"]["99.00"] / 1e6 for pair in found]
        r.figure(f"server {kind}: p99, ms", float(np.median(p99)))


def compare(r: Result, scenario: str, found: list[tuple[dict, dict]]) -> None:
    """Records the rounds' verdicts, and the median ratio of the rounds that are valid in both."""
    valid = [pair for pair in found if pair[1]["verdict"] == "VALID"]
    r.expect(all(network["verdict"] == "VALID" for network, _ in valid),
             f"{scenario}: runs that are valid in one process ({len(valid)} of {len(found)}) are valid over the network")
    ratios = [network["metric"]["value"] / alone["metric"]["value"] for network, alone in valid if network["verdict"] == "VALID"]
    r.figure(f"{scenario}: network to in-process", float(f"{np.median(ratios):.3f}") if ratios else "no round is valid in both")
    if ratios:
        r.figure(f"{scenario}: minimum and maximum", f"{min(ratios):.3f} – {max(ratios):.3f}")
    r.figure(f"{scenario}: samples/s over the network", float(np.median([pair[0]["metric"]["value"] for pair in found])))
    r.figure(f"{scenario}: verdicts", ", ".join(f"{network['verdict']} / {alone['verdict']}" for network, alone in found))
    lost = sum(network["samples"]["lost"] for network, _ in found)
    r.expect(lost == 0, f"{scenario}: no samples are lost")


@step(group=2, seconds=80)
def resnet50_instances(s: Settings, r: Result) -> None:
    """Compares two instances on the device with one: answers and speed."""
    precision, batch, seconds = precision_of(s), s.pick(64, 8), s.pick(3, 0.5)
    manifest = models.manifest_of(s, "resnet50", precision)
    data, images = models.pixels(s, "resnet50-instances", manifest, s.pick(512, 32))
    logits = models.Reference(s, manifest, precision).each(batch, images)[0]
    rates = []
    for instances in (1, 2):
        settings = fixed(s, manifest, batch, "instances", instances=instances)
        rates.append(programs.bench(s, settings, data, seconds))
        r.figure(f"{instances} instances, samples/s", rates[-1])
    r.figure("two instances to one", rates[1] / rates[0])
    with programs.Node(s, settings) as node:
        got = programs.responses(s, node, data, "instances")
    answers.same_labels(r, "two instances", got, logits, precision)


COPIES = 20  # number of timed calls; the median counts
ROUNDS = 5  # rounds of copying, computing, and the node


@step(group=1, seconds=110)
def resnet50_overlap(s: Settings, r: Result, count: int = ROUNDS) -> None:
    """Checks that copies overlap computing: compares a batch in the node with its copy and its computing, timed by CUDA events."""
    import torch

    if not s.cuda:
        raise Skip("a CPU has no copies: the model reads the batch in place")
    # Normalised floats are four times as long as pixels, which makes the copy's time visible.
    precision, batch = precision_of(s), s.pick(128, 8)
    manifest = models.manifest_of(s, "resnet50", precision, "-fp32")
    module, size = models.Reference(s, manifest, precision).module, models.size_of(manifest)
    host = torch.rand(batch, 3, size, size).pin_memory()
    there = host.to(s.device)

    def milliseconds(work: Callable[[], object]) -> float:
        times = []
        with torch.inference_mode():
            for _ in range(3 + COPIES):
                began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                began.record()
                work()
                ended.record()
                ended.synchronize()
                times.append(began.elapsed_time(ended))
        return float(np.median(times[3:]))

    data = f"synthetic:{batch * 2}x{host.nbytes // batch}"
    settings, rounds = fixed(s, manifest, batch, "overlap"), []
    for _ in range(count):  # in turn, as the device's clock changes
        rounds.append((milliseconds(lambda: there.copy_(host, non_blocking=True)), milliseconds(lambda: module(there)),
                       1000 * batch / programs.bench(s, settings, data, 3)))
        copies, computes, takes = (float(np.median(each)) for each in zip(*rounds))
        r.figure("copying a batch, ms", copies)
        r.figure("computing a batch, ms", computes)
        r.figure("a batch in the node, ms", takes)
        hidden = [(copy + compute - take) / copy for copy, compute, take in rounds]
        r.figure("share of the copy that is hidden", float(np.median(hidden)))
        r.figure("that share, minimum and maximum", f"{min(hidden):.2f} – {max(hidden):.2f}")
        r.covers(f"the median of {len(rounds)} rounds")


@step(group=2, seconds=60)
def resnet50_jpeg(s: Settings, r: Result) -> None:
    """Compares labels of JPEG files with labels of Pillow's pixels, and the speed of both at fp32."""
    import processing
    from PIL import Image

    manifest = models.manifest_of(s, "resnet50", "fp32", "-jpeg")
    size = models.size_of(manifest)
    short = int(re.search(r"^resize = (\d+)", manifest.read_text(), re.MULTILINE)[1])
    rng, count = np.random.default_rng(3), s.pick(128, 16)
    folder, images = s.folder("data/jpeg"), []
    for number in range(count):
        file = folder / f"{number:05}.jpg"
        width, height = s.pick((500, 375), (120, 90))
        processing.picture(rng, width, height).save(file, quality=90)
        images.append(processing.crop(Image.open(file), short, size))
    images = np.stack(images)
    reference, batch = models.Reference(s, manifest, "fp32"), s.pick(64, 8)
    logits = reference.each(batch, images)[0]
    # Decoders differ by one level. Only labels that such differences do not change must be equal.
    labels, stable = logits.argmax(1), np.ones(count, bool)
    for _ in range(8):
        noise = rng.integers(-2, 3, images.shape)
        noisy = (images.astype(np.int16) + noise).clip(0, 255).astype(np.uint8)
        stable &= reference.each(batch, noisy)[0].argmax(1) == labels
    jpeg = fixed(s, manifest, batch, "jpeg")
    with programs.Node(s, jpeg) as node:
        got = np.array([int(np.frombuffer(x, "<i4")[0]) for x in programs.responses(s, node, folder, "jpeg")])
    r.figure("labels that noise does not change", f"{int(stable.sum())} of {count}")
    r.figure("labels other than Python's", int((got != labels).sum()))
    r.expect(bool((got == labels)[stable].all()), "labels that noise of two levels does not change equal Python's")
    r.expect(stable.sum() * 4 >= count, "noise does not change at least a quarter of the labels, so that the comparison is meaningful")
    seconds = s.pick(4, 0.5)
    decoded = programs.bench(s, jpeg, folder, seconds)
    pixels = programs.bench(s, fixed(s, models.manifest_of(s, "resnet50"), batch, "pixels"),
                            models.saved(s, "jpeg-pixels", images), seconds)
    r.figure("JPEG files, samples/s", decoded)
    r.figure("pixels, samples/s", pixels)
    r.figure("JPEG files to pixels", decoded / pixels)
