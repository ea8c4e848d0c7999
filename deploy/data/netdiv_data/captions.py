"""Stable Diffusion XL: COCO's captions, as text or as the ids of the model's two tokenizers."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from . import sources
from .errors import DataError
from .facts import CAPTIONS
from .parts import Array, Folder
from .preparation import Preparation
from .prompts import tokenizer_files, tokenizer_of

FORMS = ("ids", "text")
REFERENCE = "text_to_image/coco.py: Coco.preprocess"
TOKENS = 77


def preparation(folder: Path, form: str, incomplete: bool, calibration: Path | None, tokenizer: Path | None) -> Preparation:
    """Reads captions_source.tsv of FOLDER, or COCO's captions_train2014.json for calibration.

    The tokenizer's folder contains `tokenizer` and `tokenizer_2`, as the checkpoint does.
    """
    if calibration:
        files, name = [sources.file(folder, "captions_train2014.json")], "captions-calibration"
        files.append(sources.calibration_list(calibration, CAPTIONS, incomplete))
        names, captions = training(files[0], sources.lines(calibration), calibration)
    else:
        table = sources.file(folder, "captions_source.tsv", "captions.tsv")
        files, name = [sources.published(table, CAPTIONS, incomplete, "captions_source.tsv")], "captions"
        names, captions = read(files[0])
    if form == "text":
        return Preparation(
            "stable-diffusion-xl", CAPTIONS, form, REFERENCE, [Folder(name, ".txt")], names, captions, as_bytes, files,
            calibration=calibration is not None, parallel=False)
    folders = [tokenizer / which if tokenizer else None for which in ("tokenizer", "tokenizer_2")]
    both = [tokenizer_of(which, "Stable Diffusion XL") for which in folders]
    for which, one in zip(folders, both):
        if one.model_max_length != TOKENS:
            raise DataError(f"{which}: the tokenizer's maximum length is {one.model_max_length} ids, expected {TOKENS}")
    files += [file for which in folders for file in tokenizer_files(which)]
    parts = [Array(f"{name}-ids", "int32", (TOKENS,)), Array(f"{name}-ids-2", "int32", (TOKENS,))]
    return Preparation(
        "stable-diffusion-xl", CAPTIONS, form, REFERENCE, parts, names, captions,
        lambda caption: [ids(caption, one) for one in both], files, calibration=calibration is not None, parallel=False)


def read(path: Path) -> tuple[list[str], list[str]]:
    """Returns the ids of the captions, and the captions."""
    try:
        lines = io.StringIO(sources.read_text(path), newline="")
        rows = [(row["id"], row["caption"]) for row in csv.DictReader(lines, delimiter="\t")]
    except (KeyError, csv.Error) as error:
        raise DataError(f"{path}: not a table with id and caption: {error}") from error
    bad = next((n for n, row in enumerate(rows, 1) if None in row), None)
    if bad:
        raise DataError(f"{path}: row {bad} has no caption")
    return [name for name, _ in rows], [caption for _, caption in rows]


def training(path: Path, wanted: list[str], named_by: Path) -> tuple[list[str], list[str]]:
    """Returns ids and captions of a list, ordered by id, as the reference's tools/coco_calibration.py writes them."""
    try:
        known = {str(int(entry["id"])): entry["caption"].replace("\n", "").strip() for entry in sources.read_json(path)["annotations"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: not COCO's captions") from error
    names = list(known)
    chosen = sorted((names[place] for place in sources.chosen(names, wanted, named_by)), key=int)
    return chosen, [known[name] for name in chosen]


def as_bytes(caption: str) -> list[bytes]:
    return [caption.encode()]


def ids(caption: str, tokenizer: Any) -> np.ndarray:
    """Returns a tokenizer's ids of a caption; a word that stands for several ids is replaced by one word for each."""
    for token in set(tokenizer.tokenize(caption)) & set(tokenizer.added_tokens_encoder):
        words, number = [token], 1
        while (word := f"{token}_{number}") in tokenizer.added_tokens_encoder:
            words, number = [*words, word], number + 1
        caption = caption.replace(token, " ".join(words))
    found = tokenizer(caption, padding="max_length", max_length=tokenizer.model_max_length, truncation=True)["input_ids"]
    return np.array(found, dtype=np.int32)
