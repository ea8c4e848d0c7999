"""Prepares sample after sample, on all processors, and goes on where it was interrupted."""

import hashlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import manifest
from .errors import DataError
from .facts import Facts
from .parts import Array, Part
from .progress import Progress

SPARE_BYTES = 1 << 30


@dataclass
class Preparation:
    """A data set to be made."""

    benchmark: str
    facts: Facts
    samples_form: str
    reference: str  # the code of mlcommons/inference that says how
    parts: list[Part]
    names: list[str]  # of the samples, in LoadGen's order
    items: Iterable[Any]  # what `make` needs of each
    make: Callable[[Any], list[Any]]  # what each part gets of a sample
    sources: list[Path]
    labels: np.ndarray | None = None
    extra: dict[str, Callable[[Path], None]] = field(default_factory=dict)  # further files, by name
    calibration: bool = False
    parallel: bool = True


@dataclass
class Choice:
    """What the user asked for, whatever the data set."""

    output: Path
    first: int | None = None
    incomplete: bool = False
    jobs: int = 1


def prepare(it: Preparation, choice: Choice) -> list[Path]:
    """Makes the data set; gives the paths of its parts."""
    published = it.facts.calibration if it.calibration else it.facts.samples
    if choice.first is not None:
        it.names, it.items = it.names[: choice.first], islice(it.items, choice.first)
        if it.labels is not None:
            it.labels = it.labels[: choice.first]
    count = len(it.names)
    complete = count == published
    if not complete and choice.first is None and not choice.incomplete:
        raise DataError(
            f"{count} samples where {it.facts.name} has {published}"
            f"{' for calibration' if it.calibration else ''}. For practice give --incomplete; the manifest will say so")
    if not count:
        raise DataError("no samples")
    about = {
        "benchmark": it.benchmark, "set": it.facts.name, "subset": "calibration" if it.calibration else "validation",
        "samples_form": it.samples_form, "complete": complete, "licence": it.facts.licence, "reference": it.reference,
        "sources": {source.name: sha256_of(source) for source in it.sources},
    }
    data_sets = [part.path(choice.output) for part in it.parts]
    if any(path.exists() for path in data_sets):
        return already_there(data_sets, about, it.names)
    choice.output.mkdir(parents=True, exist_ok=True)
    check_room(it.parts, count, choice.output)
    for part in it.parts:
        part.begin(choice.output, count)
    digests = write_samples(it, choice, {**about, "names": digest_of_names(it.names)})
    for part in it.parts:
        part.finish(choice.output)
    if it.labels is not None:
        save_labels(choice.output / f"{it.parts[0].path(choice.output).stem}-labels.npy", it.labels)
    for name, save in it.extra.items():
        save(choice.output / name)
    for place, path in enumerate(data_sets):
        manifest.write(path, about, it.names, [row[place] for row in digests])
    if (journal := journal_path(choice.output, it)).is_file():
        journal.unlink()
    return data_sets


def write_samples(it: Preparation, choice: Choice, about: dict[str, Any]) -> list[list[str]]:
    """Makes the samples that are not there yet; gives the digests of all, part by part."""
    digests: dict[int, list[str]] = {}
    path = journal_path(choice.output, it)
    if path.is_file():
        digests = known(path, about, it.parts)
    with open(path, "w") as journal:
        print(json.dumps(about), file=journal)
        for index, row in digests.items():
            print(index, *row, file=journal)
        journal.flush()
        progress = Progress(it.benchmark, len(it.names), len(digests))
        missing = [(index, item) for index, item in enumerate(it.items) if index not in digests]
        made = made_in_order(it, [item for _, item in missing], choice.jobs)
        for (index, _), made_parts in zip(missing, made, strict=True):
            written = [part.write(index, item) for part, item in zip(it.parts, made_parts, strict=True)]
            digests[index] = [hashlib.sha256(data).hexdigest() for data in written]
            print(index, *digests[index], file=journal, flush=True)
            progress.one_more()
    return [digests[index] for index in range(len(it.names))]


def made_in_order(it: Preparation, items: list[Any], jobs: int) -> Iterator[list[Any]]:
    """The samples, a few of them ahead of their turn."""
    if jobs == 1 or not it.parallel:
        yield from map(it.make, items)
        return
    # Ctrl-C is for this process, which ends the others.
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        waiting, rest = [], iter(items)
        try:
            for item in rest:
                waiting.append(pool.submit(it.make, item))
                if len(waiting) == 4 * jobs:
                    yield waiting.pop(0).result()
            for future in waiting:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def known(path: Path, about: dict[str, Any], parts: list[Part]) -> dict[int, list[str]]:
    """The samples that an interrupted preparation has written, and that are still what it wrote."""
    head, *lines = path.read_text().splitlines() or [""]
    try:
        same = json.loads(head) == about
    except ValueError:
        same = False
    if not same:
        raise DataError(f"{path.parent} has part of another preparation: choose another --output, or remove {path.name} and *.partial there")
    digests = {}
    for line in lines:
        index, *row = line.split(" ")
        if index.isdigit() and len(row) == len(parts):
            digests[int(index)] = row
    def holds(index: int, row: list[str]) -> bool:
        found = (part.read(index) for part in parts)
        return all(data is not None and hashlib.sha256(data).hexdigest() == digest for data, digest in zip(found, row))
    kept = {index: row for index, row in digests.items() if holds(index, row)}
    print(f"going on: {len(kept)} samples are there", file=sys.stderr)
    return kept


def already_there(data_sets: list[Path], about: dict[str, Any], names: list[str]) -> list[Path]:
    """The same data set, made before; anything else is refused."""
    for path in data_sets:
        known = manifest.read(path)
        same = known and all(known.get(key) == value for key, value in about.items())
        if not same or [sample["name"] for sample in known["samples"]] != names:
            raise DataError(f"{path} is there and was not made by this command: choose another --output")
    print("prepared before", file=sys.stderr)
    return data_sets


def check_room(parts: list[Part], count: int, folder: Path) -> None:
    """Refuses arrays that do not fit on the disk."""
    arrays = [part for part in parts if isinstance(part, Array) and not part.partial(folder).exists()]
    needed = sum(count * part.data_type.itemsize * int(np.prod(part.shape)) for part in arrays)
    free = shutil.disk_usage(folder).free
    if needed and needed + SPARE_BYTES > free:
        raise DataError(f"{needed / 1e9:.1f} GB are needed in {folder}, {free / 1e9:.1f} GB are free")


def journal_path(folder: Path, it: Preparation) -> Path:
    if not all(part.lasting for part in it.parts):
        return Path(os.devnull)
    return folder / f".{it.parts[0].name}.journal"


def save_labels(path: Path, labels: np.ndarray) -> None:
    unfinished = path.with_name("." + path.name)
    np.save(unfinished, labels)
    os.replace(unfinished, path)


def digest_of_names(names: list[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def sha256_of(path: Path) -> str:
    """Of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
