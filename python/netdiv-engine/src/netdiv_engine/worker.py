"""The worker process of an engine instance: `sut-node` starts it, with the socket as standard input."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import socket
import sys
import time
from typing import Any, Callable

from .errors import EngineError, NodeGone
from .packages import packages, python
from .protocol import BATCH, DECLARED, DONE, FAILED, FAULT, READY, VERSION, Channel, short

PR_SET_PDEATHSIG = 1

#: Variable by which the processes that a worker has started are found. The node sets it.
MARK = "SUT_NODE_WORKER"


def main(start: "dict[str, Any]", node: socket.socket) -> None:
    """Runs an instance until the node ends. `start` is the node's first message."""
    channel = Channel(node)
    # What the engine prints belongs into the node's log, and not between its messages.
    os.dup2(2, 1)
    try:
        _end_with_node(start["parent"], node)
        engine, digest = _load(start, channel)
        if engine is not None:
            _serve(engine, channel, digest, start["max_batch"])
            _close(engine)
    except EngineError as error:
        why = short(error).decode()
        channel.send_json(FAULT, {"why": why})
    except NodeGone:
        pass


def _load(start: "dict[str, Any]", channel: Channel) -> "tuple[Any, str]":
    """Returns the engine and its SHA-256, or no engine if the node asks for the declaration alone."""
    from .declaration import sha256
    from .engine import Context, Engine

    if start["version"] != VERSION:
        raise EngineError(f"the node speaks version {start['version']} of the messages, this worker {VERSION}")
    engine = Engine(start["file"])
    channel.send_json(DECLARED, engine.declaration.attributes())
    if start["declare"]:
        return None, ""
    engine.load(Context(os.path.dirname(engine.path), start["threads"], start["instance"], start["instances"]))
    try:
        digest = "" if start["instance"] else sha256(engine.path, engine.declaration.weights)
    except OSError as error:
        raise EngineError(f"{engine.path}: weights: {error}") from error
    return engine, digest


def _serve(engine: Any, channel: Channel, digest: str, max_batch: int) -> None:
    def ready(*tried: str) -> None:
        facts = {"python": python(), "packages": packages(), "sha256": digest, "tried": tried}
        channel.send_json(READY, facts)

    file = channel.receive_memory()
    try:
        if engine.declaration.is_language_model:
            from .language import serve

            serve(engine, channel, file, ready)
        else:
            _serve_batches(engine, channel, file, max_batch, ready)
    except NodeGone:
        pass


def _serve_batches(engine: Any, channel: Channel, file: int, max_batch: int, ready: "Callable[..., None]") -> None:
    from .tensors import Slots
    from .trial import run_batch, try_batches

    slots = Slots(mmap.mmap(file, 0), engine.declaration)
    ready(*try_batches(engine, slots, max_batch, channel.report_trial))
    while True:
        kind, slot, number, body = channel.receive()
        if kind != BATCH:
            raise ValueError(f"message {kind} in place of a batch")
        samples, *lengths = memoryview(body).cast("I").tolist()
        try:
            words = run_batch(engine, slots, slot, samples, lengths)
        except EngineError as error:
            channel.send(FAILED, slot, number, short(error))
            continue
        body = b"".join(word.to_bytes(4, sys.byteorder) for word in words)
        channel.send(DONE, slot, number, body)


def _close(engine: Any) -> None:
    close = getattr(engine.instance, "close", None)
    if callable(close):
        close()


def _end_with_node(parent: int, node: socket.socket) -> None:
    """Makes the kernel end this process with the node, and a guard end all that this one has started."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise EngineError(
            f"the node did not start {sys.executable} itself, or has ended; --python needs an interpreter, or a script that ends "
            "with exec"
        )
    # A signal to the whole group or service is for the node, which drains first.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    guard = _start_guard(node)
    os.register_at_fork(after_in_child=lambda: _forked(node, guard))


def _start_guard(node: socket.socket) -> int:
    """Starts a process that ends all that this one has started, once this one has ended. Returns the pipe by which it knows."""
    worker = os.getpid()
    read, write = os.pipe()
    if os.fork() == 0:
        # The node ends the worker's group.
        os.setpgid(0, 0)
        os.close(write)
        node.close()
        os.read(read, 1)
        _end_all(worker)
        os._exit(0)
    os.close(read)
    return write


def _end_all(group: int) -> None:
    """Ends a group of processes, and those with this one's mark in their environment, which may have groups of their own."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    # A process may start others until it ends.
    for _ in range(100):
        marked = [process for process in _processes() if mark in _environment(process)]
        for process in [-group, *marked]:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
        if not marked:
            return
        time.sleep(0.01)


def _processes() -> "list[int]":
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _environment(process: int) -> "list[bytes]":
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        # It has ended, or belongs to another user.
        return []


def _forked(node: socket.socket, guard: int) -> None:
    """Frees a process that the engine has forked of what belongs to the worker."""
    node.close()
    os.close(guard)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
