#!/usr/bin/env python3
"""A wire between two network interfaces, with delay, loss, a rate and a queue.

It forwards every Ethernet frame that arrives on one interface to the other,
in both directions, for kernels without netem. Offloads must be off on both
links, so that a frame is what a real wire would carry. It needs root.
On SIGTERM or SIGINT it prints what it did, as one line of JSON.
"""

import argparse
import collections
import json
import random
import resource
import select
import signal
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_STATISTICS, PACKET_IGNORE_OUTGOING = 263, 6, 23
ETH_P_ALL = 3
LONGEST_FRAME = 1514
BURST = 64


def open_port(interface):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    port.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
    port.setblocking(False)
    port.bind((interface, ETH_P_ALL))
    return port


class Direction:
    """One way through the wire: a queue before a link, then the delay."""

    def __init__(self, source, sink, args, seed):
        self.source, self.sink = source, sink
        self.random = random.Random(seed).random
        self.delay = args.delay_ms / 1000
        self.loss = args.loss
        self.limit = args.queue_packets
        self.seconds_per_byte = 8 / (args.rate_mbit * 1e6) if args.rate_mbit else 0
        self.link_free = 0.0  # when the link has sent all that it has taken
        self.queue = collections.deque()  # when each waiting frame leaves the link
        self.wire = collections.deque()  # (when it arrives, frame)
        self.frames = self.bytes = self.lost = self.dropped = self.too_long = 0
        self.late = 0.0  # the longest time that a frame left behind its due time

    def take(self):
        for _ in range(BURST):
            try:
                frame = self.source.recv(65536)
            except BlockingIOError:
                return
            size = len(frame)
            self.frames += 1
            self.bytes += size
            if size > LONGEST_FRAME:
                self.too_long += 1
            if self.loss and self.random() < self.loss:
                self.lost += 1
                continue
            now = time.monotonic()
            if self.seconds_per_byte:
                queue = self.queue
                while queue and queue[0] <= now:
                    queue.popleft()
                if len(queue) >= self.limit:
                    self.dropped += 1
                    continue
                now = max(now, self.link_free) + size * self.seconds_per_byte
                self.link_free = now
                queue.append(now)
            elif len(self.wire) >= self.limit:
                # Without a rate there is no queue but the wire itself.
                self.dropped += 1
                continue
            self.wire.append((now + self.delay, frame))

    def give(self):
        wire, sink = self.wire, self.sink
        now = time.monotonic()
        for _ in range(BURST):
            if not wire or wire[0][0] > now:
                return
            due, frame = wire.popleft()
            self.late = max(self.late, now - due)
            try:
                sink.send(frame)
            except OSError:
                self.dropped += 1

    def report(self):
        # What the kernel dropped because this process did not read in time.
        _, missed = struct.unpack("II", self.source.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        return {
            "frames": self.frames, "bytes": self.bytes, "lost": self.lost,
            "dropped": self.dropped, "missed": missed, "too_long": self.too_long,
            "late_ms": round(self.late * 1000, 3),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--left", required=True, metavar="IF")
    parser.add_argument("--right", required=True, metavar="IF")
    parser.add_argument("--delay-ms", type=float, default=0, help="delay each way")
    parser.add_argument("--loss", type=float, default=0, help="probability each way, 0 to 1")
    parser.add_argument("--queue-packets", type=int, default=1000, help="drop what comes beyond")
    parser.add_argument("--rate-mbit", type=float, default=0, help="rate each way; 0: as it comes")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    left, right = open_port(args.left), open_port(args.right)
    ways = [
        Direction(left, right, args, 2 * args.seed),
        Direction(right, left, args, 2 * args.seed + 1),
    ]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.signal(signal.SIGINT, lambda *_: sys.exit())
    begin = time.monotonic()
    try:
        while True:
            heads = [way.wire[0][0] for way in ways if way.wire]
            wait = max(0, min(heads) - time.monotonic()) if heads else None
            select.select([left, right], [], [], wait)
            for way in ways:
                way.take()
                way.give()
    finally:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        seconds = time.monotonic() - begin
        print(json.dumps({
            "seconds": round(seconds, 3),
            "cpu": round((usage.ru_utime + usage.ru_stime) / seconds, 3),
            "left_to_right": ways[0].report(),
            "right_to_left": ways[1].report(),
        }), flush=True)


if __name__ == "__main__":
    main()
