"""Finds names that two types of one crate have: structs, enums, unions, traits and aliases, private ones and tests included.

    python3 tests/house/type_names.py        all members of the workspace
"""

import re
import sys
from collections import defaultdict

from sources import REPOSITORY, sources

# Associated types belong to a trait; they are indented, and an alias in a function's body is, too.
TYPE = re.compile(r"^(?P<indent>\s*)(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?P<kind>struct|enum|union|trait|type) (?P<name>\w+)")


def declared(text):
    """Yields the line number and name of each type that a file declares."""
    for number, line in enumerate(text.splitlines(), 1):
        if (found := TYPE.match(line)) and not (found["kind"] == "type" and found["indent"]):
            yield number, found["name"]


def repeated(files):
    """Returns the names that several types of a crate have, each with where they are: `{(crate, name): [FILE:LINE]}`."""
    places = defaultdict(list)
    for file in files:
        crate = next(folder for folder in file.parents if (REPOSITORY / folder / "Cargo.toml").exists())
        for number, name in declared((REPOSITORY / file).read_text(encoding="utf-8")):
            places[str(crate), name].append(f"{file}:{number}")
    return {key: at for key, at in sorted(places.items()) if len(at) > 1}


def main():
    found = repeated(sources(".rs"))
    for (crate, name), at in found.items():
        print(f"{crate}: {name}: {', '.join(at)}")
    if found:
        sys.exit(f"{len(found)} names: give each type of a crate a name of its own, after its role")


if __name__ == "__main__":
    main()
