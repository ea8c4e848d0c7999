"""Prepares IGBH as the folder that R-GAT's TorchScript file maps: features, and for each relation the sources of every target.

deploy/models/rgat_graph.py describes `sizes` and the other files. Edges are read in pieces, several times: two numbers for each
node of a type must fit into memory, but edges and features need not.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from . import sources
from .errors import DataError
from .facts import IGBH
from .igbh import NODES, REFERENCE, TYPES, WIDTH, Table, size_of, table
from .journal import locked
from .parts import PARTIAL, reserve

# Name, type of sources, type of targets. Each relation except `cites` has a reverse relation too.
RELATIONS = (
    ("cites", "paper", "paper"), ("written_by", "paper", "author"), ("affiliated_to", "author", "institute"),
    ("topic", "paper", "fos"), ("published", "paper", "journal"), ("venue", "paper", "conference"),
)
FORM = 1
EDGES = 1 << 24  # edges of a piece
ROWS = 1 << 14
NAME = "igbh"

Pieces = Iterator[tuple[np.ndarray, np.ndarray]]


def prepare_graph(folder: Path, form: str, incomplete: bool, output: Path) -> Path:
    """Writes the folder; returns its path."""
    size, processed = size_of(folder, incomplete)
    tables = {name: table(sources.file(processed / name, "node_feat.npy"), WIDTH) for name in TYPES}
    for name, count in zip(TYPES, NODES[size]):
        one = tables[name]
        if not incomplete and (one.rows, one.width) != (count, WIDTH):
            raise DataError(f"{one.path}: [{one.rows}, {one.width}], but IGBH {size} has [{count}, {WIDTH}]. Fetch it again")
        if one.width != tables["paper"].width or one.rows >= 1 << 31 or one.data_type != np.dtype("<f4"):
            raise DataError(f"{one.path}: {one.data_type} [{one.rows}, {one.width}], but papers have {tables['paper'].width} float32")
    paths = {name: sources.file(processed / "__".join((source, name, target)), "edge_index.npy") for name, source, target in RELATIONS}
    arrays = {name: opened(path) for name, path in paths.items()}
    read = [*(one.path for one in tables.values()), *paths.values()]
    about = {
        "set": IGBH.name, "size": size, "complete": not incomplete, "features": form, "licence": IGBH.licence, "reference": REFERENCE,
        "sources": {str(path.relative_to(folder)): [path.stat().st_size, path.stat().st_mtime_ns] for path in read},
    }
    output.mkdir(parents=True, exist_ok=True)
    with locked(output):
        made, partial = output / NAME, output / (NAME + PARTIAL)
        if made.exists():
            known = sources.read_json(sources.file(made, "graph.json"))
            if any(known.get(key) != value for key, value in about.items()):
                raise DataError(f"{made} exists and was not made by this command: choose another --output")
            print("already prepared", file=sys.stderr)
            return made
        begin(partial, about)
        if not incomplete:
            check_all(read, partial / "checked")
        edges = {}
        for name, source, target in RELATIONS:
            rows = (tables[source].rows, tables[target].rows)
            edges |= relation(partial, paths[name], name, rows, arrays[name])
        edges |= {name: edges.pop(name) for name in [f"rev_{name}" for name, _, _ in RELATIONS[1:]]}
        for name in TYPES:
            features(partial, name, tables[name], form)
        half = form == "graph-fp16"
        sizes = [FORM, tables["paper"].width, 2 if half else 4, *(tables[name].rows for name in TYPES),
                 *(0 if half else tables[name].header for name in TYPES), *edges.values()]
        (partial / "sizes").write_bytes(np.array(sizes, "<i8").tobytes())
        counts = {"nodes": {name: tables[name].rows for name in TYPES}, "edges": edges}
        sources.check_unchanged()
        (partial / "graph.json").write_text(json.dumps(about | counts, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, made)
    return made


def begin(partial: Path, about: dict) -> None:
    """Opens the unfinished folder; fails if it belongs to another graph."""
    partial.mkdir(exist_ok=True)
    journal = partial / "journal.json"
    if not journal.exists():
        unfinished = journal.with_name(journal.name + PARTIAL)
        unfinished.write_text(json.dumps(about), encoding="utf-8")
        os.replace(unfinished, journal)
    try:
        known = sources.read_json(journal)
    except DataError as error:
        raise DataError(f"{error}. Remove {partial} and run the same command again") from error
    if known != about:
        raise DataError(f"{partial} contains part of another graph: choose another --output, or remove it")


def check_all(paths: list[Path], checked: Path) -> None:
    """Compares each file with the MD5 that MLCommons publishes. Skips files that `checked` lists: they have passed before."""
    names = {f"{path.parent.name}/{path.name}": path for path in paths}
    known = checked.read_text(encoding="utf-8").splitlines() if checked.exists() else []
    left = {name: path for name, path in names.items() if name not in known}
    sizes = {name: path.stat().st_size / 1e9 for name, path in left.items()}
    print(f"comparing MD5: {len(left)} of {len(names)} files, {sum(sizes.values()):.1f} GB to read", file=sys.stderr)
    for name, path in left.items():
        print(f"{name}: {sizes[name]:.1f} GB", file=sys.stderr)
        sources.check_md5(path, {name: IGBH.md5[name]})
        with open(checked, "a", encoding="utf-8") as file:
            file.write(name + "\n")


def opened(path: Path) -> np.ndarray:
    """Maps edges into memory: each row has source and target."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path}: not an array: {error}. Fetch it again") from error
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise DataError(f"{path}: {array.dtype} {array.shape}, expected integers [edges, 2]")
    return array


