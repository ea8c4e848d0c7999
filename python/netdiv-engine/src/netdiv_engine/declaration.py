"""Declaration of an engine: the attributes of its class, checked."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import json
import os
import stat
from dataclasses import dataclass, field, fields
from typing import Any, Optional, Sequence, Union

import numpy as np

from .errors import EngineError
from .protocol import MAX_MESSAGE

#: Element types of samples and responses.
DATA_TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32")

#: Maximum number of dimensions of a tensor, without the batch.
MAX_RANK = 8

#: Maximum batch, and maximum number of samples in flight of a language model.
MAX_BATCH = 4096

#: Maximum length of a dimension.
MAX_LENGTH = 1 << 30

#: Maximum number of inputs.
MAX_INPUTS = 64

#: Maximum number of named lengths in a message about a batch.
MAX_LENGTHS = 16 << 10

#: Maximum number of tokens of a prompt or an output.
MAX_TOKENS = 1 << 20

#: Maximum length of all attributes in JSON, in bytes. Their names need the rest of a message.
MAX_ATTRIBUTES = MAX_MESSAGE - 1024

#: Kinds of files that are not regular files.
KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Tensor:
    """Name, element type and dimensions of an input or output, without the batch.

    A dimension is a length, or a name for a length that differs among samples; `max_lengths` of the class has the
    maximum of each name.
    """

    name: str
    dtype: str
    shape: Sequence[Union[int, str]] = ()


@dataclass
class Declaration:
    """Attributes of an engine's class, checked."""

    name: str
    is_language_model: bool
    max_batch: int
    weights: "list[str]" = field(default_factory=list)
    framework: str = ""
    inputs: "list[Tensor]" = field(default_factory=list)
    outputs: "list[Tensor]" = field(default_factory=list)
    max_lengths: "dict[str, int]" = field(default_factory=dict)
    counts_tokens: bool = False
    vocabulary: int = 0
    max_input_tokens: int = 0
    max_tokens: int = 0
    min_tokens: int = 1
    eos: "list[int]" = field(default_factory=list)
    prefix_caching: Optional[bool] = None
    sampled: bool = False

    def attributes(self) -> "dict[str, Any]":
        """Returns the attributes that the node needs, as JSON has them."""
        known = {key: value for key, value in vars(self).items() if key != "weights"}
        return {**known, **{name: [vars(tensor) for tensor in known[name]] for name in ("inputs", "outputs")}}


#: Attributes of a class that have a meaning.
ATTRIBUTES = {one.name for one in fields(Declaration)} - {"is_language_model"} | {"example"}

#: Minimum similarity of a misspelt attribute and the one meant, from 0 to 1: `max_batch_size` and `max_batch` have 0.783.
ALIKE = 0.78


class _Reader:
    """Reads attributes of a class; errors name the class's line."""

    def __init__(self, engine: type, where: str) -> None:
        self.engine, self.where = engine, where

    def fault(self, why: str) -> EngineError:
        return EngineError(f"{self.where}: class {self.engine.__name__}: {why}")

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self.engine, name, default)

    def refuse_misspelt(self) -> None:
        """Refuses a public attribute whose name is similar to that of an attribute which the class does not have."""
        missing = [name for name in ATTRIBUTES if not hasattr(self.engine, name)]
        for name in sorted(set(dir(self.engine)) - ATTRIBUTES):
            value = inspect.getattr_static(self.engine, name)
            is_plain = isinstance(value, (bool, int, float, str, list, tuple, dict)) and not name.startswith("_")
            for meant in difflib.get_close_matches(name, missing, 1, ALIKE) if is_plain else ():
                raise self.fault(f"{name} is not an attribute of engines: write {meant}, or begin an attribute of your own with _")

    def whole(self, name: str, least: int, most: int, default: Optional[int] = None) -> int:
        value = self.get(name, default)
        if value is None:
            raise self.fault(f"{name} is missing: write {name} = N")
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.fault(f"{name} = {value!r}: write a whole number from {least} to {most}")
        return value

    def truth(self, name: str) -> Optional[bool]:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.fault(f"{name} = {value!r}: write True or False")
        return value

    def tensors(self, name: str, lengths: "dict[str, int]") -> "list[Tensor]":
        value = self.get(name)
        if not isinstance(value, (list, tuple)) or not value:
            wrong = "is missing" if value is None else f"= {value!r:.100}"
            raise self.fault(f"{name} {wrong}: write {name} = [Tensor(NAME, DTYPE, SHAPE), …]")
        return [self.tensor(name, one, lengths) for one in value]

    def tensor(self, name: str, one: Any, lengths: "dict[str, int]") -> Tensor:
        if not all(hasattr(one, part) for part in ("name", "dtype", "shape")):
            raise self.fault(f"{name} has {one!r}: write Tensor(NAME, DTYPE, SHAPE)")
        try:
            dtype = np.dtype(one.dtype).name
        except TypeError:
            dtype = ""
        if dtype not in DATA_TYPES:
            raise self.fault(f"{name}: {one.name}: dtype {one.dtype!r}: choose one of {', '.join(DATA_TYPES)}")
        shape = tuple(one.shape) if isinstance(one.shape, (list, tuple)) else (one.shape,)
        if len(shape) > MAX_RANK:
            raise self.fault(f"{name}: {one.name}: {len(shape)} dimensions; at most {MAX_RANK} are possible")
        for length in shape:
            is_whole = isinstance(length, int) and not isinstance(length, bool) and 0 < length <= MAX_LENGTH
            if not is_whole and not isinstance(length, str):
                raise self.fault(f"{name}: {one.name}: length {length!r}: write a number above 0, or a name")
            if isinstance(length, str) and length not in lengths:
                raise self.fault(f"{name}: {one.name}: write the maximum of {length!r} in max_lengths = {{{length!r}: N}}")
        return Tensor(str(one.name), dtype, shape)


