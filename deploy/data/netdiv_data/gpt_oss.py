"""gpt-oss-120b: MLCommons' three Parquet files as three sets of token ids, and a TOML file that names the set of each kind of run."""

import os
import sys
from pathlib import Path

import numpy as np
from pyarrow import parquet

from . import facts, sources
from .errors import DataError
from .facts import Facts
from .parts import Ids
from .preparation import Choice, Preparation, prepare, sha256_of
from .prompts import as_it_is

NAME = "gpt-oss-120b"
REFERENCE = "language/gpt-oss-120b/utils/tokenization.py: load_tokenized_dataset (b66003e1)"
VOCABULARY = 201088
# Facts, file, and maximum number of tokens of an output, by section of the TOML file.
SETS: dict[str, tuple[Facts, str, int]] = {
    "performance": (facts.GPT_OSS_PERFORMANCE, "perf/perf_eval_ref.parquet", 10240),
    "accuracy": (facts.GPT_OSS_ACCURACY, "acc/acc_eval_ref.parquet", 32768),
    "TEST07": (facts.GPT_OSS_TEST07, "acc/acc_eval_compliance_gpqa.parquet", 10240),
}


def prepare_sets(folder: Path, choice: Choice) -> Path:
    """Prepares the sets, after it has read all three files; returns the path of the TOML file."""
    sets = {section: preparation(section, folder) for section in SETS}
    text = f'form = 1\nbenchmark = "{NAME}"\n'
    for section, it in sets.items():
        print(f"{it.facts.name}: {it.facts.licence}", file=sys.stderr)
        (path,) = prepare(it, choice)
        text += f'\n[{section}]\nfile = "{path.name}"\nsamples = {len(it.names)}\n'
        text += f'max_output_tokens = {SETS[section][2]}\nsha256 = "{sha256_of(path)}"\n'
        if section != "performance":
            print(f"the official script grades [{section}] with --reference-data {it.sources[0]}", file=sys.stderr)
    table = choice.output / f"{NAME}.toml"
    unfinished = table.with_name("." + table.name)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, table)
    return table


def preparation(section: str, folder: Path) -> Preparation:
    """Reads a section's file. A sample is a row; its name is the row's source and number."""
    known, name, _ = SETS[section]
    path = sources.file(folder, name)
    table = read(path, section != "performance")
    rows = [checked(f"{path}: row {number}", *row) for number, row in enumerate(zip(*table, strict=True))]
    names = [f"{source}/{number}" for number, source in enumerate(table[2])]
    return Preparation(NAME, known, "ids", REFERENCE, [Ids(f"{NAME}-{section}")], names, rows, as_it_is, [path], parallel=False)


def read(path: Path, is_graded: bool) -> list[list]:
    """Returns ids, lengths and sources of all rows. The official accuracy script reads the ground truth from the same file."""
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            columns = ["tok_input" if "tok_input" in names else "input_tokens", "num_tokens", "dataset"]
            missing = [name for name in columns + ["ground_truth"] * is_graded if name not in names]
            if not missing:
                table = file.read(columns)
                return [table[name].to_pandas().tolist() for name in columns]
    except Exception as error:  # other files cause exceptions of many types
        raise DataError(f"{path}: not a Parquet file: {error}. Fetch it again") from error
    raise DataError(f"{path} has no column {', '.join(missing)}, only {', '.join(names)}. Fetch it again")


def checked(row: str, ids: object, length: object, source: object) -> np.ndarray:
    """Returns the ids of a row, whose name is for errors."""
    if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu" or not ids.size:
        raise DataError(f"{row} has no list of token ids. Fetch it again")
    if len(ids) != length:
        raise DataError(f"{row} has {len(ids)} token ids, but its num_tokens is {length}. Fetch it again")
    outside = ids[(ids < 0) | (ids >= VOCABULARY)]
    if outside.size:
        raise DataError(f"{row} has the token id {outside[0]}, and those of {NAME} are 0 to {VOCABULARY - 1}. Fetch it again")
    if not isinstance(source, str):
        raise DataError(f"{row} has the dataset {source}, expected a name. Fetch it again")
    return ids
