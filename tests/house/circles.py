"""Finds circles of files and of folders: files of a crate that use each other's names, and folders whose files do.

A file uses another one if it names an item of it, in `use` or in a path. Names are followed through re-exports to the declaring file, so
that a parent which only declares and re-exports its modules is never part of a circle. A room is a folder, or a file beside folders. Two
files are compared by their rooms in the innermost folder that contains both; that folder's `mod.rs` belongs to no room. Test code is
ignored. Prints each circle with the names that cause it; fails if there is one.

    python3 tests/house/circles.py [FOLDER OF A CRATE]...       without folders: all members of the workspace
"""

import os
import re
import sys
import tomllib
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
    |(?P<text>[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)|[bc]?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\\n]|\\[^\n]+?)')
    |(?P<life>'\w+)|(?P<name>(?:r\#)?[A-Za-z_]\w*)|(?P<sign>::|=>|->|.)""",
    re.VERBOSE | re.DOTALL,
)
DECLARES = {"fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod", "macro_rules"}
# Keys of serde's attributes whose value is a path.
PATH_KEYS = {"with", "serialize_with", "deserialize_with", "default", "skip_serializing_if", "from", "try_from", "into"}
OPENS, CLOSES = "([{", ")]}"


class Module:
    def __init__(self, path, file, folder, root=None, parent=None):
        self.path, self.file, self.folder, self.parent = path, file, folder, parent
        self.root = root or self
        self.modules = {}  # name: Module
        self.declared = set()
        self.imports = {}  # name here: path
        self.globs = []  # paths
        self.mentions = []  # paths in the code

    def lookup(self, path, seen=frozenset()):
        """Returns the module and name that a path refers to; the name is None for a module."""
        if (self.path, path) in seen or not path:
            return None
        seen, first, rest = seen | {(self.path, path)}, path[0], path[1:]
        start = {"crate": self.root, "self": self, "super": self.parent}.get(first)
        if start is None and first in self.modules:
            start = self.modules[first]
        if start is not None:
            return start.lookup(rest, seen) if rest else (start, None)
        if first in self.declared:
            return self, first
        if first in self.imports and self.imports[first] != path:
            return self.lookup(self.imports[first] + rest, seen)
        for glob in self.globs:
            if found := self.lookup(glob, seen):
                if found[1] is None and (inside := found[0].lookup(path, seen)):
                    return inside
        return None

    def all(self):
        yield self
        for module in self.modules.values():
            yield from module.all()


def tokens(text):
    return [m.group() for m in TOKEN.finditer(text) if m.lastgroup not in ("skip", "life")]


def end_of_group(code, at):
    """Returns the index after the bracket that closes the one at `at`."""
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] in OPENS) - (code[place] in CLOSES)
        if depth == 0:
            return place + 1
    return len(code)


def end_of_item(code, at):
    """Returns the index after an item, a field or a statement."""
    ends = ";" if DECLARES.union({"use", "impl", "pub"}).intersection(code[at : at + 2]) else ";,"
    while at < len(code) and code[at] not in CLOSES:
        if code[at] in ends:
            return at + 1
        block = code[at] == "{"
        at = end_of_group(code, at) if code[at] in OPENS else at + 1
        if block and (at == len(code) or code[at] not in ";,:"):
            return at
    return at


def read_use(code, at, before=()):
    """Returns the paths of a tree of imports, as (path, name here), and the index after it."""
    found, path, name = [], list(before), None
    while True:
        if code[at] == "{":
            at += 1
            while code[at] != "}":
                inner, at = read_use(code, at, tuple(path))
                found += inner
                at += code[at] == ","
            return found, at + 1
        if code[at] == "as":
            name, at = code[at + 1], at + 2
        elif code[at] in (";", ",", "}"):
            if path[-1] == "self":
                path.pop()
            return [(tuple(path), name or path[-1])], at
        else:
            if code[at] != "::":
                path.append(code[at])
            at += 1