def declare(engine: type, path: str, line: int) -> Declaration:
    """Reads the attributes of a class that the file `path` defines at `line`. Raises EngineError."""
    reader = _Reader(engine, f"{path}, line {line}")
    try:
        known = _declare(reader, engine, path)
    except EngineError:
        raise
    except BaseException as error:
        raise reader.fault(f"an attribute cannot be read: {error}") from error
    lengths = {name: len(json.dumps(value)) for name, value in known.attributes().items()}
    if sum(lengths.values()) > MAX_ATTRIBUTES:
        longest = max(lengths, key=lambda name: lengths[name])
        raise reader.fault(
            f"{longest} has {lengths[longest]} bytes in JSON, and all attributes together have at most {MAX_ATTRIBUTES}: shorten it"
        )
    return known


def _declare(reader: _Reader, engine: type, path: str) -> Declaration:
    if inspect.iscoroutinefunction(getattr(engine, "load", None)):
        raise reader.fault("load must not be async")
    is_tensors, is_tokens = (callable(getattr(engine, name, None)) for name in ("infer", "generate"))
    if is_tensors == is_tokens:
        raise reader.fault("it needs either infer(self, batch) or generate(self, request)")
    reader.refuse_misspelt()
    weights = reader.get("weights", [])
    if isinstance(weights, (str, os.PathLike)):
        weights = [weights]
    if not isinstance(weights, (list, tuple)):
        raise reader.fault(f"weights = {weights!r}: write a list of files or folders")
    folder = os.path.dirname(path)
    weights = [os.path.join(folder, os.fspath(one)) for one in weights]
    for one in weights:
        for name in _files(one):
            why = unreadable(name)
            if why is not None:
                raise reader.fault(f"weights: {name}: {why}")
    known = Declaration(
        name=str(reader.get("name", engine.__name__)),
        is_language_model=is_tokens,
        max_batch=reader.whole("max_batch", 1, MAX_BATCH, 64 if is_tokens else 32),
        weights=weights,
        framework=str(reader.get("framework", "")),
    )
    if is_tokens:
        return _declare_tokens(reader, known)
    lengths = reader.get("max_lengths", {})
    if not isinstance(lengths, dict) or not all(isinstance(one, int) and 0 < one <= MAX_LENGTH for one in lengths.values()):
        raise reader.fault("max_lengths: write {NAME: N, …}")
    known.max_lengths = {str(name): int(length) for name, length in lengths.items()}
    known.inputs = reader.tensors("inputs", known.max_lengths)
    known.outputs = reader.tensors("outputs", known.max_lengths)
    names = [tensor.name for tensor in known.inputs]
    if len(set(names)) < len(names):
        raise reader.fault("two inputs have the same name")
    if len(names) > MAX_INPUTS:
        raise reader.fault(f"{len(names)} inputs; at most {MAX_INPUTS} are possible")
    if len(known.outputs) != 1:
        raise reader.fault(f"outputs has {len(known.outputs)} tensors: a response is one tensor")
    known.counts_tokens = bool(reader.truth("counts_tokens"))
    for name, tensors, counts in (("inputs", known.inputs, False), ("outputs", known.outputs, known.counts_tokens)):
        named = counts + sum(isinstance(length, str) for tensor in tensors for length in tensor.shape)
        if named * known.max_batch > MAX_LENGTHS:
            kinds = "named lengths and counts" if counts else "named lengths"
            raise reader.fault(f"{name} has {named} {kinds}; with max_batch = {known.max_batch} at most {MAX_LENGTHS // known.max_batch} fit")
    return known


def _declare_tokens(reader: _Reader, known: Declaration) -> Declaration:
    known.vocabulary = reader.whole("vocabulary", 1, 2**31 - 1)
    known.max_input_tokens = reader.whole("max_input_tokens", 1, MAX_TOKENS)
    known.max_tokens = reader.whole("max_tokens", 1, MAX_TOKENS)
    known.min_tokens = reader.whole("min_tokens", 1, known.max_tokens, 1)
    eos = reader.get("eos", ())
    known.eos = [eos] if isinstance(eos, int) else list(eos)
    for one in known.eos:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < known.vocabulary:
            raise reader.fault(f"eos has {one!r}; ids go from 0 to {known.vocabulary - 1}")
    known.prefix_caching = reader.truth("prefix_caching")
    known.sampled = reader.truth("sampled") or False
    return known


def unreadable(path: str) -> Optional[str]:
    """Returns the reason why a path is not that of a regular file; None if it is. A pipe or a device may never end."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "no such file"
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISREG(mode):
        return None
    return f"it is {KINDS.get(stat.S_IFMT(mode), 'something else')}; name a regular file"


def sha256(path: str, weights: "Sequence[str]") -> str:
    """Returns the SHA-256 of the engine's file and its weights, one after the other. A folder counts as its files, in order."""
    digest = hashlib.sha256()
    for one in [path, *weights]:
        for name in _files(one):
            with open(name, "rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()


def _files(path: str) -> "list[str]":
    if not os.path.isdir(path):
        return [path]
    found = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sorted(found)
