"""Errors of files, each with the path and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ResultsError(Exception):
    """Fault of a file or a folder. The text names it and says what to do."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns any failure to read or to interpret a file into an error that names the file."""
    try:
        yield
    except ResultsError:
        raise
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror or error}; check the path and its permissions") from error
    except Exception as error:
        why = f"it lacks the key {error}" if isinstance(error, KeyError) else str(error)
        raise ResultsError(
            f"{path}: damaged, or written by a newer netdiv: {why}; copy the file again, or install the netdiv-results of that netdiv"
        ) from error
