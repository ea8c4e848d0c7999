"""Why a campaign cannot begin, or does not go on."""


class Refused(Exception):
    """Files or options that have to be corrected before anything is run: all of them at once."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Stopped(Exception):
    """A step that did not succeed: what it was, why, and what to do. `code` is the exit code, of a program that crashed 3."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code if code in (1, 2) else 3
