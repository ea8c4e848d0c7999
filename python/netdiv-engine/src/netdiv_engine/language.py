"""Serves a language model: each request is an iterator of ids, which `generate` returns."""

from __future__ import annotations

import array
import asyncio
import mmap
import select
import time
from collections import deque
from typing import Any, Callable, Optional

import numpy as np

from .engine import Engine, Request
from .errors import NodeGone
from .iterators import is_async, iterate, iterate_async
from .protocol import (
    CANCEL, ENDED, FAILED, GENERATE, HEAD, LIMITS, MAX_MESSAGE, NO_SEED, PART, TOKENS, Channel, short,
)
from .trial import PromptTrial

#: Interval at which an iterator that is not asynchronous is stopped for messages, in seconds.
LOOK_INTERVAL = 0.002

#: Maximum number of ids in a part of a message.
MAX_IDS = 16 << 10


def parts(slot: int, ids: "list[int]") -> "list[bytes]":
    """Returns ids as parts of messages."""
    pieces = (ids[at:at + MAX_IDS] for at in range(0, len(ids), MAX_IDS))
    return [PART.pack(slot, len(piece)) + array.array("i", piece).tobytes() for piece in pieces]


class Prompts:
    """Prompts in the memory that node and worker share, one in each slot."""

    def __init__(self, file: int, engine: Engine) -> None:
        self.memory = mmap.mmap(file, 0)
        self.declaration = engine.declaration
        self.slot_bytes = 4 * engine.declaration.max_input_tokens

    def request(self, slot: int, count: int, limits: bytes) -> Request:
        """Returns a request. The prompt is a copy, because the slot outlives no request but an engine may keep its prompt."""
        ids = np.frombuffer(self.memory, np.int32, count, slot * self.slot_bytes).copy()
        max_tokens, seed = LIMITS.unpack(limits)
        return Request(ids, self.declaration, max_tokens, None if seed == NO_SEED else seed)


def serve(engine: Engine, channel: Channel, file: int, ready: Callable[[str], None]) -> None:
    """Tries a prompt, calls `ready` with the result, and serves requests until the node ends. Raises EngineError, NodeGone."""
    prompts = Prompts(file, engine)
    serving: Any = _Concurrent if is_async(engine) else _OneByOne
    serving(engine, channel, prompts).run(ready)


class _Serving:
    def __init__(self, engine: Engine, channel: Channel, prompts: Prompts) -> None:
        self.engine, self.channel, self.prompts = engine, channel, prompts
        self.requests: "dict[int, Request]" = {}

    def failed(self, slot: int, error: BaseException) -> None:
        """Reports that an output has failed."""
        placed = self.engine.placed(self.engine.instance.generate, error)
        self.channel.send(FAILED, slot, 0, short(placed))


