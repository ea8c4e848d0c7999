"""Tensors of a batch, in the memory that node and worker share."""

from __future__ import annotations

import math
import mmap
from typing import Any, Optional, Sequence

import numpy as np

from .declaration import MAX_TOKENS, Declaration, Tensor
from .errors import EngineError, counted

#: Regions begin at multiples of this.
ALIGNMENT = 64


class Region:
    """Room for the rows of a tensor, one for each sample of a batch."""

    def __init__(self, tensor: Tensor, declaration: Declaration, least: int = 1) -> None:
        """`least` is the minimum of named lengths."""
        self.tensor, self.least = tensor, least
        self.dtype = np.dtype(tensor.dtype)
        self.free = [place for place, length in enumerate(tensor.shape) if isinstance(length, str)]
        longest = [declaration.max_lengths[one] if isinstance(one, str) else one for one in tensor.shape]
        self.longest = tuple(longest)
        #: Length of the longest row, in bytes.
        self.row_bytes = self.dtype.itemsize * math.prod(longest)
        size = self.row_bytes * declaration.max_batch
        self.size = -(-size // ALIGNMENT) * ALIGNMENT

    def trial_rows(self, example: "Optional[dict[str, Any]]", samples: int, is_mixed: bool) -> "list[np.ndarray[Any, Any]]":
        """Returns rows that are the example, or zeros. Named lengths of zeros are the maximum; if `is_mixed`, half of it in every
        second row. Raises EngineError."""
        if example is None:
            halved = [max(1, length // 2) if place in self.free else length for place, length in enumerate(self.longest)]
            rows = [np.zeros(shape, self.dtype) for shape in (self.longest, halved)[:1 + is_mixed]]
        else:
            if not isinstance(example, dict) or self.tensor.name not in example:
                raise EngineError(f"example has no array {self.tensor.name!r}: write example = {{{self.tensor.name!r}: ARRAY, …}}")
            rows = [np.asarray(example[self.tensor.name])]
            self.check(rows[0].dtype, rows[0].shape, "the example")
        return [rows[sample % len(rows)] for sample in range(samples)]

    def check(self, dtype: "np.dtype[Any]", shape: "tuple[int, ...]", what: str) -> None:
        """Checks a row. `what` names it in the error. Raises EngineError."""
        tensor = self.tensor
        if dtype != self.dtype:
            raise EngineError(f"{what} has the dtype {dtype.name}; {tensor.name} is declared as {tensor.dtype}")
        fits = len(shape) == len(self.longest) and all(
            self.least <= length <= most if place in self.free else length == most
            for place, (length, most) in enumerate(zip(shape, self.longest))
        )
        if not fits:
            raise EngineError(f"{what} has the shape {list(shape)}; {tensor.name} is declared as {list(tensor.shape)}")

    def write(self, memory: "mmap.mmap", at: int, rows: Any) -> "list[int]":
        """Writes rows, one after the other. Returns the lengths of named dimensions, sample by sample."""
        if isinstance(rows, np.ndarray):
            self._array(memory, at, rows.shape)[...] = rows
            return [rows.shape[1 + place] for place in self.free] * len(rows)
        lengths = []
        for row in rows:
            self._array(memory, at, row.shape)[...] = row
            at += self.dtype.itemsize * row.size
            lengths += [row.shape[place] for place in self.free]
        return lengths

    def shapes(self, lengths: "Sequence[int]", samples: int) -> "list[tuple[int, ...]]":
        """Returns the shapes of rows. `lengths` are those of the named dimensions, sample by sample."""
        count, shapes = len(self.free), []
        for sample in range(samples):
            shape = list(self.longest)
            for place, length in zip(self.free, lengths[sample * count:]):
                shape[place] = length
            shapes.append(tuple(shape))
        return shapes

    def rows(self, memory: "mmap.mmap", at: int, samples: int, lengths: "Sequence[int]") -> Any:
        """Returns the rows as one array if they have one shape, and else as a list of arrays. Copies nothing."""
        if not self.free:
            return self._array(memory, at, (samples, *self.longest))
        shapes = self.shapes(lengths, samples)
        if all(shape == shapes[0] for shape in shapes):
            return self._array(memory, at, (samples, *shapes[0]))
        rows = []
        for shape in shapes:
            rows.append(self._array(memory, at, shape))
            at += self.dtype.itemsize * math.prod(shape)
        return rows

    def _array(self, memory: "mmap.mmap", at: int, shape: "tuple[int, ...]") -> "np.ndarray[Any, Any]":
        return np.frombuffer(memory, self.dtype, math.prod(shape), at).reshape(shape)


class Slots:
    """Slots of memory. Each has room for the inputs and outputs of a batch."""

    def __init__(self, memory: "mmap.mmap", declaration: Declaration) -> None:
        # NumPy keeps the memory open as long as an array uses it.
        self.memory = memory
        self.inputs = [Region(tensor, declaration) for tensor in declaration.inputs]
        self.counts_tokens = declaration.counts_tokens
        # Some tokens have no text.
        self.output = Region(declaration.outputs[0], declaration, 0 if self.counts_tokens else 1)
        self.slot_bytes = self.size(declaration)

    @staticmethod
    def size(declaration: Declaration) -> int:
        """Returns the bytes of a slot."""
        tensors = [*declaration.inputs, *declaration.outputs]
        return sum(Region(tensor, declaration).size for tensor in tensors)

    def batch(self, slot: int, samples: int, lengths: "Sequence[int]") -> "dict[str, Any]":
        """Returns the inputs of a batch, by name."""
        at, batch = slot * self.slot_bytes, {}
        for region in self.inputs:
            count = len(region.free) * samples
            batch[region.tensor.name] = region.rows(self.memory, at, samples, lengths[:count])
            lengths = lengths[count:]
            at += region.size
        return batch

    def fill(self, slot: int, samples: int, example: "Optional[dict[str, Any]]", is_mixed: bool) -> "list[int]":
        """Writes the inputs of a batch that is tried. Returns the lengths that `batch` takes. Raises EngineError."""
        at, lengths = slot * self.slot_bytes, []
        for region in self.inputs:
            lengths += region.write(self.memory, at, region.trial_rows(example, samples, is_mixed))
            at += region.size
        return lengths

    def put(self, slot: int, samples: int, returned: Any) -> "list[int]":
        """Writes what `infer` returned. Returns the lengths of named dimensions, sample by sample, and then the numbers of tokens
        if the engine counts them. Raises EngineError."""
        region = self.output
        counts: "list[int]" = []
        if self.counts_tokens:
            returned, counts = _counted(returned, samples)
        rows = self._rows(returned, samples)
        at = slot * self.slot_bytes + sum(one.size for one in self.inputs)
        if isinstance(rows, np.ndarray):
            region.check(rows.dtype, rows.shape[1:], "the output")
        else:
            rows = [np.asarray(row) for row in rows]
            for number, row in enumerate(rows):
                region.check(row.dtype, row.shape, f"the output for sample {number} of the batch")
        return region.write(self.memory, at, rows) + counts

    def _rows(self, returned: Any, samples: int) -> Any:
        if isinstance(returned, dict):
            name = self.output.tensor.name
            if name not in returned:
                raise EngineError(f"infer returned {sorted(returned)}; expected {name!r}")
            returned = returned[name]
        if not isinstance(returned, (list, tuple)):
            returned = np.asarray(returned)
            if returned.ndim == 0:
                raise EngineError("infer returned one value; expected one for each sample")
        if len(returned) != samples:
            raise EngineError(f"infer returned {counted(len(returned), 'output')} for {counted(samples, 'sample')}")
        return returned


def _counted(returned: Any, samples: int) -> "tuple[Any, list[int]]":
    """Returns the outputs and the numbers of tokens that `infer` returned. Raises EngineError."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise EngineError("infer returned no counts: with counts_tokens, write `return outputs, counts`")
    outputs, counts = returned[0], np.asarray(returned[1])
    if counts.shape != (samples,) or counts.dtype.kind not in "iu":
        raise EngineError(f"infer returned the counts {returned[1]!r:.100}; expected a whole number for each of {counted(samples, 'sample')}")
    for number, count in enumerate(counts.tolist()):
        if not 0 < count <= MAX_TOKENS:
            raise EngineError(f"infer counted {counted(count, 'token')} for sample {number} of the batch; expected 1 to {MAX_TOKENS}")
    return outputs, counts.tolist()
