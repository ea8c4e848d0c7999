"""Several processes make samples, each a few ahead of its turn."""

import ctypes
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Interruption:
    """What asks the command to end meanwhile is raised between two samples: raised anywhere, it could leave a lock of the pool
    taken, and the pool would never end."""

    def __enter__(self) -> "Interruption":
        self.asked = False
        self.before = {number: signal.signal(number, self.ask) for number in SIGNALS}
        return self

    def ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def check(self) -> None:
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, error: type[BaseException] | None, *more: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if error is None:
            self.check()


def made_in_order(make: Callable[[Any], list[Any]], items: list[Any], jobs: int) -> Iterator[list[Any]]:
    """What `make` gives of each, in their order."""
    if jobs == 1:
        yield from map(make, items)
        return
    with Interruption() as interruption, ProcessPoolExecutor(jobs, initializer=leave_the_end_to_the_parent) as pool:
        waiting = []
        try:
            for item in items:
                waiting.append(pool.submit(make, item))
                if len(waiting) == 4 * jobs:
                    yield waiting.pop(0).result()
                    interruption.check()
            for future in waiting:
                yield future.result()
                interruption.check()
        finally:
            pool.shutdown(cancel_futures=True)  # and waits: a process that is still at work as Python exits may be waited for forever


def leave_the_end_to_the_parent() -> None:
    """A process that makes samples ends when its parent says so, or with it: what is left would keep the folder locked."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
