"""Checks an engine's file without a node: `python -m netdiv_engine my_engine.py --check`."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import os
import sys
import tempfile
import time
from typing import Any

import numpy as np

from .engine import Context, Engine, Request
from .errors import EngineError, at_failure, at_function
from .language import is_async, plain_iterator
from .outputs import Output
from .tensors import Slots

#: Number of tokens of the prompt that the check sends.
PROMPT_TOKENS = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m netdiv_engine", description="Checks an engine's file without a node.")
    parser.add_argument("file", help="the engine's file")
    parser.add_argument("--check", action="store_true", required=True, help="load the engine, and run a batch or a prompt")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="processor threads [default: all]")
    args = parser.parse_args()
    try:
        engine = Engine(args.file)
        begun = time.monotonic()
        engine.load(Context(os.path.dirname(engine.path), args.threads, 0, 1))
        print(f"{engine.declaration.name}: loaded in {time.monotonic() - begun:.1f} s")
        if engine.declaration.is_language_model:
            print(asyncio.run(_prompt(engine)))
        else:
            for samples in sorted({1, engine.declaration.max_batch}):
                print(_batch(engine, samples))
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _batch(engine: Engine, samples: int) -> str:
    with tempfile.TemporaryFile() as file:
        file.truncate(Slots.size(engine.declaration))
        slots = Slots(file.fileno(), engine.declaration)
        lengths = [length for region in slots.inputs for length in region.longest_free() * samples]
        begun = time.monotonic()
        try:
            returned = engine.instance.infer(slots.batch(0, samples, lengths))
        except Exception as error:
            raise at_failure(engine.path, error) from error
        try:
            slots.put(0, samples, returned)
        except Exception as error:
            raise at_function(engine.instance.infer, error) from error
    return f"a batch of {samples} zeros: {1000 * (time.monotonic() - begun):.2f} ms"


async def _prompt(engine: Engine) -> str:
    known = engine.declaration
    ids = np.full(min(PROMPT_TOKENS, known.max_input_tokens), known.vocabulary // 2, np.int32)
    output, begun, first = Output(known), time.monotonic(), 0.0
    try:
        returned: Any = engine.instance.generate(Request(ids, known))
        if is_async(engine) and inspect.isawaitable(returned):
            returned = await returned
        if is_async(engine) and hasattr(returned, "__aiter__"):
            async for yielded in returned:
                first = first or time.monotonic() - begun
                output.take(yielded)
        else:
            for yielded in plain_iterator(returned):
                first = first or time.monotonic() - begun
                output.take(yielded)
        output.finish()
    except Exception as error:
        raise engine.placed(engine.instance.generate, error) from error
    whole = time.monotonic() - begun
    return f"a prompt of {len(ids)} tokens: {output.count} tokens, the first after {1000 * first:.2f} ms, all after {1000 * whole:.2f} ms"


if __name__ == "__main__":
    sys.exit(main())
