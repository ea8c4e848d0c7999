#!/usr/bin/env python3
"""Switch between network interfaces whose paths have faults, for kernels without netem.

    relay.py run --control SOCKET [--seed N] INTERFACE INTERFACE…
    relay.py tell SOCKET WORDS…

It forwards each Ethernet frame to the interface of its receiver. Hosts are numbered from 1, in the order of their interfaces. The path
from host A to host B has separate settings. Offloads must be off on all links, so that frames are as on a real link. It needs root.
Commands:

    A B KEY=VALUE…   change settings of the path from A to B; * is every host
    A B clear        remove all faults of that path
    seed N           restart random numbers and counters
    report           print the counters of each path, as one line of JSON

Settings; the others remain unchanged:

    delay=MS          delay of a frame
    jitter=MS         maximum of a random additional delay; frames stay in order
    loss=P            probability that a frame is lost, 0 to 1
    rate=MBIT         rate of the path; 0: unlimited
    queue=FRAMES      maximum number of queued frames (1000); others are dropped
    cut=1             drop all frames
    duplicate=P       probability that a frame is sent twice
    reorder=P         probability that a frame is delayed by 5 ms, so that later frames overtake it
    corrupt=P         probability that a bit of the payload is flipped; the receiver's TCP or UDP checksum detects it
    damage=P          like corrupt, but with a matching checksum, as a bad switch or memory would cause
    after=S, for=S    apply the settings of this command later; restore the previous ones after a time
"""

import collections
import heapq
import itertools
import json
import os
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
HELD_BACK_SECONDS = 0.005
NONE = {
    "delay": 0.0, "jitter": 0.0, "loss": 0.0, "rate": 0.0, "queue": 1000.0, "cut": 0.0,
    "duplicate": 0.0, "reorder": 0.0, "corrupt": 0.0, "damage": 0.0,
}
PROBABILITIES = ("loss", "cut", "duplicate", "reorder", "corrupt", "damage")


def open_port(interface):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    port.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
    port.setblocking(False)
    port.bind((interface, ETH_P_ALL))
    return port


def payload_of(frame):
    """Returns the offsets of transport header, payload, end and checksum of TCP or UDP over IPv4; None for other frames."""
    if len(frame) < 34 or frame[12:14] != b"\x08\x00":
        return None
    transport = 14 + (frame[14] & 15) * 4
    end = 14 + int.from_bytes(frame[16:18], "big")
    if frame[23] == 6:
        payload, checksum = transport + (frame[transport + 12] >> 4) * 4, transport + 16
    elif frame[23] == 17:
        payload, checksum = transport + 8, transport + 6
    else:
        return None
    return (transport, payload, end, checksum) if payload < end <= len(frame) else None


def flip(frame, draw, corrects):
    """Flips a bit of the payload; corrects the checksum if `corrects` is set."""
    parts = payload_of(frame)
    if not parts:
        return frame, False
    transport, payload, end, checksum = parts
    at = payload + int(draw() * (end - payload))
    damaged = bytearray(frame)
    damaged[at] ^= 1 << int(draw() * 8)
    # A UDP checksum of 0 means that the packet has no checksum.
    if corrects and any(frame[checksum:checksum + 2]):
        # RFC 1624: the sum changes by the difference of the word, in which the byte is high or low.
        high = (at - transport) % 2 == 0
        old, new = (byte << 8 if high else byte for byte in (frame[at], damaged[at]))
        total = (int.from_bytes(frame[checksum:checksum + 2], "big") ^ 0xffff) + (old ^ 0xffff) + new
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        damaged[checksum:checksum + 2] = (total ^ 0xffff or 0xffff).to_bytes(2, "big")
    return bytes(damaged), True


