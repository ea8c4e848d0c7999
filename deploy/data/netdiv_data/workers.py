"""Makes samples in several processes. Each makes its share, a few samples ahead.

The processes share no lock and no queue, so that each of them can be interrupted or killed at any time without blocking the others.
"""

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import WorkerError

AHEAD = 4  # maximum number of samples of a process that wait in this process
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1  # linux/prctl.h

FORK = multiprocessing.get_context("fork")  # a fork inherits `make` and its items without pickling


class Worker:
    """Process that makes samples."""

    def __init__(self, make: Callable[[Any], Any], items: list[Any]) -> None:
        self.results, results = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=work, args=(make, items, results, os.getpid()))
        self.process.start()
        results.close()  # the pipe then closes when the process ends
        self.made: deque[Any] = deque()
        self.ended = False

    def receive(self) -> None:
        """Receives the next sample, or the end of the process."""
        try:
            self.made.append(self.results.recv())
        except (EOFError, OSError):  # possibly within a sample
            self.ended = True

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.results.close()


def made_in_order(make: Callable[[Any], Any], items: list[Any], jobs: int) -> Iterator[Any]:
    """Yields the result of `make` for each item, in the items' order."""
    if jobs == 1:
        yield from map(make, items)
        return
    workers: list[Worker] = []
    try:
        # A process that has just forked would handle a signal as this process does.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for share in range(min(jobs, len(items))):
            workers.append(Worker(make, items[share::jobs]))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for number in range(len(items)):
            worker = workers[number % jobs]
            while not worker.made:
                if worker.ended:
                    raise WorkerError(f"a process that makes samples {how(worker.process)}")
                receive_some(workers)
            made = worker.made.popleft()
            if isinstance(made, Exception):
                raise made
            yield made
    finally:
        for worker in workers:
            worker.end()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def receive_some(workers: list[Worker]) -> None:
    """Receives samples of the processes that have room ahead; waits for a sample or the end of a process."""
    waited_for = {worker.results: worker for worker in workers if not worker.ended and len(worker.made) < AHEAD}
    for results in wait(list(waited_for)):
        waited_for[results].receive()


def how(process: multiprocessing.process.BaseProcess) -> str:
    """Describes how a process has ended, with a remedy if known."""
    process.join()
    code = process.exitcode or 0
    why = "; memory may be short: use fewer --jobs" if code == -signal.SIGKILL else ""
    return (f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}") + why


def work(make: Callable[[Any], Any], items: list[Any], results: Connection, parent: int) -> None:
    """Makes samples in a separate process, which its parent kills, and which ends if its parent does.

    A process that outlived its parent would keep the folder locked.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    for item in items:
        try:
            made = make(item)
        except Exception as error:  # the parent raises it when it reaches the sample
            made = error
        results.send(made)
