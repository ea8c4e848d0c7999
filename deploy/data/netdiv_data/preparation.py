"""Prepares sample after sample, on all processors, and continues an interrupted preparation."""

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from . import manifest, sources
from .errors import DataError
from .facts import Facts
from .journal import Journal, NoJournal, locked
from .parts import Part
from .progress import Progress
from .workers import made_in_order


@dataclass
class Preparation:
    """Description of a data set to prepare."""

    benchmark: str
    facts: Facts
    samples_form: str
    reference: str  # code of mlcommons/inference that defines the samples
    parts: list[Part]
    names: list[str]  # of the samples, in LoadGen's order
    items: Iterable[Any]  # argument of `make` for each sample
    make: Callable[[Any], list[Any]]  # returns the item of each part
    sources: list[Path]
    labels: np.ndarray | None = None
    extra: dict[str, Callable[[Path], None]] = field(default_factory=dict)  # further files, by name
    calibration: bool = False
    parallel: bool = True


@dataclass
class Choice:
    """Options of the command line that apply to every data set."""

    output: Path
    first: int | None = None
    incomplete: bool = False
    jobs: int = 1


def prepare(it: Preparation, choice: Choice) -> list[Path]:
    """Prepares the data set; returns the paths of its parts."""
    published = it.facts.calibration if it.calibration else it.facts.samples
    practice = choice.incomplete or choice.first is not None
    if choice.first is not None:
        it.names, it.items = it.names[: choice.first], islice(it.items, choice.first)
        if it.labels is not None:
            it.labels = it.labels[: choice.first]
    count = len(it.names)
    if published is not None and count != published and not practice:
        raise DataError(
            f"{count} samples, but {it.facts.name} has {published}"
            f"{' for calibration' if it.calibration else ''}. Use --incomplete for practice; the manifest will state it")
    if not count:
        raise DataError("no samples")
    (name, times), *_ = Counter(it.names).most_common(1)
    if times > 1 and not practice:
        raise DataError(f"the sample {name} occurs {times} times. Use --incomplete for practice; the manifest will state it")
    about = {
        "benchmark": it.benchmark, "set": it.facts.name, "subset": "calibration" if it.calibration else "validation",
        "samples_form": it.samples_form, "complete": not practice, "licence": it.facts.licence, "reference": it.reference,
        "sources": digests_of(it.sources), "names_sha256": digest_of_names(it.names),
    }
    choice.output.mkdir(parents=True, exist_ok=True)
    with locked(choice.output):
        return in_folder(it, choice, about)


def in_folder(it: Preparation, choice: Choice, about: dict[str, Any]) -> list[Path]:
    """Prepares the data set in a locked folder. A part under its final name is complete and has a manifest."""
    folder, data_sets = choice.output, [part.path(choice.output) for part in it.parts]
    files = dict(it.extra)
    if it.labels is not None:
        files[f"{data_sets[0].stem}-labels.npy"] = lambda path: np.save(path, it.labels)
    lasting = all(part.lasting for part in it.parts)
    journal = Journal(folder / f".{it.parts[0].name}.journal") if lasting else NoJournal()
    unfinished = journal.belongs_to(about)
    if not unfinished and any(path.exists() for path in data_sets):
        return already_there(data_sets, [folder / name for name in files], about)
    if unfinished:
        # The preparation was interrupted while the parts were renamed.
        for part in it.parts:
            if part.path(folder).exists() and not part.partial(folder).exists():
                os.replace(part.path(folder), part.partial(folder))
    digests = write_samples(it, choice, journal, about)
    for part in it.parts:
        part.close()
    with TemporaryDirectory(prefix=".", dir=folder) as unfinished_files:
        for name, save in files.items():
            path = Path(unfinished_files) / name  # published digests are found by name
            save(path)
            os.replace(path, folder / name)
    sources.check_unchanged()
    for place, path in enumerate(data_sets):
        manifest.write(path, about, it.names, [row[place] for row in digests])
    for part in it.parts:
        os.replace(part.partial(folder), part.path(folder))
    journal.remove()
    return data_sets


def write_samples(it: Preparation, choice: Choice, journal: Journal | NoJournal, about: dict[str, Any]) -> list[list[str]]:
    """Makes the missing samples; returns the digests of each sample's parts."""
    items = list(it.items)
    for part in it.parts:
        part.begin(choice.output, len(it.names))
    stamps = [stamp(item) for item in items]
    digests = journal.begin(about, it.parts, stamps)
    progress = Progress(it.benchmark, len(it.names), len(digests))
    missing = [index for index in range(len(items)) if index not in digests]
    jobs = choice.jobs if it.parallel else 1
    with closing(made_in_order(it.make, [items[index] for index in missing], jobs)) as made:
        for index, made_parts in zip(missing, made, strict=True):
            written = [part.write(index, one) for part, one in zip(it.parts, made_parts, strict=True)]
            digests[index] = [hashlib.sha256(data).hexdigest() for data in written]
            journal.add(index, stamps[index], digests[index])
            progress.one_more()
    return [digests[index] for index in range(len(it.names))]


def already_there(data_sets: list[Path], files: list[Path], about: dict[str, Any]) -> list[Path]:
    """Returns the paths of a data set that was prepared before; fails if another data set is there."""
    for path in [*data_sets, *files]:
        if not path.exists():
            raise DataError(f"{path.parent} contains part of the data set, but no {path.name}: choose another --output, or remove that part")
    for path in data_sets:
        known = manifest.read(path)
        if any(known.get(key) != value for key, value in about.items()):
            raise DataError(f"{path} exists and was not made by this command: choose another --output")
    print("already prepared", file=sys.stderr)
    return data_sets


def stamp(item: Any) -> str:
    """Returns a text that changes if the file of a sample changes."""
    return sources.STAMPS[sources.noted(item)] if isinstance(item, Path) else "-"


def digests_of(paths: list[Path]) -> dict[str, str]:
    """Returns the SHA-256 of files by name; the name includes the folder if two files have the same name."""
    names = [path.name for path in paths]
    label = {path: path.name if names.count(path.name) == 1 else f"{path.parent.name}/{path.name}" for path in paths}
    return {os.fsencode(label[path]).decode(errors="replace"): sha256_of(path) for path in paths}


def digest_of_names(names: list[str]) -> str:
    try:
        return hashlib.sha256("\n".join(names).encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise DataError(f"a sample's name cannot be written as UTF-8: {error}") from error


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
