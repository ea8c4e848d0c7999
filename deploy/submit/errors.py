"""Errors that prevent or stop a campaign."""


class Refused(Exception):
    """Errors in files or options, all at once, which must be corrected before anything is run."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Stopped(Exception):
    """Failure of a step; the text says which, why, and what to do. `code` is the exit code; 3 if a program crashed."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code if code in (1, 2) else 3
