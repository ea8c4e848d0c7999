"""Runs `loadgen-node check` on published submissions and prints a table: submitter, round, and number of findings by rule.

    python3 tests/published/published.py PROGRAM TREE... [--missing FILE]

A TREE is a folder with divisions (closed/, network/, open/), or a submitter's folder in one. Files that are missing in the copy are Git
LFS pointers, and the paths in FILE, one per line. Findings that are only about missing files are listed separately and not counted.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

DIVISIONS = ("closed", "network", "open")
POINTER = b"version https://git-lfs.github.com/spec/"
# Rules that fire for more submitters than this need a reason in docs/RULES.md.
FEW = 3


def submitters(tree: Path) -> list[Path]:
    """Returns the submitters' folders of a tree, or the folder itself."""
    divisions = [tree / name for name in DIVISIONS if (tree / name).is_dir()]
    if not divisions:
        return [tree.resolve()]
    return sorted(folder for division in divisions for folder in division.iterdir() if folder.is_dir())


def check(program: str, folder: Path) -> tuple[dict, int]:
    """Returns the judgement of a submitter, and the number of lines of the report for readers."""
    def run(*options):
        done = subprocess.run([program, "check", str(folder), *options], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{folder}: {done.stderr.strip()}")
        return done.stdout

    (judgement,) = json.loads(run("--json"))["judgements"]
    return judgement, len(run().splitlines())


def is_pointer(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(POINTER)) == POINTER
    except OSError:
        return False


class Row:
    """Findings of a submitter."""

    def __init__(self, tree: Path, judgement: dict, lines: int, missing: set[str]):
        self.name, self.lines = f"{tree.name} {judgement['subject']}", lines
        self.round = f"{judgement['round']['name']} ({judgement['round']['by']})"
        self.broken, self.open, self.lacking = defaultdict(list), Counter(), []
        for finding in judgement["findings"]:
            places = finding["places"]
            lacks = places and all(place in missing or is_pointer(tree / place) for place in places)
            if finding["outcome"] == "fail":
                (self.lacking if lacks else self.broken[finding["rule"]]).append(finding)
            elif finding["outcome"] == "cannot-tell":
                self.open[finding["rule"]] += 1


def number(rule: str) -> int:
    return int(rule[1:])


def table(rows: list[Row]) -> str:
    """Returns the table, the rules that fire often, and the findings about missing files."""
    rules = sorted({rule for row in rows for rule, found in row.broken.items() if found}, key=number)
    head = ["submitter", "round", "lines", *rules, "cannot tell"]
    text = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        counts = [str(len(row.broken[rule])) if row.broken[rule] else "" for rule in rules]
        unknown = " ".join(sorted(row.open, key=number))
        text.append(f"| {' | '.join([row.name, row.round, str(row.lines), *counts, unknown])} |")
    for rule in rules:
        hit = [row for row in rows if row.broken[rule]]
        if len(hit) > FEW:
            example = hit[0].broken[rule][0]["text"].splitlines()[0]
            text.append(f"\n{rule} fires for {len(hit)} submitters, such as: {example}")
    lacking = [(row.name, finding) for row in rows for finding in row.lacking]
    if lacking:
        text.append("\nNot counted, since they are about missing files:")
        for name, finding in lacking:
            text.append(f"- {name}: {finding['rule']}: {finding['text'].splitlines()[0]} ({len(finding['places'])} places)")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    parser.add_argument("--missing", type=Path, metavar="FILE")
    options = parser.parse_args()
    missing = set(options.missing.read_text().split("\n")) if options.missing else set()
    rows = []
    for tree in options.trees:
        if not tree.is_dir():
            parser.error(f"{tree}: no such folder")
        for folder in submitters(tree):
            root = folder.parent.parent
            judgement, lines = check(options.program, folder)
            rows.append(Row(root, judgement, lines, missing))
    print(table(rows))


if __name__ == "__main__":
    main()