def pieces(array: np.ndarray, back: bool) -> Pieces:
    """Yields sources and targets; swapped if `back` is set."""
    for start in range(0, len(array), EDGES):
        piece = np.asarray(array[start:start + EDGES], np.int64)
        yield (piece[:, 1], piece[:, 0]) if back else (piece[:, 0], piece[:, 1])


def cited(array: np.ndarray, papers: int) -> Pieces:
    """Yields citations in both directions, except self-citations, and then a self-citation of each paper."""
    for back in (False, True):
        for some, others in pieces(array, back):
            yield some[some != others], others[some != others]
    for start in range(0, papers, EDGES):
        own = np.arange(start, min(start + EDGES, papers))
        yield own, own


def relation(partial: Path, path: Path, name: str, rows: tuple[int, int], array: np.ndarray) -> dict[str, int]:
    """Writes a relation of IGBH as the network has it; returns the numbers of edges."""
    for start in range(0, len(array), EDGES):
        most, least = array[start:start + EDGES].max(0), array[start:start + EDGES].min()
        if least < 0 or most[0] >= rows[0] or most[1] >= rows[1]:
            raise DataError(f"{path}: an edge names a node that has no features. Fetch both again")
    if name == "cites":
        return {name: by_target(partial, name, rows[1], lambda: cited(array, rows[1]))}
    return {
        name: by_target(partial, name, rows[1], lambda: pieces(array, False)),
        f"rev_{name}": by_target(partial, f"rev_{name}", rows[0], lambda: pieces(array, True)),
    }


def by_target(partial: Path, name: str, targets: int, edges: Callable[[], Pieces]) -> int:
    """Sorts edges by target and writes them; keeps the order of edges of one target. Returns the number of edges."""
    starts_path, sources_path = partial / f"{name}.starts", partial / f"{name}.sources"
    if starts_path.exists():  # written last, so an interrupted preparation has made both files
        return int(np.memmap(starts_path, "<i8", "r")[-1])
    print(f"{name}: sorting", file=sys.stderr)
    starts = np.zeros(targets + 1, "<i8")
    for _, ends in edges():
        found, counts = np.unique(ends, return_counts=True)
        starts[found + 1] += counts
    np.cumsum(starts, out=starts)
    count = int(starts[-1])
    if count:
        reserve(sources_path, 4 * count)
        out, free = np.memmap(sources_path, "<i4", "r+", 0, (count,)), starts[:-1].copy()
        for begins, ends in edges():
            order = np.argsort(ends, kind="stable")
            found, first, counts = np.unique(ends[order], return_index=True, return_counts=True)
            out[np.repeat(free[found] - first, counts) + np.arange(len(order))] = begins[order]
            free[found] += counts
        out.flush()
    else:
        sources_path.touch()
    unfinished = starts_path.with_name(starts_path.name + PARTIAL)
    starts.tofile(unfinished)
    os.replace(unfinished, starts_path)
    return count


def features(partial: Path, name: str, one: Table, form: str) -> None:
    """Links the file of features under a second name, or writes its numbers as float16."""
    path = partial / f"{name}.features"
    if path.exists():
        return
    unfinished = path.with_name(path.name + PARTIAL)
    unfinished.unlink(missing_ok=True)
    if form == "graph":
        try:
            os.link(one.path.resolve(), unfinished)
        except OSError:  # another file system
            unfinished.symlink_to(one.path.resolve())
    else:
        print(f"{name}: features as float16", file=sys.stderr)
        reserve(unfinished, 2 * one.rows * one.width)
        out, table_ = np.memmap(unfinished, "<f2", "r+", 0, (one.rows, one.width)), one.array()
        for start in range(0, one.rows, ROWS):
            out[start:start + ROWS] = table_[start:start + ROWS]
        out.flush()
    os.replace(unfinished, path)