class Path:
    """Path from one host to another: a queue, a link, and a delay."""

    def __init__(self, sink, seed):
        self.sink = sink
        self.settings = dict(NONE)
        self.restart(seed)

    def restart(self, seed):
        self.draw = random.Random(seed).random
        self.link_free = 0.0  # time at which the link has sent all frames
        self.queue = collections.deque()  # times at which queued frames leave the link
        self.wire = []  # (arrival time, number, frame)
        self.arrival = 0.0  # arrival time of the last frame that was not reordered
        self.count = collections.Counter()
        self.late = 0.0  # maximum delay of a frame after its due time

    def take(self, frame):
        s, count, draw = self.settings, self.count, self.draw
        count["frames"] += 1
        count["bytes"] += len(frame)
        if len(frame) > LONGEST_FRAME:
            count["too_long"] += 1
        if s["cut"]:
            count["cut"] += 1
            return
        if s["loss"] and draw() < s["loss"]:
            count["lost"] += 1
            return
        for kind in ("corrupt", "damage"):
            if s[kind] and draw() < s[kind]:
                frame, done = flip(frame, draw, kind == "damage")
                count[kind] += done
        self.send(frame)
        if s["duplicate"] and draw() < s["duplicate"]:
            count["duplicate"] += 1
            self.send(frame)

    def send(self, frame):
        s, count, draw = self.settings, self.count, self.draw
        now = time.monotonic()
        if s["rate"]:
            queue = self.queue
            while queue and queue[0] <= now:
                queue.popleft()
            if len(queue) >= s["queue"]:
                count["dropped"] += 1
                return
            now = max(now, self.link_free) + len(frame) * 8 / (s["rate"] * 1e6)
            self.link_free = now
            queue.append(now)
        elif len(self.wire) >= s["queue"]:
            # Without a rate, frames in flight count as the queue.
            count["dropped"] += 1
            return
        due = now + s["delay"] / 1000
        if s["jitter"]:
            due += draw() * s["jitter"] / 1000
        if s["reorder"] and draw() < s["reorder"]:
            count["reorder"] += 1
            due += HELD_BACK_SECONDS
        else:
            self.arrival = due = max(due, self.arrival)
        count["sent"] += 1
        heapq.heappush(self.wire, (due, count["sent"], frame))

    def give(self):
        wire, sink = self.wire, self.sink
        now = time.monotonic()
        for _ in range(BURST):
            if not wire or wire[0][0] > now:
                return
            due, _, frame = heapq.heappop(wire)
            self.late = max(self.late, now - due)
            try:
                sink.send(frame)
            except OSError:
                self.count["dropped"] += 1