class _OneByOne(_Serving):
    """Iterators that are not asynchronous run one after the other."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: "deque[int]" = deque()
        self.look_at = 0.0

    def run(self, ready: Callable[[str], None]) -> None:
        ready(PromptTrial(self.engine, self.channel.report_trial).run())
        while True:
            while not self.waiting:
                self._take(self.channel.receive())
            slot = self.waiting.popleft()
            try:
                self._generate(slot, self.requests[slot])
                self.channel.send(ENDED, slot)
            except NodeGone:
                raise
            except BaseException as error:
                self.failed(slot, error)
            del self.requests[slot]

    def _generate(self, slot: int, request: Request) -> None:
        if request.is_cancelled:
            return
        self.look_at = time.monotonic() + LOOK_INTERVAL
        iterate(self.engine, request, lambda ids: self._send(slot, ids))

    def _send(self, slot: int, ids: "list[int]") -> None:
        for part in parts(slot, ids):
            self.channel.send(TOKENS, body=part)
        if time.monotonic() >= self.look_at:
            self._look()
            self.look_at = time.monotonic() + LOOK_INTERVAL

    def _look(self) -> None:
        """Takes the messages that have arrived."""
        while select.select([self.channel.node], [], [], 0)[0]:
            self._take(self.channel.receive())

    def _take(self, message: "tuple[int, int, int, bytes]") -> None:
        kind, slot, count, limits = message
        if kind == GENERATE:
            self.requests[slot] = self.prompts.request(slot, count, limits)
            self.waiting.append(slot)
        elif kind == CANCEL and slot in self.requests:
            self.requests[slot].is_cancelled = True


class _Concurrent(_Serving):
    """Asynchronous iterators run at the same time, on one event loop."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.tasks: "dict[int, asyncio.Task[Optional[BaseException]]]" = {}
        #: Parts of the next message with tokens, and their length.
        self.parts: "list[bytes]" = []
        self.waiting_bytes = 0
        self.is_over: "Optional[asyncio.Future[None]]" = None

    def run(self, ready: Callable[[str], None]) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: Callable[[str], None]) -> None:
        # An engine may keep what belongs to the loop, so the trial runs on the loop that serves.
        ready(await PromptTrial(self.engine, self.channel.report_trial).run_async())
        loop = asyncio.get_running_loop()
        self.is_over = loop.create_future()
        self.channel.node.setblocking(False)
        loop.add_reader(self.channel.node, self._read)
        await self.is_over
        loop.remove_reader(self.channel.node)
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def _read(self) -> None:
        try:
            while True:
                self._take(*self.channel.receive())
        except BlockingIOError:
            pass
        except NodeGone:
            self._end()

    def _end(self) -> None:
        if self.is_over is not None and not self.is_over.done():
            self.is_over.set_result(None)

    def _take(self, kind: int, slot: int, count: int, limits: bytes) -> None:
        if kind == GENERATE:
            request = self.requests[slot] = self.prompts.request(slot, count, limits)
            task = asyncio.get_running_loop().create_task(self._generate(slot, request))
            self.tasks[slot] = task
            # However a task ends, its slot is answered.
            task.add_done_callback(lambda task: self._ended(slot, task))
        elif kind == CANCEL and slot in self.tasks:
            self.requests[slot].is_cancelled = True
            self.tasks[slot].cancel()

    async def _generate(self, slot: int, request: Request) -> "Optional[BaseException]":
        """Returns the failure. A task that raised KeyboardInterrupt or SystemExit would end the loop."""
        try:
            await iterate_async(self.engine, request, lambda ids: self._send(slot, ids))
        except BaseException as error:
            return error
        return None

    def _ended(self, slot: int, task: "asyncio.Task[Optional[BaseException]]") -> None:
        request = self.requests.pop(slot)
        del self.tasks[slot]
        try:
            self._flush()
            # A task that is cancelled before it begins has no result.
            error = None if task.cancelled() else task.result()
            if request.is_cancelled or error is None:
                self._retry(lambda: self.channel.send(ENDED, slot))
            else:
                self._retry(lambda: self.failed(slot, error))
        except NodeGone:
            self._end()

    async def _send(self, slot: int, ids: "list[int]") -> None:
        # Ids that are yielded in one round of the loop go into one message.
        if not self.parts:
            asyncio.get_running_loop().call_soon(self._flush_or_end)
        for part in parts(slot, ids):
            if self.waiting_bytes + len(part) > MAX_MESSAGE - HEAD.size:
                self._flush()
            self.parts.append(part)
            self.waiting_bytes += len(part)
        # A generator that never waits must not hold up its ids, nor the others.
        await asyncio.sleep(0)

    def _flush_or_end(self) -> None:
        try:
            self._flush()
        except NodeGone:
            self._end()

    def _flush(self) -> None:
        if self.parts:
            body, self.parts, self.waiting_bytes = b"".join(self.parts), [], 0
            self._retry(lambda: self.channel.send(TOKENS, 0, 0, body))

    def _retry(self, send: Callable[[], None]) -> None:
        while True:
            try:
                return send()
            except BlockingIOError:
                # The node reads all the time; a full socket is the exception.
                select.select([], [self.channel.node], [])
