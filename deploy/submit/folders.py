"""Checks the folders that are moved away before a step is made again: they may not contain other files."""

import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from submit.errors import Refused
from submit.files import FOLDERS, PATHS, RUN, SUBMISSION, Files

MOVED = (*FOLDERS, "compliance")
TREE, NEW, OLD = "tree", "tree.part", "old"


def check(files: Files, measured: str | None) -> None:
    """Fails if folders contain each other, or a named file. `measured` is the file that the step `fabric` writes."""
    if measured:
        measurement(files, measured)
    folders = {f"{key} of {result.scenario}": getattr(result, key) for result in files.results for key in MOVED if getattr(result, key)}
    folders |= {"measurement": str(Path(measured).parent)} if measured else {}
    folders |= {"submit.sh": OLD, "the tree": TREE, "a new tree": NEW}
    places = {what: (files.folder / named).resolve() for what, named in folders.items()}
    problems = [f"{SUBMISSION}: {one} has \"{folders[one]}\", and {other} \"{folders[other]}\": write folders that do not contain each other"
                for one, other in combinations(places, 2)
                if places[one].is_relative_to(places[other]) or places[other].is_relative_to(places[one])]
    for what, place in places.items():
        inside = sorted({path for path in inputs(files, measured) if (files.folder / path).resolve().is_relative_to(place)})
        if inside and folders[what] != OLD:
            problems.append(f"{SUBMISSION}: {what} has \"{folders[what]}\", which contains {' and '.join(inside)}; an old {folders[what]} is "
                            "moved away: write another folder")
    if problems:
        raise Refused(*problems)


def measurement(files: Files, named: str) -> None:
    """Fails if the step `fabric` cannot write the file, or if its folder contains other files, which would be moved away."""
    path = Path(named)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 2 or path.name != "fabric.json":
        raise Refused(f"{SUBMISSION}: measurement = \"{named}\": --fabric-nodes requires a separate folder in {files.folder}: write "
                      "\"fabric/fabric.json\"")
    folder = files.folder / path.parent
    others = [name for name in sorted(os.listdir(folder)) if not name.startswith(("fabric.", "matrix."))] if folder.is_dir() else []
    if others:
        raise Refused(f"{SUBMISSION}: measurement = \"{named}\": {path.parent} contains {others[0]}, which is not a measurement, and an old "
                      f"{path.parent} is moved away: write another folder")


def inputs(files: Files, measured: str | None) -> Iterator[str]:
    """Yields named files that steps read and no step makes."""
    yield from (RUN, SUBMISSION)
    yield from (files.run[key] for key in PATHS if key in files.run)
    yield from (part for part in files.run["dataset"].split("+") if part)
    made = (*MOVED, "accuracy_txt", *(["measurement"] if measured else []))
    yield from (text for text in texts(files.submission, made) if os.path.isfile(files.folder / text))


def texts(value: object, leave_out: tuple[str, ...]) -> Iterator[str]:
    """Yields all texts of a table, except under the keys of `leave_out`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from () if key in leave_out else texts(inner, leave_out)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, leave_out)
    elif isinstance(value, str):
        yield value
