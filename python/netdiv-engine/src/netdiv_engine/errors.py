"""Errors of an engine's file, each with the place in the file."""

from __future__ import annotations

import inspect
import traceback
from types import CodeType, TracebackType
from typing import Any, Optional


class EngineError(Exception):
    """Fault of the engine's file, or of what its functions return. The text names file and line."""


class NodeGone(Exception):
    """The node has closed its socket."""


def counted(number: int, thing: str) -> str:
    """Returns a number of things: `1 token`, `2 tokens`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def undecorated(function: Any) -> Any:
    """Returns the function of a method, without its decorators."""
    return inspect.unwrap(getattr(function, "__func__", function))


def at_function(function: Any, error: BaseException) -> EngineError:
    """Returns an error at the first line of a function."""
    code: Optional[CodeType] = getattr(undecorated(function), "__code__", None)
    why = str(error) if isinstance(error, EngineError) else _described(error)
    return EngineError(f"{code.co_filename}, line {code.co_firstlineno}: {why}" if code else why)


def at_failure(path: str, error: BaseException) -> EngineError:
    """Returns an error at the last line of the file `path` in the traceback of an exception."""
    if isinstance(error, EngineError):
        return error
    if isinstance(error, SyntaxError) and error.filename == path:
        return EngineError(f"{path}, line {error.lineno}: {type(error).__name__}: {error.msg}")
    line = _last_line(path, error.__traceback__)
    where = path if line is None else f"{path}, line {line}"
    return EngineError(f"{where}: {_described(error)}")


def is_in(path: str, error: BaseException) -> bool:
    """Returns true if the file `path` is in the traceback of an exception."""
    return _last_line(path, error.__traceback__) is not None


def _described(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _last_line(path: str, trace: Optional[TracebackType]) -> Optional[int]:
    lines = [frame.lineno for frame in traceback.extract_tb(trace) if frame.filename == path]
    return lines[-1] if lines else None
