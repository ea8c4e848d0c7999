"""Reproduces the gaps of the official submission checker that the reports in this folder describe: reproduce.py MLCOMMONS

MLCOMMONS is a checkout of mlcommons/inference. For each gap, the script edits a tree according to the report and runs the checker. Exit
code 0: the checker still accepts all edits; 1: it rejects one of them, whose report is outdated. The script needs numpy, pandas and pyyaml.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DETAIL = "**/performance/run_1/mlperf_log_detail.txt"
NUMBER = r'("key": "{}", "value": )\d+'

# Tree and round of each report, the edited files, and the edits.
REPORTS = {
    "interactive-bounds.md": ("interactive", "v5.1", "**/Interactive/performance/run_1/mlperf_log_detail.txt", {
        NUMBER.format(r"result_first_token_99\.00_percentile_latency_ns"): r"\g<1>1900000000",
        NUMBER.format(r"result_time_(?:per|to)_output_token_99\.00_percentile_ns"): r"\g<1>190000000",
    }),
    "invalid-results.md": ("offline", "v6.1", DETAIL, {r'("key": "result_validity", "value": )"VALID"': r'\g<1>"INVALID"'}),
    "unknown-loadgen.md": ("offline", "v6.1", DETAIL, {r'("key": "loadgen_version", "value": )"[^"]*"': r'\g<1>"0.0.1 @ 0000000000"'}),
    "equal-issue.md": ("language", "v6.0", DETAIL, {r'("key": "effective_sample_concatenate_permutation", "value": )true': r"\g<1>false"}),
}


def edit(tree: Path, files: str, edits: dict[str, str]) -> None:
    for file in tree.glob(files):
        text = file.read_text()
        for pattern, new in edits.items():
            text, count = re.subn(pattern, new, text)
            assert count, f"{file} has no {pattern}"
        file.write_text(text)


def is_accepted(checker: Path, tree: Path, version: str) -> bool:
    command = [sys.executable, "-m", "submission_checker.main", "--input", str(tree), "--version", version]
    judged = subprocess.run(command, cwd=checker, capture_output=True, text=True)
    return "SUMMARY: submission looks OK" in judged.stdout + judged.stderr


def main() -> int:
    checker, found = Path(sys.argv[1]).absolute() / "tools" / "submission", 0
    for report, (name, version, files, edits) in REPORTS.items():
        with tempfile.TemporaryDirectory() as folder, tarfile.open(HERE / "trees.tar.xz") as trees:
            trees.extractall(folder, filter="data")
            tree = Path(folder) / name
            assert is_accepted(checker, tree, version), f"the checker rejects the unedited tree {name}"
            edit(tree, files, edits)
            accepted = is_accepted(checker, tree, version)
            print(f"{report}: {'submission looks OK' if accepted else 'rejected'}")
            found += not accepted
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
