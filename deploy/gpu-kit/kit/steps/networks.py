"""Groups 4 and 5: answers of BERT-large, RetinaNet, 3D-UNet and DLRM, and their speed compared with a bare loop in Python."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kit import answers, models, programs
from kit.settings import Settings
from kit.step import Result, step
from kit.steps.resnet50 import fixed, precision_of


def speeds(s: Settings, r: Result, what: str, engines: float, loop: float, least: list[float]) -> None:
    """Records a pair of rates, and the minimum ratio so far."""
    r.figure(f"{what}: engines, samples/s", engines)
    r.figure(f"{what}: loop that overlaps, samples/s", loop)
    least.append(engines / loop)
    r.figure("minimum of engines to the loop that overlaps", min(least))
    r.covers(what if len(least) == 1 else f"{len(least)} sizes up to {what}")


def questions(s: Settings, name: str, manifest: Path, precision: str,
              lengths: Iterable[int]) -> tuple[str, list[np.ndarray]]:
    """Writes questions for BERT of these lengths; returns the data set and Python's logits of starts and ends."""
    rng, words = np.random.default_rng(6), s.pick(30_000, 190)
    samples = [np.stack([rng.integers(10, words, length), np.ones(length), np.arange(length) > length // 3])
               .astype(np.int32) for length in lengths]
    parts = [models.saved_each(s, f"{name}-{part}", [sample[place] for sample in samples])
             for place, part in enumerate(("ids", "mask", "segments"))]
    reference = models.Reference(s, manifest, precision)
    want = [np.stack(reference(*(part[None] for part in sample)), -1)[0] for sample in samples]
    return "+".join(map(str, parts)), want


@step(group=4, seconds=130)
def bert_answers(s: Settings, r: Result) -> None:
    """Compares BERT-large's start and end logits with Python's, for questions of different lengths, padded to buckets."""
    longest = s.pick(384, 64)
    lengths = np.random.default_rng(5).integers(longest // 8, longest + 1, s.pick(64, 12))
    for precision in s.pick(("fp32", "fp16"), ("fp32",)):
        manifest = models.manifest_of(s, "bert", precision)
        data, want = questions(s, "bert", manifest, precision, lengths)
        buckets = s.pick([128, 256, 384], [32, 64])
        settings = programs.config(s, manifest, "bert", max_batch=8, buckets=buckets)
        with programs.Node(s, settings) as node:
            got = programs.responses(s, node, data, "bert")
        answers.same_tensors(r, precision, answers.floats(got, (-1, 2)), want, precision)


@step(group=4, seconds=80)
def bert_speed(s: Settings, r: Result) -> None:
    """Compares engines with a bare loop for BERT-large, with samples of maximum length."""
    precision, length = precision_of(s), s.pick(384, 64)
    manifest, least, batches = models.manifest_of(s, "bert", precision), [], s.pick([1, 8, 64], [4])
    loops = programs.loops(s, manifest, batches, s.pick(3, 0.5), "--length", str(length))
    for batch in batches:
        settings = fixed(s, manifest, batch, "bert-speed", buckets=[length])
        engines = programs.bench(s, settings, models.ones_of_bert(s, batch, length), s.pick(3, 0.5))
        speeds(s, r, f"batch {batch}", engines, loops[batch, "overlaps"], least)


@step(group=5, seconds=150)
def retinanet_answers(s: Settings, r: Result) -> None:
    """Compares RetinaNet's detections with torchvision's non-maximum suppression of Python's candidates."""
    for precision in s.pick(("fp32", "fp16"), ("fp32",)):
        manifest = models.manifest_of(s, "retinanet", precision)
        data, want = detections(s, manifest, precision, s.pick(16, 4))
        same_detections(s, r, precision, fixed(s, manifest, 4, "retinanet"), data, want, precision)


def detections(s: Settings, manifest: Path, precision: str, count: int) -> tuple[Path, list[np.ndarray]]:
    """Writes images; returns their file, and Python's detections."""
    import processing
    import torch

    data, images = models.pixels(s, "retinanet", manifest, count)
    reference = models.Reference(s, manifest, precision)
    candidates = [reference(image[None]) for image in images]
    fields = {"score_threshold": 0.05, "nms_threshold": 0.5, "max_detections": 300}
    size = models.size_of(manifest)
    return data, [processing.detections(*(torch.from_numpy(x[0]) for x in each), size, fields)[0] for each in candidates]


def same_detections(s: Settings, r: Result, what: str, settings: Path, data: Path, want: list[np.ndarray],
                    precision: str) -> None:
    """Expects 98 % of Python's detections from a node."""
    with programs.Node(s, settings) as node:
        got = answers.floats(programs.responses(s, node, data, "retinanet"), (-1, 7))
    found = sum(len(rows) for rows in want)
    same = sum(matched(a, b, models.TOLERANCE[precision]) for a, b in zip(got, want))
    r.figure(f"{what}: detections", found)
    r.figure(f"{what}: of which the node has", same)
    # If two candidates overlap by about the threshold, either result is right.
    most = max(found, sum(len(rows) for rows in got))
    r.expect(found > 0 and same >= 0.98 * most, f"{what}: 98 % of the detections equal Python's")


def matched(got: np.ndarray, want: np.ndarray, tolerance: float) -> int:
    """Returns the number of detections in both: of the same class, with box and score within the tolerance."""
    left, count = list(got), 0
    for row in want:
        near = [i for i, other in enumerate(left) if row[6] == other[6] and np.abs(row - other)[1:6].max() <= tolerance]
        if near:
            left.pop(near[0])
            count += 1
    return count


@step(group=5, seconds=70)
def retinanet_speed(s: Settings, r: Result) -> None:
    """Compares engines with a bare loop for RetinaNet; the loop omits non-maximum suppression."""
    manifest, least, batches = models.manifest_of(s, "retinanet", precision_of(s)), [], s.pick([1, 8, 16], [2])
    size = models.size_of(manifest)
    loops = programs.loops(s, manifest, batches, s.pick(3, 0.5))
    for batch in batches:
        engines = programs.bench(s, fixed(s, manifest, batch, "retinanet-speed"),
                                 f"synthetic:{batch * 2}x{size * size * 3}", s.pick(3, 0.5))
        speeds(s, r, f"batch {batch}", engines, loops[batch, "overlaps"], least)


@step(group=5, seconds=130)
def unet3d_answers_and_speed(s: Settings, r: Result) -> None:
    """Compares 3D-UNet's classes of voxels with Python's sliding window, and windows per second with a bare loop."""
    import processing
    import torch

    manifest = models.manifest_of(s, "unet3d", "fp32")
    side = models.size_of(manifest)
    shapes = [(side * 3 // 2, side, side), (side, side * 2, side)]
    rng = np.random.default_rng(6)
    volumes = [rng.normal(0, 1, (1, *shape)).astype(np.float32) for shape in shapes]
    data = models.saved_each(s, "unet3d", volumes)
    reference = models.Reference(s, manifest, "fp32")

    def classify(window: torch.Tensor) -> list[torch.Tensor]:
        return [torch.from_numpy(x) for x in reference(window.numpy())[0]]

    want = [processing.segment(classify, volume, side) for volume in volumes]
    limits = {"max_payload_bytes": 268_435_456, "max_in_flight_bytes": 1_073_741_824}
    settings = programs.config(s, manifest, "unet3d", max_batch=1, **limits)
    with programs.Node(s, settings) as node:
        got = programs.responses(s, node, data, "unet3d")
    for response, (classes, ahead) in zip(got, want):
        other = np.frombuffer(response, np.uint8).reshape(classes.shape) != classes
        r.figure(f"{classes.shape}: voxels of another class", int(other.sum()))
        near = models.TOLERANCE["fp32"] * float(ahead.max())
        r.expect(bool((ahead[other] <= near).all()), f"{classes.shape}: voxels have Python's class, or nearly tied classes")
    precision, batch = precision_of(s), 4
    manifest = models.manifest_of(s, "unet3d", precision)
    volume = models.saved(s, "unet3d-volume", rng.normal(0, 1, (1, 1, side * 3 // 2, side * 3 // 2, side)).astype(np.float32))
    windows = 2 * 2 * 1  # half a window apart
    settings = programs.config(s, manifest, "unet3d-speed", max_batch=1, **limits)
    engines = windows * programs.bench(s, settings, volume, s.pick(4, 0.5))
    loops = programs.loops(s, manifest, [batch], s.pick(4, 0.5))
    speeds(s, r, "windows", engines, loops[batch, "overlaps"], [])


@step(group=5, seconds=60)
def dlrm_answers_and_speed(s: Settings, r: Result) -> None:
    """Compares DLRM's predictions of samples of different sizes with Python's, and pairs per second with a bare loop."""
    manifest = models.manifest_of(s, "dlrm", "fp32")
    samples = pairs(s.pick(64, 12), s.pick((100, 700), (1, 16)))
    dense, sparse = (models.saved_each(s, f"dlrm-{name}", [sample[place] for sample in samples])
                     for place, name in enumerate(("dense", "sparse")))
    reference = models.Reference(s, manifest, "fp32")
    want = [reference(*sample)[0] for sample in samples]
    del reference
    with programs.Node(s, programs.config(s, manifest, "dlrm", max_batch=16)) as node:
        got = programs.responses(s, node, f"{dense}+{sparse}", "dlrm")
    answers.same_tensors(r, "fp32", answers.floats(got), want, "fp32")
    count, size = s.pick(300, 8), s.pick(256, 16)
    (first, second), = pairs(1, (count, count + 1))
    data = "+".join(str(models.saved(s, f"dlrm-{name}-speed", np.stack([part] * 16)))
                    for name, part in (("dense", first), ("sparse", second)))
    engines = count * programs.bench(s, programs.config(s, manifest, "dlrm-speed", max_batch=size), data, s.pick(3, 0.5))
    loops = programs.loops(s, manifest, [count * size], s.pick(3, 0.5))
    speeds(s, r, f"pairs, {size} samples of {count}", engines, loops[count * size, "overlaps"], [])


def pairs(samples: int, sizes: tuple[int, int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns samples of user-item pairs: dense features, and indices below the rows of each full table."""
    import dlrm

    rng, found = np.random.default_rng(8), []
    for _ in range(samples):
        count = int(rng.integers(*sizes))
        columns = [rng.integers(0, rows, (count, hot)) for rows, hot in zip(dlrm.ROWS, dlrm.HOT)]
        found.append((rng.random((count, dlrm.DENSE), np.float32) * 6, np.concatenate(columns, 1).astype(np.int32)))
    return found
