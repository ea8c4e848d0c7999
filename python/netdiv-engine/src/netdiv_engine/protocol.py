"""Messages between a node and a worker, over a Unix socket that keeps messages apart, and the memory that they share.

A message is a head of 16 bytes (kind, slot, number) and a body. Numbers have the byte order of the machine. The first message
of each side and those about faults are JSON. `message.rs` is the node's side.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

from .errors import EngineError, NodeGone

#: Version of these messages; node and worker are built together.
VERSION = 2

HEAD = struct.Struct("=IIQ")

#: Maximum length of a message.
MAX_MESSAGE = 128 << 10

# From the node.
START, MEMORY, BATCH, GENERATE, CANCEL = 1, 2, 3, 4, 5
# From the worker.
DECLARED, READY, FAULT, DONE, FAILED, TOKENS, ENDED, TRYING = 11, 12, 13, 14, 15, 16, 17, 18

#: Body of GENERATE: maximum number of output tokens, and the seed, or NO_SEED.
LIMITS = struct.Struct("=II")
NO_SEED = 2**32 - 1

#: A part of TOKENS: slot and number of ids, which follow.
PART = struct.Struct("=II")


class Channel:
    """The worker's end of the socket."""

    def __init__(self, node: socket.socket) -> None:
        self.node = node

    def receive(self) -> "tuple[int, int, int, bytes]":
        """Waits for a message. Raises NodeGone."""
        try:
            return _parse(self.node.recv(MAX_MESSAGE))
        except ConnectionError:
            raise NodeGone from None

    def receive_memory(self) -> int:
        """Waits for MEMORY. Returns the file of the memory. Raises NodeGone."""
        try:
            message, files, _, _ = socket.recv_fds(self.node, MAX_MESSAGE, 1)
        except ConnectionError:
            raise NodeGone from None
        kind, _, _, _ = _parse(message)
        if kind != MEMORY or len(files) != 1:
            raise ValueError(f"message {kind} with {len(files)} files in place of the memory")
        return files[0]

    def send(self, kind: int, slot: int = 0, number: int = 0, body: bytes = b"") -> None:
        """Sends a message; waits while the node does not read. Raises NodeGone."""
        try:
            self.node.send(HEAD.pack(kind, slot, number) + body)
        except ConnectionError:
            raise NodeGone from None

    def report_trial(self) -> None:
        """Reports that the trial begins or makes progress: the node limits the time until the next report. Raises NodeGone."""
        self.send(TRYING)

    def send_json(self, kind: int, body: "dict[str, Any]") -> None:
        encoded = json.dumps(body).encode()
        if len(encoded) > MAX_MESSAGE - HEAD.size:
            raise EngineError(f"a message has {len(encoded)} bytes in JSON; at most {MAX_MESSAGE - HEAD.size} fit")
        self.send(kind, body=encoded)


def _parse(message: bytes) -> "tuple[int, int, int, bytes]":
    if len(message) < HEAD.size:
        raise NodeGone
    kind, slot, number = HEAD.unpack_from(message)
    return kind, slot, number, message[HEAD.size:]


def short(error: BaseException) -> bytes:
    """Returns the text of an error as the body of a message."""
    return str(error)[:4096].encode("utf-8", "replace")