def read(module, code):
    """Reads declarations, imports and paths from the code of a module."""
    at, depth, foreign, file = 0, 0, False, None
    while at < len(code):
        token, before = code[at], code[at - 1] if at else ""
        if token == "#" and code[at + 1 : at + 2] in (["["], ["!"]):
            bracket = at + 1 + (code[at + 1] == "!")
            end = end_of_group(code, bracket)
            inside = code[bracket + 1 : end - 1]
            if inside[:3] == ["cfg", "(", "test"] or inside[:5] == ["cfg", "(", "all", "(", "test"] or inside == ["test"]:
                while code[end : end + 2] == ["#", "["]:
                    end = end_of_group(code, end + 1)
                at = end_of_item(code, end)
                continue
            if inside[:2] == ["path", "="]:
                file = inside[2].strip('"')
            for key, sign, text in zip(inside, inside[1:], inside[2:]):
                if key in PATH_KEYS and sign == "=" and text[0] == '"':
                    path = tuple(text.strip('"').split("::"))
                    module.mentions += [path, path + ("serialize",), path + ("deserialize",)]
            # Paths within an attribute are read as code.
            at = bracket + 1
        elif token == "pub" and code[at + 1] == "(" and code[at + 2] in ("crate", "super", "self", "in"):
            at = end_of_group(code, at + 1)
        elif token == "use" and before not in ("+", "<", ":"):
            found, at = read_use(code, at + 1 + (code[at + 1] == "::"))
            for path, name in found:
                if path[-1] == "*":
                    module.globs.append(path[:-1])
                else:
                    module.imports[name] = path
                    # A re-export (`pub use`, `pub(crate) use`) is not a use.
                    if before not in ("pub", ")"):
                        module.mentions.append(path)
        elif token == "mod" and code[at + 1].isidentifier() and code[at + 2] in (";", "{"):
            name, path = code[at + 1], module.path + (code[at + 1],)
            if code[at + 2] == ";":
                add_file(module, name, module.folder / file if file else None)
                at += 3
            else:
                end = end_of_group(code, at + 2)
                child = Module(path, module.file, module.folder / name, module.root, module)
                module.modules[name] = child
                read(child, code[at + 3 : end - 1])
                at = end
            file = None
        else:
            foreign = foreign or token == "extern" and code[at + 2 : at + 3] == ["{"]
            if token in DECLARES and (depth == 0 or foreign) and code[at + 1 : at + 2] != ["{"]:
                name = code[at + 2] if code[at + 1] in ("!", "mut") else code[at + 1]
                if name not in DECLARES:
                    module.declared.add(name.removeprefix("r#"))
            depth += (token == "{") - (token == "}")
            foreign = foreign and not (token == "}" and depth == 0)
            step = 1
            if re.match(r"[A-Za-z_]", token) and before not in (".", "::"):
                path = [token]
                while code[at + step : at + step + 1] == ["::"] and re.match(r"[A-Za-z_]", code[at + step + 1]):
                    path.append(code[at + step + 1])
                    step += 2
                module.mentions.append(tuple(path))
            at += step


def add_file(parent, name, file=None):
    folder = parent.folder / name
    file = file or next((f for f in (folder.with_suffix(".rs"), folder / "mod.rs") if f.exists()), None)
    if file:
        child = Module(parent.path + (name,), file, folder, parent.root, parent)
        parent.modules[name] = child
        read(child, tokens(file.read_text()))


def uses(root_file):
    """Returns the uses between files in the crate with this root: {(file, file): names}."""
    root = Module((), root_file, root_file.parent)
    read(root, tokens(root_file.read_text()))
    found = {}
    for module in root.all():
        for path in module.mentions:
            target = module.lookup(path)
            if target and target[1] and target[0].file != module.file:
                found.setdefault((module.file, target[0].file), set()).add(target[1])
    return found


def circles(edges):
    """Returns groups of files in which each file reaches every other one."""
    reach = {}
    for start in {a for a, _ in edges}:
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            for _, to in (e for e in edges if e[0] == at and e[1] not in seen):
                seen.add(to)
                todo.append(to)
        reach[start] = seen
    groups = {frozenset(b for b in seen if a in reach.get(b, ())) for a, seen in reach.items() if a in seen}
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))


def rooms(edges, src):
    """Returns the uses between rooms, from the result of `uses`. A module's file and its folder are one room."""
    found = {}
    for (a, b), names in edges.items():
        (a, b), at = [path.relative_to(src).with_suffix("").parts for path in (a, b)], 0
        while a[at : at + 1] == b[at : at + 1] != ():
            at += 1
        a, b = a[: at + 1], b[: at + 1]
        if len(a) == len(b) == at + 1 and not {a[-1], b[-1]} & {"mod", "lib", "main"}:
            found.setdefault((src.joinpath(*a), src.joinpath(*b)), set()).update(names)
    return found


def report(crate):
    """Returns the circles of a crate's library and programs, as lines."""
    src = crate / "src"
    roots = [src / "lib.rs", src / "main.rs", *sorted(src.glob("bin/*.rs")), *sorted(src.glob("bin/*/main.rs"))]
    lines = []
    for root in (r for r in roots if r.exists()):
        files = uses(root)
        # A circle of files is a circle of rooms too.
        kind, edges = ("files", files) if circles(files) else ("folders", rooms(files, root.parent))
        for group in circles(edges):
            lines.append(f"{crate}: {len(group)} {kind} use each other's names")
            for (a, b), names in sorted(edges.items()):
                if a in group and b in group:
                    lines.append(f"  {a.relative_to(crate)} -> {b.relative_to(crate)}: {', '.join(sorted(names))}")
    return lines


def members():
    house = Path(__file__).resolve().parents[2]
    return [Path(os.path.relpath(house / member)) for member in tomllib.loads((house / "Cargo.toml").read_text())["workspace"]["members"]]


if __name__ == "__main__":
    lines = [line for crate in [Path(a) for a in sys.argv[1:]] or members() for line in report(crate)]
    print("\n".join(lines) or "No circles of files or folders.")
    sys.exit(bool(lines))
