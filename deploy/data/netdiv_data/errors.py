"""Errors that a user can fix."""


class DataError(Exception):
    """Invalid source or options; the text says what to do."""


class WorkerError(Exception):
    """Death of a process that made samples; the same command continues."""
