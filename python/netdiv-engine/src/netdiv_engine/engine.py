"""The class of an engine in its file, and the arguments of its functions."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np

from .declaration import Declaration, declare, unreadable
from .errors import EngineError, at_failure, at_function, is_in


@dataclass(frozen=True)
class Context:
    """Facts about an instance, which `load` receives."""

    #: Folder of the engine's file.
    folder: str
    #: Number of processor threads that this instance may use.
    threads: int
    #: Number of this instance, from 0, and the number of instances on this node.
    instance: int
    instances: int


class Request:
    """A prompt and the limits of its output, which `generate` receives."""

    __slots__ = ("ids", "max_tokens", "min_tokens", "eos", "seed", "is_cancelled")

    def __init__(
        self, ids: "np.ndarray[Any, Any]", declaration: Declaration, max_tokens: Optional[int] = None, seed: Optional[int] = None
    ) -> None:
        #: Token ids of the prompt, int32.
        self.ids = ids
        #: Limits of the output. A run may lower the class's max_tokens.
        self.max_tokens = declaration.max_tokens if max_tokens is None else max_tokens
        self.min_tokens = min(declaration.min_tokens, self.max_tokens)
        #: Seed with which a class that samples draws the tokens; None if any will do.
        self.seed = seed
        self.eos = tuple(declaration.eos)
        #: True once nobody waits for the output any more.
        self.is_cancelled = False


class Engine:
    """An engine: the instance of the class in a file, and its checked declaration."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        module = _module(self.path)
        engine, line = _only_class(self.path, module)
        self.declaration = declare(engine, self.path, line)
        try:
            self.instance = engine()
        except BaseException as error:
            raise at_failure(self.path, error) from error

    def load(self, context: Context) -> None:
        """Calls `load`, which a class may leave out."""
        load: Optional[Callable[[Context], None]] = getattr(self.instance, "load", None)
        if load is None:
            return
        try:
            load(context)
        except BaseException as error:
            raise at_failure(self.path, error) from error

    def placed(self, function: Any, error: BaseException) -> EngineError:
        """Returns an error at its place: that of an exception in the file, or `function` for what it returned."""
        if isinstance(error, EngineError) or not is_in(self.path, error):
            return at_function(function, error)
        return at_failure(self.path, error)


def _module(path: str) -> Any:
    why = unreadable(path)
    if why is not None:
        raise EngineError(f"{path}: {why}")
    # Modules beside the file can be imported.
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("netdiv_user_engine", path)
    if spec is None or spec.loader is None:
        raise EngineError(f"{path}: not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise at_failure(path, error) from error
    return module


def _line(engine: type) -> int:
    try:
        return inspect.getsourcelines(engine)[1]
    except (OSError, TypeError):
        # A class that `type()` has made.
        return 1


def _only_class(path: str, module: Any) -> "tuple[type, int]":
    classes = dict.fromkeys(one for one in vars(module).values() if inspect.isclass(one))
    own = [one for one in classes if one.__module__ == module.__name__]
    engines = [one for one in own if hasattr(one, "infer") or hasattr(one, "generate")]
    # A class that another one extends is not the engine.
    engines = [one for one in engines if not any(one in other.__mro__[1:] for other in engines)]
    lines = {one: _line(one) for one in engines}
    if len(engines) == 1:
        return engines[0], lines[engines[0]]
    if not engines:
        raise EngineError(f"{path}, line 1: no class has infer(self, batch) or generate(self, request); write one")
    named = ", ".join(f"{one.__name__} (line {line})" for one, line in lines.items())
    raise EngineError(f"{path}, line {max(lines.values())}: {len(engines)} classes have infer or generate: {named}; keep one")
