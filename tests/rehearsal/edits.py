"""Fails unless `check` detects edits of a seed, a bound and a field in a tree: edits.py LOADGEN-NODE TREE DIVISION"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def findings(program: str, tree: Path) -> set[tuple[str, str]]:
    """Returns the violations in a tree, by rule and text."""
    asked = subprocess.run([program, "check", str(tree), "--json"], capture_output=True, text=True)
    judgements = json.loads(asked.stdout)["judgements"]
    return {(one["rule"], one["text"]) for judgement in judgements for one in judgement["findings"] if one["outcome"] == "fail"}


def one(tree: Path, pattern: str) -> Path:
    return min(tree.glob(pattern))


def replaced(file: Path, pattern: str, new: str) -> None:
    text = file.read_text()
    changed = re.sub(pattern, new, text, count=1)
    assert changed != text, f"{file} has no {pattern}"
    file.write_text(changed)


BOUND = "a bound of LoadGen's log"
EDITS = {
    "a seed of LoadGen's log": lambda tree: replaced(
        one(tree, "**/Offline/performance/run_1/mlperf_log_detail.txt"), r'("effective_qsl_rng_seed", "value": )\d+', r"\g<1>1"),
    BOUND: lambda tree: replaced(
        one(tree, "**/Server/performance/run_1/mlperf_log_detail.txt"), r'("requested_server_(?:ttft|target)_latency\w*", "value": )\d+', r"\g<1>9000000000"),
    "a field of the system": lambda tree: replaced(one(tree, "*/*/systems/*.json"), r'("number_of_nodes": )"\d+"', r'\g<1>"72"'),
}


def main() -> int:
    program, tree, division = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    before, unseen = findings(program, tree), []
    edits = EDITS if any(tree.glob("**/Server/performance")) else {what: edit for what, edit in EDITS.items() if what != BOUND}
    for what, edit in edits.items():
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "tree"
            shutil.copytree(tree, copy, symlinks=True)
            edit(copy)
            new = findings(program, copy) - before
            print(f"{what}: {', '.join(sorted({rule for rule, _ in new})) or 'NOT DETECTED'}")
            unseen += [] if new else [what]
    print(f"check detects every edit of the {division} tree" if not unseen else "check misses an edit")
    return int(bool(unseen))


if __name__ == "__main__":
    sys.exit(main())
