"""Finds doc comments whose first sentence is neither a noun phrase nor a verb in the third person.

Reads the doc comments of Rust (`///`, `//!`) and the docstrings of Python. A comment that opens with "What", "Whether",
"Of", "The same" or another word of OPENINGS describes a clause, not a thing. Prints each with its file and line; fails if
there is one.

    python3 tests/house/openings.py [FILE OR FOLDER]...      without arguments: the whole repository
"""

import re
import sys

from sources import REPOSITORY, sources

OPENINGS = re.compile(r"(?:What|Whether|How|Why|Where|Which|Those|Of|One|The same)\b")
RUST = re.compile(r"\s*(//[/!])(?!/) ?(.*)")
DOCSTRING = re.compile(r'\s*[rR]?"""\s*(.*)')


def rust_comments(lines):
    """Yields the line number and first line of each doc comment."""
    before = None
    for number, line in enumerate(lines, 1):
        found = RUST.match(line)
        kind = found[1] if found else None
        if found and kind != before:
            yield number, found[2]
        before = kind


def docstrings(lines):
    """Yields the line number and first line of each docstring."""
    before = ""
    for number, line in enumerate(lines, 1):
        if (found := DOCSTRING.match(line)) and (number == 1 or before.endswith((":", "\\")) or before.startswith("#!")):
            yield number, found[1]
        before = line.strip() or before


READERS = {".rs": rust_comments, ".py": docstrings}


def findings(file):
    """Returns `FILE:LINE: TEXT` for each comment of a file that opens with a word of OPENINGS."""
    lines = (REPOSITORY / file).read_text(encoding="utf-8").splitlines()
    comments = READERS[file.suffix](lines)
    return [f"{file}:{number}: {text}" for number, text in comments if OPENINGS.match(text)]


def main():
    found = [line for file in sources(*READERS, under=sys.argv[1:] or ["."]) for line in findings(file)]
    if found:
        print(*found, sep="\n")
        sys.exit(f"{len(found)} comments: begin with a noun or with a verb in the third person, such as \"Returns\"")


if __name__ == "__main__":
    main()
