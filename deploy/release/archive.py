"""Packs a folder as an archive whose bytes depend on names, modes and contents alone.

    python3 archive.py FOLDER ARCHIVE [NAME]

An archive that ends in .xz is compressed. Entries are below NAME, or without it at the top. SOURCE_DATE_EPOCH is the time of all entries.
"""

import contextlib
import lzma
import os
import platform
import sys
import tarfile
from pathlib import Path

# The programs have most of their code in common, so that a window over all of them halves the archive. The default is 8 MiB.
WINDOW = 128 << 20
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": WINDOW}]
if platform.machine() == "x86_64":
    FILTERS.insert(0, {"id": lzma.FILTER_X86})


def main():
    folder, archive = Path(sys.argv[1]), Path(sys.argv[2])
    time = int(os.environ["SOURCE_DATE_EPOCH"])

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = time
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with contextlib.ExitStack() as stack:
        output = stack.enter_context(archive.open("wb"))
        if archive.suffix == ".xz":
            output = stack.enter_context(lzma.open(output, "wb", filters=FILTERS))
        tar = stack.enter_context(tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT))
        for path in sorted(folder.rglob("*")):
            name = Path(*sys.argv[3:4], path.relative_to(folder))
            tar.add(path, arcname=name, recursive=False, filter=plain)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main()
