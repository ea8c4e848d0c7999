"""What a user can put right."""


class DataError(Exception):
    """The source, or what was asked for, does not allow a data set; the text says what to do."""


class WorkerError(Exception):
    """A process that made samples is gone; the same command goes on."""
