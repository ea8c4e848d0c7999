"""Draws the crates in docs/ARCHITECTURE.md, with their dependencies and the folders of the larger ones.

The drawing consists of the manifests and of the first sentence of each module's documentation. Without arguments the script fails if the
document shows another drawing.

    python3 tests/house/drawing.py [--write]
"""

import re
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
DOCUMENT = HOME / "docs/ARCHITECTURE.md"
BEGIN, END = "<!-- drawing: begin -->\n", "<!-- drawing: end -->\n"


def manifest(folder):
    return tomllib.loads((HOME / folder / "Cargo.toml").read_text())


def dependencies(crate, known):
    """Returns the crates of the workspace that a crate depends on always, and with a feature."""
    needs = {name: need for name, need in crate.get("dependencies", {}).items() if name in known}
    optional = {name for name, need in needs.items() if need.get("optional")}
    return [known[name] for name in needs if name not in optional], [known[name] for name in needs if name in optional]


def crates():
    members = manifest(".")["workspace"]["members"]
    all_of_them = {folder: manifest(folder) for folder in members}
    known = {crate["package"]["name"]: folder for folder, crate in all_of_them.items()}
    for folder, crate in all_of_them.items():
        yield folder, crate["package"], *dependencies(crate, known)


def graph(rows):
    lines = ["```mermaid", "graph TD"]
    names = {folder: package["name"] for folder, package, *_ in rows}
    lines += [f'  {name}["{folder}"]' for folder, name in names.items()]
    for _, package, below, optional in rows:
        reached = {deep for crate in below for deep in closure(crate, rows)}
        # Dependencies through another crate need no separate arrow.
        lines += [f'  {package["name"]} --> {names[crate]}' for crate in sorted(below) if crate not in reached]
        lines += [f'  {package["name"]} -.-> {names[crate]}' for crate in optional]
    return lines + ["```", ""]


def closure(folder, rows):
    """Returns all direct and indirect dependencies of a crate."""
    direct = next(below for name, _, below, _ in rows if name == folder)
    return set(direct).union(*(closure(crate, rows) for crate in direct))


def table(rows):
    lines = ["| folder | crate | description |", "|---|---|---|"]
    for folder, package, *_ in rows:
        lines.append(f'| `{folder}/` | `{package["name"]}` | {package["description"]} |')
    return lines + [""]


def first_sentence(file):
    text = []
    for line in file.read_text().splitlines():
        if not line.startswith("//!") or line.strip() == "//!":
            break
        text.append(line[3:].strip())
    sentence = re.split(r"(?<=\.)\s", " ".join(text) + " ")[0]
    if not sentence:
        sys.exit(f"{file.relative_to(HOME)}: the module has no documentation; describe its purpose in one sentence")
    return sentence.rstrip(". ")


def rooms(rows):
    lines = ["Folders of the larger crates:", ""]
    for folder, *_ in rows:
        source = HOME / folder / "src"
        inside = sorted(path.parent for path in source.glob("*/mod.rs") if path.parent.name != "tests")
        for room in inside:
            lines.append(f"- `{room.relative_to(HOME)}/`: {first_sentence(room / 'mod.rs')}")
    return lines + [""]


def is_drawn(folder):
    return not folder.startswith("tests")


def drawing():
    rows = [
        (folder, package, *(list(filter(is_drawn, needs)) for needs in (below, optional)))
        for folder, package, below, optional in crates()
        if is_drawn(folder)
    ]
    return "\n".join(graph(rows) + table(rows) + rooms(rows))


def main():
    before, rest = DOCUMENT.read_text().split(BEGIN)
    shown, after = rest.split(END)
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(before + BEGIN + drawing() + END + after)
    elif shown != drawing():
        sys.exit(f"{DOCUMENT.relative_to(HOME)} does not show the current crates and folders; run {sys.argv[0]} --write")


main()
