"""Group 3: language models on the token engine: outputs, tokens per second, TTFT and TPOT."""

from pathlib import Path

import numpy as np

from kit import language, programs
from kit.settings import Settings
from kit.step import Result, Skip, step

NEAR = {"fp32": 0.01, "bf16": 0.1}  # nats; closer choices are both right
MS = 1_000_000  # ns in a millisecond
MORE = ("--benchmark", "kit", "--setting=use_token_latencies=true")  # options of runs that LoadGen judges by tokens
WAVES = 8  # outputs of each slot, enough to keep all slots busy


def needs_the_engine() -> None:
    if not language.EXPORTER.exists():
        raise Skip("this kit has no exporter of language models (deploy/models/export_language_model.py)")


def half_of(s: Settings) -> str:
    """Returns the precision of the steps that measure speed."""
    return "bf16" if s.cuda else "fp32"


def lengths(s: Settings) -> tuple[int, int]:
    """Returns the maximum lengths of prompts and outputs, for which several steps share a model."""
    return s.pick((256, 48), (96, 12))


def settings(s: Settings, manifest: Path) -> Path:
    """Writes settings of a node with the token engine, which forms no batches; returns their path."""
    return programs.config(s, manifest, "tokens", batch_timeout=None)


def same_outputs(r: Result, what: str, decoder: language.Decoder, rows: list[np.ndarray], got: list[np.ndarray],
                 want: np.ndarray) -> None:
    """Expects Python's ids after the prompts `rows`. Another id is right too if it is nearly tied with Python's."""
    r.expect(all(len(ids) == want.shape[1] for ids in got), f"{what}: {len(got)} outputs have {want.shape[1]} ids")
    apart, far = 0, 0.0
    for row, ids, wanted in zip(rows, got, want):
        at = np.flatnonzero(ids != wanted[:len(ids)])
        if len(at):
            apart += 1
            far = max(far, decoder.behind(row, wanted[:at[0]], int(ids[at[0]])))
    r.figure(f"{what}: outputs other than Python's", apart)
    r.figure(f"{what}: least likely other choice, nats behind", far)
    r.expect(far <= NEAR[decoder.precision], f"{what}: outputs equal Python's, up to nearly tied choices")


def offline_rate(s: Settings, r: Result, node: programs.Node, data: Path, slots: int) -> float:
    """Runs Offline for a node with `slots` slots. Returns the tokens per second."""
    result, _ = programs.run(s, node.address, "offline", data, "tokens-offline", *MORE, offline_expected_qps=1,
                             server_ttft_latency=60_000 * MS, server_tpot_latency=60_000 * MS,
                             min_duration_ms=1000, min_query_count=slots * WAVES)
    r.expect(result["samples"]["completed"] == slots * WAVES, f"{slots} slots: Offline completes {WAVES} outputs for each slot")
    r.figure(f"{slots} slots: Offline, tokens/s", result["token_metric"]["value"])
    return result["token_metric"]["value"]


@step(group=3, seconds=230)
def tokens_answers(s: Settings, r: Result) -> None:
    """Compares outputs with Python's greedy ones at fp32 and bf16, with 1, 8 and 32 slots that prompts of different lengths share."""
    needs_the_engine()
    longest, most = lengths(s)
    data, rows = language.prompts(s, "tokens-answers", s.pick(64, 24), (3, longest))
    for precision, slots in (("fp32", s.pick((1, 8, 32), (1, 8))), ("bf16", s.pick((8, 32), (8,)))):
        manifest = language.exported(s, precision, 1, longest, most)
        decoder = language.Decoder(s, manifest, precision)
        want = np.concatenate([decoder.outputs([row], most)[0] for row in rows])
        r.expect(len(np.unique(want, axis=0)) > 1, f"{precision}: outputs differ between prompts, so that the comparison is meaningful")
        for count in slots:
            manifest = language.exported(s, precision, count, longest, most)
            with programs.Node(s, settings(s, manifest)) as node:
                got = [np.frombuffer(x, "<i4") for x in programs.responses(s, node, data, "tokens")]
            same_outputs(r, f"{precision}, {count} slots", decoder, rows, got, want)
        del decoder
        free_memory(s)


