"""Estimates the durations of steps with `loadgen-node plan`."""

import json

from submit.errors import Refused
from submit.files import Files, read_json
from submit.programs import Program, last_error

RULES_MS = 600_000  # minimum duration of a performance run
DIGESTS_MS, DIGESTS_SAMPLES = 60_000, (1000, 470)  # second value: of a rehearsal, for which early stopping requires 459


def planned(files: Files, program: Program) -> dict[tuple[str, str], float]:
    """Returns the seconds of each run, by scenario and purpose; an empty dictionary for an unknown benchmark."""
    if not files.listing:
        return {}
    seconds = {}
    for scenario, conf in files.user_conf.items():
        plan = program.ask("plan", files.benchmark, "--scenario", scenario, "--rate", conf.get("target_qps", "1"), "--json",
                           *files.table)
        if plan.returncode:
            raise Refused(f"loadgen-node plan: {last_error(plan.stderr)}")
        for run in json.loads(plan.stdout)["runs"]:
            if run["scenario"] == scenario:
                seconds[scenario, run["purpose"]] = shortened(files, conf, run)
    return seconds


def shortened(files: Files, conf: dict[str, str], run: dict) -> float:
    """Returns the seconds of a planned run. Rehearsals and runs with digests, which need few samples, are shorter than planned."""
    whole, rate = run["seconds"], run["samples"] / run["seconds"]
    duration = float(conf.get("min_duration", RULES_MS)) / 1000
    if run["purpose"] == "accuracy":
        return (prepared(files) or run["samples"]) / rate
    if run["purpose"] == "digests":
        return min(whole, max(DIGESTS_SAMPLES[files.rehearsal] / rate, 1.1 * min(duration, DIGESTS_MS / 1000)))
    return min(whole, max(whole * 1000 * duration / RULES_MS, int(conf.get("min_query_count", 0)) / rate))


def prepared(files: Files) -> int | None:
    """Returns the number of samples in the data set's manifest; None if it is missing."""
    manifest = files.folder / (str(files.run["dataset"]).split("+")[0] + ".manifest.json")
    samples = read_json(manifest).get("samples")
    return len(samples) if isinstance(samples, list) else None


def words(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
