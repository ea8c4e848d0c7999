#!/usr/bin/env python3
"""Lists the versions in lock files that their authors have yanked.

`cargo update --dry-run` updates cargo's copy of the registry's index, from the configured registry; the script reads that copy. A
version without an entry is an error. Security advisories are checked by `make advisories`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

INDEX = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"), "registry/index")
CRATE = re.compile(r'name = "(.+)"\nversion = "(.+)"\nsource = "(?:registry|sparse)\+')


def entries(name):
    """Yields the index's entry of each version of a crate."""
    name = name.lower()
    folder = {1: "1", 2: "2", 3: f"3/{name[0]}"}.get(len(name), f"{name[:2]}/{name[2:4]}")
    for file in INDEX.glob(f"*/.cache/{folder}/{name}"):
        # Version and release of the file's format, then pairs: a version, and a line of the index.
        yield from (json.loads(part) for part in file.read_bytes().split(b"\0") if part.startswith(b"{"))


def main(manifests):
    bad = []
    for manifest in manifests:
        update = [os.environ.get("CARGO", "cargo"), "update", "--dry-run", "--quiet", "--manifest-path", manifest]
        subprocess.run(update, check=True, stderr=subprocess.DEVNULL)
        crates = CRATE.findall(Path(manifest).with_name("Cargo.lock").read_text())
        for name, version in crates:
            # The folder may contain a mirror's index beside the registry's.
            known = [entry["yanked"] for entry in entries(name) if entry["vers"] == version]
            if not known:
                bad.append(f"{manifest}: {name} {version}: missing in cargo's copy of the index")
            elif any(known):
                bad.append(f"{manifest}: {name} {version} was yanked; run cargo update --package {name}")
        print(f"{manifest}: {len(crates)} crates looked up in the index")
    sys.exit("\n".join(bad) or 0)


main(sys.argv[1:])