class Switch:
    def __init__(self, interfaces, seed):
        self.ports = [open_port(interface) for interface in interfaces]
        hosts = range(len(interfaces))
        # Each path has its own random numbers, so that frames of one do not affect the losses of another.
        self.paths = {
            (a, b): Path(self.ports[b], self.seed_of(seed, a, b)) for a in hosts for b in hosts if a != b
        }
        self.behind = {}  # MAC address -> host
        self.later = []  # (time, number, action)
        self.plans = itertools.count()

    def seed_of(self, seed, a, b):
        return (seed * 64 + a) * 64 + b

    def take(self, host):
        port = self.ports[host]
        for _ in range(BURST):
            try:
                frame = port.recv(65536)
            except BlockingIOError:
                return
            self.behind[frame[6:12]] = host
            to = self.behind.get(frame[0:6])
            # Broadcast, or a receiver that has not sent a frame yet: send to all.
            for other in range(len(self.ports)) if to is None else (to,):
                if other != host:
                    self.paths[host, other].take(frame)

    def tell(self, words):
        if words == ["report"]:
            return json.dumps(self.report())
        if words[0] == "seed" and len(words) == 2:
            for (a, b), path in self.paths.items():
                path.restart(self.seed_of(int(words[1]), a, b))
            return "ok"
        if len(words) < 3:
            raise ValueError("expected: A B KEY=VALUE…, A B clear, seed N, or report")
        paths = self.chosen(*words[:2])
        if words[2:] == ["clear"]:
            self.change(paths, dict(NONE))
            return "ok"
        wanted = {}
        for word in words[2:]:
            key, _, value = word.partition("=")
            wanted[key] = float(value)
            if key not in NONE and key not in ("after", "for"):
                raise ValueError(f"{key}: unknown setting")
            if wanted[key] < 0 or key in PROBABILITIES and wanted[key] > 1:
                raise ValueError(f"{word}: out of range")
        begin, length = wanted.pop("after", 0), wanted.pop("for", None)
        if not wanted:
            raise ValueError("a setting is missing")
        self.plan(begin, lambda: self.change(paths, wanted, length))
        return "ok"

    def chosen(self, a, b):
        def matches(word, host):
            return word == "*" or int(word) == host + 1
        paths = [path for (x, y), path in self.paths.items() if matches(a, x) and matches(b, y)]
        if not paths:
            raise ValueError(f"no path from {a} to {b}; hosts are 1 to {len(self.ports)}")
        return paths

    def change(self, paths, wanted, length=None):
        before = [(path, {key: path.settings[key] for key in wanted}) for path in paths]
        for path in paths:
            path.settings.update(wanted)
        if length is not None:
            self.plan(length, lambda: [path.settings.update(old) for path, old in before])

    def plan(self, seconds, what):
        if seconds == 0:
            what()
        else:
            heapq.heappush(self.later, (time.monotonic() + seconds, next(self.plans), what))

    def due(self):
        """Performs due actions; returns the seconds until the next one or the next frame, or None."""
        while self.later and self.later[0][0] <= time.monotonic():
            heapq.heappop(self.later)[2]()
        heads = [path.wire[0][0] for path in self.paths.values() if path.wire]
        heads += [when for when, _, _ in self.later[:1]]
        return max(0, min(heads) - time.monotonic()) if heads else None

    def report(self):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        # Frames that the kernel dropped because this process did not read them in time.
        missed = [struct.unpack("II", p.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1] for p in self.ports]
        return {
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
            "missed": sum(missed),
            "paths": {
                f"{a + 1}>{b + 1}": dict(path.count, late_ms=round(path.late * 1000, 3))
                for (a, b), path in self.paths.items() if path.count
            },
        }


def run(args):
    control, seed, interfaces = None, 1, []
    args = iter(args)
    for arg in args:
        if arg == "--control":
            control = next(args)
        elif arg == "--seed":
            seed = int(next(args))
        else:
            interfaces.append(arg)
    if not control or len(interfaces) < 2:
        sys.exit("relay.py run --control SOCKET [--seed N] INTERFACE INTERFACE…")
    switch = Switch(interfaces, seed)
    orders = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    orders.bind(control)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.signal(signal.SIGINT, lambda *_: sys.exit())
    try:
        while True:
            ready, _, _ = select.select([*switch.ports, orders], [], [], switch.due())
            for host in range(len(switch.ports)):
                switch.take(host)
            for path in switch.paths.values():
                path.give()
            if orders in ready:
                words, caller = orders.recvfrom(4096)
                try:
                    answer = switch.tell(words.decode().split())
                except (ValueError, IndexError) as error:
                    answer = f"no: {error}"
                if caller:
                    orders.sendto(answer.encode(), caller)
    finally:
        os.unlink(control)


def tell(relay, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mine:
        own = f"{relay}.{os.getpid()}"
        mine.bind(own)
        try:
            mine.settimeout(10)
            mine.sendto(" ".join(words).encode(), relay)
            answer = mine.recv(1 << 20).decode()
        except OSError as error:
            sys.exit(f"the relay does not answer ({error}); is the test bed up?")
        finally:
            os.unlink(own)
    if answer.startswith("no: "):
        sys.exit(answer[4:])
    if answer != "ok":
        print(answer)


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "run":
        run(sys.argv[2:])
    elif len(sys.argv) > 3 and sys.argv[1] == "tell":
        tell(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
