"""Iterators of ids, which `generate` returns."""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Iterator

from .engine import Engine, Request
from .errors import EngineError, undecorated
from .outputs import Output


def is_async(engine: Engine) -> bool:
    """Returns true if requests of the engine run at the same time."""
    generate = undecorated(engine.instance.generate)
    return inspect.isasyncgenfunction(generate) or inspect.iscoroutinefunction(generate)


def _plain_iterator(returned: Any) -> "Iterator[Any]":
    """Returns the iterator of a `generate` that is not asynchronous. Raises EngineError."""
    if hasattr(returned, "__aiter__") or inspect.isawaitable(returned):
        raise EngineError("generate returned an asynchronous iterator; write `async def generate`")
    if not hasattr(returned, "__iter__"):
        raise EngineError(f"generate returned {returned!r:.100}; expected ids: write `yield` for each id")
    return iter(returned)


def iterate(engine: Engine, request: Request, send: "Callable[[list[int]], None]") -> None:
    """Passes the ids of an output to `send` as `generate` yields them, until the request is cancelled."""
    output, ids = Output(request, engine.declaration.vocabulary), _plain_iterator(engine.instance.generate(request))
    try:
        for yielded in ids:
            send(output.take(yielded))
            if request.is_cancelled:
                return
        output.finish()
    finally:
        close = getattr(ids, "close", None)
        if close is not None:
            close()


async def iterate_async(engine: Engine, request: Request, send: "Callable[[list[int]], Awaitable[None]]") -> None:
    """Like `iterate`, for a `generate` that is asynchronous."""
    output = Output(request, engine.declaration.vocabulary)
    ids: Any = engine.instance.generate(request)
    if inspect.isawaitable(ids):
        ids = await ids
    if not hasattr(ids, "__aiter__"):
        for yielded in _plain_iterator(ids):
            await send(output.take(yielded))
            if request.is_cancelled:
                return
        return output.finish()
    try:
        async for yielded in ids:
            await send(output.take(yielded))
            if request.is_cancelled:
                return
        output.finish()
    finally:
        close = getattr(ids, "aclose", None)
        if close is not None:
            await close()
