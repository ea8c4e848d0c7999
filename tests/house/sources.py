"""Lists the sources of the repository, with or without git."""

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SKIPPED = {"target", "out", "__pycache__"}


def sources(*suffixes, under=(".",)):
    """Yields the paths of files with these suffixes, relative to the repository. Fails if there is no such file."""
    found = False
    for root in under:
        path = REPOSITORY / root
        walked = [(path.parent, [], [path.name])] if path.is_file() else os.walk(path)
        for folder, folders, names in walked:
            folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
            for name in sorted(names):
                if name.endswith(suffixes):
                    found = True
                    yield (Path(folder) / name).relative_to(REPOSITORY)
    if not found:
        sys.exit(f"{', '.join(under)}: no file ends with {' or '.join(suffixes)}")
