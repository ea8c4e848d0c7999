"""Checks an engine's file without a node: `python -m netdiv_engine my_engine.py --check`."""

from __future__ import annotations

import argparse
import asyncio
import mmap
import os
import sys
import time

from .engine import Context, Engine
from .errors import EngineError
from .iterators import is_async
from .tensors import Slots
from .trial import PromptTrial, try_batches


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
            trial = PromptTrial(engine)
            print(asyncio.run(trial.run_async()) if is_async(engine) else trial.run())
        else:
            slots = Slots(mmap.mmap(-1, Slots.size(engine.declaration)), engine.declaration)
            print("\n".join(try_batches(engine, slots, engine.declaration.max_batch)))
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
