"""Several processes make samples, each its share of them, a few ahead of their turn.

They share no lock and no queue, so that one of them, or this one, can be interrupted or killed anywhere, and none waits for it."""

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from .errors import WorkerError

AHEAD = 4  # samples of a process that wait for their turn here
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PR_SET_PDEATHSIG = 1  # linux/prctl.h

FORK = multiprocessing.get_context("fork")  # what is to be made is there at once


class Worker:
    """A process that makes samples."""

    def __init__(self, make: Callable[[Any], Any], items: list[Any]) -> None:
        self.results, results = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=work, args=(make, items, results, os.getpid()))
        self.process.start()
        results.close()  # so that the pipe ends with the process
        self.made: deque[Any] = deque()
        self.ended = False

    def receive(self) -> None:
        """Takes the next sample, or the end."""
        try:
            self.made.append(self.results.recv())
        except (EOFError, OSError):  # also within a sample
            self.ended = True

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.results.close()


def made_in_order(make: Callable[[Any], Any], items: list[Any], jobs: int) -> Iterator[Any]:
    """What `make` gives of each, in their order."""
    if jobs == 1:
        yield from map(make, items)
        return
    workers: list[Worker] = []
    try:
        # One that has just begun would do as this process does.
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
    """Waits for samples that there is room for, or for the end of a process."""
    waited_for = {worker.results: worker for worker in workers if not worker.ended and len(worker.made) < AHEAD}
    for results in wait(list(waited_for)):
        waited_for[results].receive()


def how(process: multiprocessing.process.BaseProcess) -> str:
    """How it has ended."""
    process.join()
    code = process.exitcode or 0
    why = "; memory may be short: give fewer --jobs" if code == -signal.SIGKILL else ""
    return (f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}") + why


def work(make: Callable[[Any], Any], items: list[Any], results: Connection, parent: int) -> None:
    """Makes samples in a process of its own, which ends when its parent says so, or with it: what is left would keep the folder
    locked."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    for item in items:
        try:
            made = make(item)
        except Exception as error:  # it is raised where the sample is waited for
            made = error
        results.send(made)
