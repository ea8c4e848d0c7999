"""Writes the wheel `netdiv`, which puts the programs on the PATH.

    python3 wheel.py VERSION TREE OUTPUT

TREE is what deploy/release/stage.sh has laid out. SOURCE_DATE_EPOCH is the time of all files.
"""

import base64
import hashlib
import os
import platform
import sys
import time
import zipfile
from pathlib import Path

from symbols import LIMITS

PROGRAMS = ["loadgen-node", "netdiv-demo", "netdiv-in-process", "sut-node"]
TAG = f"py3-none-manylinux_{'_'.join(map(str, LIMITS['GLIBC']))}_{platform.machine()}"
METADATA = """Metadata-Version: 2.1
Name: netdiv
Version: {version}
Summary: Client and server for the Network division of MLPerf Inference: sut-node and loadgen-node
License: Apache-2.0
Requires-Python: >=3.6
Description-Content-Type: text/markdown

The programs `loadgen-node`, which runs the official MLCommons LoadGen, and `sut-node`, which answers its samples over the network.
`netdiv-demo` runs both on this machine, and writes a report. Engines in Python are in the package `netdiv-engine`.
"""
WHEEL = f"""Wheel-Version: 1.0
Generator: netdiv
Root-Is-Purelib: false
Tag: {TAG}
"""


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main(version, tree, output):
    data, information = f"netdiv-{version}.data", f"netdiv-{version}.dist-info"
    paths = {f"{data}/scripts/{program}": Path(tree, "bin", program) for program in PROGRAMS}
    # Messages name installed pages of the documents.
    shared = (path for path in sorted(Path(tree, "share").rglob("*")) if path.is_file())
    paths |= {f"{data}/data/{path.relative_to(tree)}": path for path in shared}
    files = {name: path.read_bytes() for name, path in paths.items()}
    files[f"{information}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{information}/WHEEL"] = WHEEL.encode()
    files[f"{information}/licenses/LICENSE"] = (Path(__file__).parents[2] / "LICENSE").read_bytes()
    record = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{information}/RECORD"] = "".join([*record, f"{information}/RECORD,,\n"]).encode()

    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(Path(output, f"netdiv-{version}-{TAG}.whl"), "w") as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.create_system = 3  # Unix, whose modes follow
            executable = name in paths and paths[name].stat().st_mode & 0o100
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
