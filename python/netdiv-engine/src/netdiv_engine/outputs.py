"""Outputs of a language model, checked while `generate` yields them."""

from __future__ import annotations

import operator
from typing import Any

from .engine import Request
from .errors import EngineError, counted


class Output:
    """Progress of an output, against which the next ids are checked."""

    __slots__ = ("request", "vocabulary", "ends", "count", "has_ended")

    def __init__(self, request: Request, vocabulary: int) -> None:
        self.request, self.vocabulary = request, vocabulary
        self.ends = frozenset(request.eos)
        self.count = 0
        self.has_ended = False

    def take(self, yielded: Any) -> "list[int]":
        """Returns the ids of what `generate` yielded: one id, or several. Raises EngineError."""
        try:
            ids = _ids(yielded)
        except (TypeError, ValueError, OverflowError):
            raise EngineError(f"generate yielded {yielded!r:.100}; expected an id, or a list of ids") from None
        known = self.request
        for one in ids:
            if self.has_ended:
                raise EngineError(f"generate yielded {one} after the id that ends the output")
            if not 0 <= one < self.vocabulary:
                raise EngineError(f"generate yielded the id {one}; ids go from 0 to {self.vocabulary - 1}")
            if self.count == known.max_tokens:
                raise EngineError(f"generate yielded more than max_tokens = {known.max_tokens} ids; it must end")
            self.count += 1
            if one in self.ends:
                if self.count < known.min_tokens:
                    raise EngineError(f"generate ended at id {self.count}; min_tokens is {known.min_tokens}")
                self.has_ended = True
        return ids

    def finish(self) -> None:
        """Checks that the output may end here. Raises EngineError."""
        known = self.request
        if self.count < max(known.min_tokens, 1):
            raise EngineError(f"generate ended after {counted(self.count, 'id')}; min_tokens is {known.min_tokens}")
        if self.ends and not self.has_ended and self.count < known.max_tokens:
            raise EngineError(
                f"generate ended after {self.count} of {known.max_tokens} ids, without an id that ends an output"
            )


def _ids(yielded: Any) -> "list[int]":
    if isinstance(yielded, (str, bytes, bool)):
        raise TypeError
    # Arrays and tensors without dimensions are one id.
    is_list = hasattr(yielded, "__iter__") and getattr(yielded, "ndim", 1) > 0
    return [_id(one) for one in yielded] if is_list else [_id(yielded)]


def _id(one: Any) -> int:
    if isinstance(one, bool):
        raise TypeError
    return operator.index(one)
