"""Trial of an engine before it serves: `--check` runs it without a node, and a node before it is ready."""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy as np

from .engine import Engine, Request
from .errors import EngineError, NodeGone, counted
from .iterators import iterate, iterate_async
from .tensors import Slots

#: Number of tokens of the prompt that is tried, and the number after which its output is cancelled.
PROMPT_TOKENS, TRIAL_TOKENS = 8, 64


def run_batch(engine: Engine, slots: Slots, slot: int, samples: int, lengths: "list[int]") -> "list[int]":
    """Runs the batch in a slot. Returns what `Slots.put` does. Raises EngineError."""
    infer = engine.instance.infer
    try:
        # No variable keeps the arrays of a batch, which must not outlive it.
        return slots.put(slot, samples, infer(slots.batch(slot, samples, lengths)))
    except BaseException as error:
        raise engine.placed(infer, error) from error


def try_batches(engine: Engine, slots: Slots, max_batch: int, report: "Callable[[], None]" = lambda: None) -> "list[str]":
    """Runs a sample alone, a batch that is not full, and a full batch. Calls `report` before each. Returns their times. Raises EngineError."""
    return [_try_batch(engine, slots, samples, max_batch, report) for samples in sorted({1, max(1, max_batch - 1), max_batch})]


def _try_batch(engine: Engine, slots: Slots, samples: int, max_batch: int, report: "Callable[[], None]") -> str:
    example = getattr(engine.instance, "example", None)
    # Samples of different lengths come as lists, which the batch that is not full has too.
    is_mixed = 1 < samples < max_batch
    try:
        lengths = slots.fill(0, samples, example, is_mixed)
    except EngineError as error:
        raise EngineError(f"{engine.path}: {error}") from error
    report()
    begun = time.monotonic()
    run_batch(engine, slots, 0, samples, lengths)
    kind = "zero" if example is None else "example"
    return f"a batch of {counted(samples, kind)}: {1000 * (time.monotonic() - begun):.2f} ms"


class PromptTrial:
    """A prompt that is tried before the engine serves. A long output is cancelled, as by a client that leaves."""

    def __init__(self, engine: Engine, report: "Callable[[], None]" = lambda: None) -> None:
        """Calls `report` before the prompt and whenever ids have arrived."""
        self.engine, self.report, known = engine, report, engine.declaration
        middle = np.full(min(PROMPT_TOKENS, known.max_input_tokens), known.vocabulary // 2, np.int32)
        ids = getattr(engine.instance, "example", middle)
        try:
            ids = np.array(ids, np.int32)
            is_prompt = ids.ndim == 1 and 0 < ids.size <= known.max_input_tokens and 0 <= ids.min() <= ids.max() < known.vocabulary
        except (TypeError, ValueError, OverflowError):
            is_prompt = False
        if not is_prompt:
            limits = f"up to {known.max_input_tokens} ids from 0 to {known.vocabulary - 1}"
            raise EngineError(f"{engine.path}: example = {ids!r:.100}: write a list of {limits}")
        self.request = Request(ids, known)
        self.report()
        self.tokens, self.first, self.begun = 0, 0.0, time.monotonic()

    def run(self) -> str:
        """Runs a `generate` that is not asynchronous. Returns the times. Raises EngineError."""
        try:
            iterate(self.engine, self.request, self._take)
        except NodeGone:
            raise
        except BaseException as error:
            raise self.engine.placed(self.engine.instance.generate, error) from error
        return self._times()

    async def run_async(self) -> str:
        """Like `run`, for a `generate` that is asynchronous."""
        async def take(ids: "list[int]") -> None:
            self._take(ids)

        try:
            await iterate_async(self.engine, self.request, take)
        except NodeGone:
            raise
        except BaseException as error:
            raise self.engine.placed(self.engine.instance.generate, error) from error
        return self._times()

    def _take(self, ids: "list[int]") -> None:
        self.report()
        self.first = self.first or time.monotonic() - self.begun
        self.tokens += len(ids)
        self.request.is_cancelled = self.tokens >= TRIAL_TOKENS

    def _times(self) -> str:
        first, whole = 1000 * self.first, 1000 * (time.monotonic() - self.begun)
        prompt, output = counted(len(self.request.ids), "token"), counted(self.tokens, "token")
        return f"a prompt of {prompt}: {output}, the first after {first:.2f} ms, all after {whole:.2f} ms"
