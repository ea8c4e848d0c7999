"""The worker process of an engine instance: `sut-node` starts it, with the socket as standard input."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from typing import Any

from .errors import EngineError, NodeGone, at_failure, at_function
from .packages import packages, python
from .protocol import BATCH, DECLARED, DONE, FAILED, FAULT, READY, VERSION, Channel, short

PR_SET_PDEATHSIG = 1


def main(start: "dict[str, Any]", node: socket.socket) -> None:
    """Runs an instance until the node ends. `start` is the node's first message."""
    channel = Channel(node)
    # What the engine prints belongs into the node's log, and not between its messages.
    os.dup2(2, 1)
    try:
        _end_with_node(start["parent"], node)
        engine = _load(start, channel)
        if engine is not None:
            _serve(engine, channel)
            _close(engine)
    except EngineError as error:
        why = short(error).decode()
        channel.send_json(FAULT, {"why": why})
    except NodeGone:
        pass


def _load(start: "dict[str, Any]", channel: Channel) -> Any:
    from .declaration import sha256
    from .engine import Context, Engine

    if start["version"] != VERSION:
        raise EngineError(f"the node speaks version {start['version']} of the messages, this worker {VERSION}")
    engine = Engine(start["file"])
    channel.send_json(DECLARED, engine.declaration.attributes())
    if start["declare"]:
        return None
    engine.load(Context(os.path.dirname(engine.path), start["threads"], start["instance"], start["instances"]))
    try:
        digest = "" if start["instance"] else sha256(engine.path, engine.declaration.weights)
    except OSError as error:
        raise EngineError(f"{engine.path}: weights: {error}") from error
    channel.send_json(READY, {"python": python(), "packages": packages(), "sha256": digest})
    return engine


def _serve(engine: Any, channel: Channel) -> None:
    file = channel.receive_memory()
    try:
        if engine.declaration.is_language_model:
            from .language import serve

            serve(engine, channel, file)
        else:
            _serve_batches(engine, channel, file)
    except NodeGone:
        pass


def _serve_batches(engine: Any, channel: Channel, file: int) -> None:
    from .tensors import Slots

    slots, infer = Slots(file, engine.declaration), engine.instance.infer
    while True:
        kind, slot, number, body = channel.receive()
        if kind != BATCH:
            raise ValueError(f"message {kind} in place of a batch")
        samples, *lengths = memoryview(body).cast("I").tolist()
        try:
            returned = infer(slots.batch(slot, samples, lengths))
            try:
                lengths = slots.put(slot, samples, returned)
            except Exception as error:
                raise at_function(infer, error) from error
            finally:
                # The arrays of a batch must not outlive it.
                del returned
        except (Exception, SystemExit) as error:
            channel.send(FAILED, slot, number, short(at_failure(engine.path, error)))
            continue
        body = b"".join(length.to_bytes(4, sys.byteorder) for length in lengths)
        channel.send(DONE, slot, number, body)


def _close(engine: Any) -> None:
    close = getattr(engine.instance, "close", None)
    if callable(close):
        close()


def _end_with_node(parent: int, node: socket.socket) -> None:
    """Makes the kernel end this process with the node, and a guard end all that it has started."""
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
    """Starts a process that ends the group of this one once this one has ended. Returns the pipe by which it knows."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(write)
        node.close()
        os.read(read, 1)
        os.killpg(0, signal.SIGKILL)
    os.close(read)
    return write


def _forked(node: socket.socket, guard: int) -> None:
    """Frees a process that the engine has forked of what belongs to the worker."""
    node.close()
    os.close(guard)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
