"""`histograms.hlog`: the compressed log format of HdrHistogram, version 2."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

COMPRESSED, PLAIN = 0x1C849314, 0x1C849313
HEADER = ">IIIIQQd"
MAX_BYTES = 1 << 26
MAX_DIGITS = 5
MAX_SCALE = 62
LINE = re.compile(r"Tag=(\d+)/(\w+),[^,]*,[^,]*,[^,]*,(\S+)")

Encoded = dict[tuple[int, str], str]
Bucket = tuple[int, int, int]
"""Lowest value, highest value, and the count of values between them."""


@dataclass(frozen=True)
class Histogram:
    """Distribution of a measure: nanoseconds, or tokens for `tokens_per_answer`."""

    measure: str
    buckets: tuple[Bucket, ...]
    """Buckets with values, in ascending order: lowest value, highest value, count."""

    @property
    def unit(self) -> str:
        return "tokens" if self.measure == "tokens_per_answer" else "ns"

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(count for *_, count in self.buckets)

    @property
    def mean(self) -> float:
        """Mean of the values, each taken as the middle of its bucket."""
        return sum((lowest + (highest - lowest + 1) // 2) * count for lowest, highest, count in self.buckets) / self.count

    @property
    def max(self) -> int:
        return self.buckets[-1][1]

    def percentile(self, percent: float) -> int:
        """Returns the value that `percent` of the values do not exceed, from 0 to 100, as `result.json` has it."""
        if not 0 <= percent <= 100:
            raise ValueError(f"percentile {percent} is invalid; pass a number from 0 to 100")
        rank = max(1, math.ceil(Fraction(str(percent)) * self.count / 100))
        for _, highest, count in self.buckets:
            rank -= count
            if rank <= 0:
                return highest
        return self.max

    def to_frame(self) -> pd.DataFrame:
        """Returns a row for each bucket with values: its bounds, its count, and the percentage of values up to it."""
        frame = pd.DataFrame(self.buckets, columns=[f"lowest_{self.unit}", f"highest_{self.unit}", "count"])
        return frame.assign(percentile=100 * frame["count"].cumsum() / self.count)


def encoded_histograms(text: str) -> Encoded:
    """Returns the encoded histograms of a log by the node's place and the measure."""
    encoded: Encoded = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("#", '"')) or not line.strip():
            continue
        if not (found := LINE.fullmatch(line)):
            raise ValueError(f"line {number} is not a histogram with a tag such as 0/latency")
        encoded[int(found[1]), found[2]] = found[3]
    return encoded


def decoded(measure: str, lines: Iterable[str]) -> Histogram:
    """Returns the sum of encoded histograms."""
    counts: dict[tuple[int, int], int] = {}
    for line in lines:
        for lowest, highest, count in _buckets(base64.b64decode(line, validate=True)):
            counts[lowest, highest] = counts.get((lowest, highest), 0) + count
    if not counts:
        raise ValueError(f"the histogram {measure!r} has no values")
    return Histogram(measure, tuple((*bounds, count) for bounds, count in sorted(counts.items())))


def _buckets(data: bytes) -> Iterator[Bucket]:
    cookie, length = struct.unpack_from(">II", data)
    if cookie != COMPRESSED:
        raise ValueError("the histogram is not in HdrHistogram's compressed format, version 2")
    plain = zlib.decompressobj().decompress(data[8 : 8 + length], MAX_BYTES)
    cookie, length, _, digits, lowest, _, _ = struct.unpack_from(HEADER, plain)
    counts = plain[struct.calcsize(HEADER) :]
    if cookie != PLAIN or length != len(counts) or digits > MAX_DIGITS or lowest == 0:
        raise ValueError("the histogram has an invalid header, or is incomplete")
    unit = lowest.bit_length() - 1
    half = (2 * 10**digits - 1).bit_length() - 1
    place = 0
    for number in _numbers(counts):
        # A negative number is a run of empty buckets.
        place += max(1, -number)
        if number > 0:
            scale = max(0, ((place - 1) >> half) - 1)
            if scale + unit > MAX_SCALE:
                raise ValueError("a value of the histogram exceeds 64 bits")
            low = ((place - 1) - (scale << half)) << (scale + unit)
            yield low, low + (1 << (scale + unit)) - 1, number


def _numbers(data: bytes) -> Iterator[int]:
    """Yields the signed numbers of seven bits per byte; a ninth byte has eight."""
    value = shift = 0
    for byte in data:
        is_ninth = shift == 56
        value |= (byte if is_ninth else byte & 0x7F) << shift
        shift += 7
        if is_ninth or byte < 0x80:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
    if shift:
        raise ValueError("the histogram ends within a number")