@step(group=3, seconds=70)
def tokens_lengths(s: Settings, r: Result) -> None:
    """Measures TTFT and TPOT of prompts of many lengths, each several times: a length that stalls a step raises TTFT."""
    needs_the_engine()
    count = s.pick(200, 40)
    manifest = language.exported(s, half_of(s), s.pick(32, 8), *lengths(s))
    data = language.saved(s, "tokens-lengths", [np.arange(8, 8 + length, dtype="<i4") for length in range(1, count + 1)])
    with programs.Node(s, settings(s, manifest)) as node:
        result, _ = programs.run(s, node.address, "server", data, "tokens-lengths", *MORE, server_target_qps=s.pick(40, 20),
                                 min_query_count=s.pick(4, 1) * count, min_duration_ms=1000,
                                 server_ttft_latency=60_000 * MS, server_tpot_latency=60_000 * MS)
    latency = result["loadgen_latency_ns"]
    for label, kind in (("TTFT", "first_token"), ("TPOT", "further_token")):
        p50, p99 = (latency[f"{kind}_{percentile}"] / MS for percentile in ("50.00", "99.00"))
        r.figure(f"{label} p50, ms", p50)
        r.figure(f"{label} p99, ms", p99)
        r.figure(f"{label} p50 to p99", p50 / p99)
    r.expect(result["samples"]["lost"] == 0, "no samples are lost")


@step(group=3, seconds=240)
def tokens_speed(s: Settings, r: Result) -> None:
    """Measures tokens per second by the number of slots, compared with a bare loop in Python over batches; TTFT and TPOT."""
    needs_the_engine()
    precision, (prompt, output) = half_of(s), s.pick((128, 128), (32, 16))
    sizes, ratios = s.pick((1, 8, 32, 64, 128), (1, 8)), []
    manifest = language.exported(s, precision, 1, prompt, output)
    decoder, loops = language.Decoder(s, manifest, precision), {}
    for slots in sizes:
        _, rows = language.prompts(s, "tokens-speed", slots, (prompt // 4, prompt))
        decoder.outputs(rows, 4)
        loops[slots] = slots * output / decoder.outputs(rows, output)[1]
        r.figure(f"{slots} slots: Python loop, tokens/s", loops[slots])
    del decoder  # the node needs the memory
    free_memory(s)
    for slots in sizes:
        manifest = language.exported(s, precision, slots, prompt, output)
        data, _ = language.prompts(s, f"tokens-{slots}", slots * 4, (prompt // 4, prompt))
        with programs.Node(s, settings(s, manifest)) as node:
            rate = offline_rate(s, r, node, data, slots)
            ratios.append(rate / loops[slots])
            r.figure(f"{slots} slots: Offline to the Python loop", ratios[-1])
            r.figure("minimum of Offline to the Python loop", min(ratios))
            r.covers(f"{sizes[0]} to {slots} slots")
            if slots == 1:
                continue  # one output at a time: LoadGen's queries would take minutes
            result, _ = programs.run(s, node.address, "server", data, "tokens-server", *MORE,
                                     server_target_qps=0.5 * rate / output, min_duration_ms=s.pick(5000, 1500),
                                     server_ttft_latency=60_000 * MS, server_tpot_latency=60_000 * MS, min_query_count=10)
            latency = result["loadgen_latency_ns"]
            for label, kind in (("TTFT", "first_token"), ("TPOT", "further_token")):
                p50, p99 = (latency[f"{kind}_{percentile}"] / MS for percentile in ("50.00", "99.00"))
                r.figure(f"{slots} slots: Server at half that rate, {label} p50, ms", p50)
                r.figure(f"{slots} slots: Server at half that rate, {label} p99, ms", p99)
            r.expect(result["samples"]["lost"] == 0, f"{slots} slots: no samples are lost")
    alone = output * programs.bench(s, settings(s, manifest), data, s.pick(5, 1))
    r.figure(f"{slots} slots: in one process, tokens/s", alone)
    r.figure("Offline to in one process, maximum number of slots", rate / alone)


def free_memory(s: Settings) -> None:
    """Returns memory that Python's torch caches to the device."""
    if s.cuda:
        import torch

        torch.cuda.empty_cache()
