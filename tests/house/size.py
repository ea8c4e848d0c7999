"""Prints the size of each crate: its Rust files, and their lines of code, comments, blanks and tests.

Tests are files in `tests/` and `benches/`, items under `#[cfg(test)]`, and files of modules that are declared under it.

    python3 tests/house/size.py [COMMIT]...       default: the current files
    python3 tests/house/size.py --ceiling         fails if the product has more lines than CEILING
"""

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

HOME = Path(__file__).resolve().parents[2]

# Rows of the table: a name, and the folders of its crates. A file belongs to the deepest folder that contains it.
CRATES = {
    "rules": ["loadgen-node/rules"],
    "sut-node": ["sut-node"],
    "loadgen-node": ["loadgen-node"],
    "transport": ["proto/transport"],
    "qdl": ["qdl"],
    "engine-torch": ["sut-node/engine-torch"],
    "plugin": ["sut-node/plugin"],
    "process": ["proto/process", "proto/node-common/src/process"],
    "contract": ["proto/contract"],
    "dataset": ["proto/dataset"],
    "doctor + evidence": ["proto/doctor", "proto/evidence", "proto/machine"],
    "loadgen-sys": ["loadgen-node/loadgen-sys"],
    "words + resources": ["proto/words", "proto/resources", "proto/node-common"],
    "metrics + traces": ["proto/metrics", "proto/traces", "proto/node-common/src/metrics"],
    "tests + fuzz": ["tests"],
    "tools": ["tools"],
}
SHORT = 40  # lines
# Maximum number of product lines without tools. A change that needs more raises it in its commit, with the reason.
CEILING = 85_813
CFG_TEST = re.compile(r"#\[cfg\((?:test|all\(test\b.*)\)\]")
COLUMNS = ["crate", "files (<40)", "code", "comment", "blank", "test", "all"]


def git(*args):
    return subprocess.run(["git", "-C", HOME, *args], check=True, capture_output=True, text=True).stdout


def sources(commit):
    """Returns the text of each Rust file, by path."""
    if commit is None:
        paths = git("ls-files", "--cached", "--others", "--exclude-standard", "*.rs").split()
        return {path: (HOME / path).read_text() for path in paths if (HOME / path).exists()}
    paths = [path for path in git("ls-tree", "-r", "--name-only", commit).split() if path.endswith(".rs")]
    names = "".join(f"{commit}:{path}\n" for path in paths).encode()
    command = ["git", "-C", HOME, "cat-file", "--batch"]
    data = subprocess.run(command, input=names, check=True, capture_output=True).stdout
    texts = {}
    for path in paths:
        head, _, data = data.partition(b"\n")
        length = int(head.split()[2])
        texts[path], data = data[:length].decode(), data[length + 1 :]
    return texts


def crate_of(path):
    folders = {folder: name for name, folders in CRATES.items() for folder in folders}
    holding = [folder for folder in folders if path.startswith(folder + "/")]
    return folders[max(holding, key=len)] if holding else None


def test_lines(lines):
    """Returns the numbers of lines under `#[cfg(test)]`, and the names of modules that are declared under it."""
    inside, modules, number = set(), [], 0
    while number < len(lines):
        if CFG_TEST.fullmatch(lines[number].strip()):
            indent = len(lines[number]) - len(lines[number].lstrip())
            end = number + 1
            while lines[end].strip().startswith("#["):
                end += 1
            if module := re.match(r"\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", lines[end]):
                modules.append(module[1])
            elif not lines[end].rstrip().endswith((";", ",")):
                closes = re.compile(rf" {{{indent}}}[}}\])]")
                end += 1
                while end < len(lines) - 1 and not closes.match(lines[end]):
                    end += 1
            inside.update(range(number, end + 1))
            number = end
        number += 1
    return inside, modules


def folder_of_modules(path):
    """Returns the folder of the modules that a file declares."""
    path = PurePosixPath(path)
    return path.parent if path.name in ("mod.rs", "lib.rs", "main.rs") else path.with_suffix("")


def is_test(path, modules):
    path = PurePosixPath(path)
    in_folder = {"tests", "benches"}.intersection(path.parts[:-1]) and "src" not in path.parts
    return in_folder or any(path == one.with_suffix(".rs") or one in path.parents for one in modules)


def count(texts):
    rows = {name: [0] * 7 for name in CRATES}
    lines_of = {path: text.splitlines() for path, text in texts.items()}
    inside = {path: test_lines(lines) for path, lines in lines_of.items()}
    modules = [folder_of_modules(path) / name for path, (_, names) in inside.items() for name in names]
    for path, lines in lines_of.items():
        if (crate := crate_of(path)) is None:
            continue
        row = rows[crate]
        row[0] += 1
        all_are_tests = crate == "tests + fuzz" or is_test(path, modules)
        row[1] += len(lines) < SHORT and not all_are_tests
        for number, line in enumerate(map(str.strip, lines)):
            if all_are_tests or number in inside[path][0]:
                row[5] += 1
            elif not line:
                row[4] += 1
            else:
                row[3 if line.startswith("//") else 2] += 1
        row[6] += len(lines)
    return rows


def table(rows):
    total = [sum(column) for column in zip(*rows.values(), strict=True)]
    without_tools = [all_of - of_tools for all_of, of_tools in zip(total, rows["tools"], strict=True)]
    product = sum(without_tools[2:5])
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for name, row in [*rows.items(), ("all without tools", without_tools), ("all", total)]:
        files, short, *numbers = row
        print(f"| {name} | {files} ({short}) | " + " | ".join(f"{number:,}" for number in numbers) + " |")
    print(f"\nproduct without tools: {product:,} lines; files without tools: {without_tools[0]:,}\n")
    return product


def main():
    if sys.argv[1:] == ["--ceiling"]:
        product = table(count(sources(None)))
        if product > CEILING:
            sys.exit(f"{product:,} product lines, more than CEILING in tests/house/size.py, {CEILING:,}: delete some, or raise it with the reason")
        return
    for commit in sys.argv[1:] or [None]:
        print(f"## {commit or 'current files'}\n")
        table(count(sources(commit)))


main()
