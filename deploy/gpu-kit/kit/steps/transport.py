"""Group 7: scaling of the transport with the machine's cores. It needs no device."""

import json

from kit import programs
from kit.settings import Settings
from kit.step import Result, step

SIZES = (64, 150_528)  # bytes: a small message, and ResNet50's


def grows(s: Settings, r: Result, transport: str) -> None:
    """Measures messages per second to a node without an engine: 1, 2, 4 and 8 threads at both ends, and as many connections."""
    one: dict[int, float] = {}
    for threads in s.pick((1, 2, 4, 8), (1, 2)):
        words = ("--engine", "none", "--io-threads", str(threads))
        with programs.Node(s, *words) as node:
            folder = programs.run_folder(s, f"fabric-{transport}")
            programs.ask(s, "loadgen-node", "fabric", "--nodes", node.address, "--transport", transport,
                         "--io-threads", str(threads), "--connections", str(threads), "--output", str(folder),
                         "--sizes", ",".join(map(str, SIZES)), "--duration", s.pick("1500ms", "200ms"),
                         "--warm-up", s.pick("500ms", "0s"), "--rounds", "1", codes=(0, 1))
            found = json.loads((folder / "fabric.json").read_text())
            for line in found["bandwidth"]:
                if line["direction"] != "to nodes":
                    continue
                size, rate = line["message_bytes"], line["total"]["messages_per_second"]
                one.setdefault(size, rate)
                r.figure(f"{size} B, {threads} threads: thousand messages/s", rate / 1000)
                r.figure(f"{size} B, {threads} threads: to one thread", rate / one[size])
            for trip in found["round_trips"]:
                r.figure(f"{trip['message_bytes']} B, {threads} threads: round trip p50, µs", trip["p50_ns"] / 1000)
            for size in SIZES:
                count = s.pick({64: 3_000_000, 150_528: 60_000}, {64: 30_000, 150_528: 2_000})[size]
                result, _ = programs.run(s, node.address, "offline", f"synthetic:1000x{size}", f"{transport}-{size}",
                                         "--transport", transport, "--io-threads", str(threads),
                                         "--connections", str(threads), offline_expected_qps=count, min_duration_ms=1000)
                rate = result["metric"]["value"] / 1000
                r.figure(f"{size} B, {threads} threads: LoadGen Offline, thousand samples/s", rate)
                r.expect(result["samples"]["lost"] == 0, f"{size} B, {threads} threads: no samples are lost")


@step(group=7, seconds=220, needs_device=False)
def transport_grpc(s: Settings, r: Result) -> None:
    """Measures gRPC with 1, 2, 4 and 8 I/O threads at both ends, and messages of 64 B and 150,528 B, without an engine."""
    grows(s, r, "grpc")


@step(group=7, seconds=220, needs_device=False)
def transport_quic(s: Settings, r: Result) -> None:
    """Measures QUIC with 1, 2, 4 and 8 I/O threads at both ends, and messages of 64 B and 150,528 B, without an engine."""
    grows(s, r, "quic")
