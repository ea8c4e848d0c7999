"""Progress of a preparation, on standard error."""

import sys
import time


class Progress:
    """Progress report: every second on a terminal, every ten seconds elsewhere."""

    def __init__(self, what: str, count: int, done: int = 0) -> None:
        self.what, self.count, self.before, self.done = what, count, done, done
        self.began = self.said = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def one_more(self) -> None:
        """Counts a sample that is ready."""
        self.done += 1
        now = time.monotonic()
        if self.done == self.count or now - self.said >= (1 if self.terminal else 10):
            self.said = now
            self.say(now)

    def say(self, now: float) -> None:
        rate = (self.done - self.before) / max(now - self.began, 1e-9)
        left = int((self.count - self.done) / rate)
        line = f"{self.what}: {self.done} of {self.count}, {rate:.1f}/s, {left // 60} min {left % 60} s left"
        end = "\n" if not self.terminal or self.done == self.count else "\r"
        print(line, file=sys.stderr, end=end, flush=True)
