"""Compares the node's answers with Python's."""

import numpy as np

from kit.models import TOLERANCE
from kit.step import Result


def floats(responses: list[bytes], shape: tuple[int, ...] = (-1,)) -> list[np.ndarray]:
    return [np.frombuffer(response, "<f4").reshape(shape) for response in responses]


def same_tensors(r: Result, what: str, got: list[np.ndarray], want: list[np.ndarray], precision: str) -> float:
    """Expects tensors within the precision's tolerance. Returns the largest difference, as a share of the largest element."""
    if [x.shape for x in got] != [x.shape for x in want]:
        r.expect(False, f"{what}: outputs have the same shapes as Python's")
        return float("inf")
    largest = max(float(np.abs(x).max()) for x in want)
    worst = max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in zip(got, want)) / max(largest, 1e-6)
    finite = all(np.isfinite(x).all() for x in got)
    r.figure(f"{what}: largest difference", worst)
    r.expect(finite and worst <= TOLERANCE[precision],
             f"{what}: {len(got)} answers within {TOLERANCE[precision]:g} of Python's largest number")
    return worst


def same_labels(r: Result, what: str, responses: list[bytes], logits: np.ndarray, precision: str) -> None:
    """Expects Python's labels. Another label is right too if Python's logits of both are within the tolerance."""
    got = np.array([int(np.frombuffer(response, "<i4")[0]) for response in responses])
    if len(got) != len(logits) or got.min() < 0 or got.max() >= logits.shape[1]:
        r.expect(False, f"{what}: a label for each sample")
        return
    want = logits.argmax(1)
    behind = logits.max(1) - logits[np.arange(len(got)), got]
    near = TOLERANCE[precision] * float(np.abs(logits).max())
    r.figure(f"{what}: other labels than Python's", int((got != want).sum()))
    r.expect(bool((behind <= near).all()), f"{what}: {len(got)} labels equal Python's, or differ by rounding only")
    r.expect(len(set(want.tolist())) > 1, f"{what}: labels differ between samples, so that the comparison is meaningful")
