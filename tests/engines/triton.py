"""Installs Triton from the Python package index, and builds the backend of the tests' models.

Usage: python3 triton.py FOLDER

FOLDER will contain `pytriton/tritonserver/bin/tritonserver`, the libraries that it needs, and in `backends` the backend of the models in
`triton/`: a download of 55 MB, 103 MB on the disk. It runs without Python and CUDA.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List

# pip must fetch exactly this file.
WHEEL = """nvidia-pytriton==0.7.0 \
--hash=sha256:21f063ff93bb426d0c06b7a55e7eb9efcfe62c0dddd9a908e9877e18710128df
"""
PLATFORM = "manylinux_2_35_x86_64"
SERVER = "pytriton/tritonserver/bin/tritonserver"
LIBRARIES = ("nvidia_pytriton.libs/", "pytriton/tritonserver/caches/")
# Library of Triton's Python backend.
UNUSED = "libpython3"
BACKEND = Path(__file__).parent / "triton/backend.cc"


def run(command: List[str], otherwise: str, **variables: str) -> None:
    try:
        env = {**os.environ, **variables}
        subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"triton: {otherwise} ({command[0]}: {error.strerror})")
    except subprocess.CalledProcessError as error:
        last = " ".join(" ".join(error.stderr.strip().splitlines()[-2:]).split())
        sys.exit(f"triton: {otherwise} ({last or error})")


def fetch(folder: Path) -> None:
    """Downloads Triton into `folder`, which is empty."""
    print("triton: downloading 55 MB, once", file=sys.stderr)
    (folder / "wheel.txt").write_text(WHEEL)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-cache-dir", "--no-deps", "--only-binary=:all:", f"--platform={PLATFORM}"]
    pip += ["--require-hashes", "--requirement", str(folder / "wheel.txt")]
    pip += ["--dest", str(folder / "wheel")]
    otherwise = "cannot download it: let `python3 -m pip` reach a package index"
    run(pip, otherwise, TMPDIR=str(folder))  # /tmp may be too small
    (wheel,) = (folder / "wheel").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            is_library = name.startswith(LIBRARIES) and not Path(name).name.startswith(UNUSED)
            if name == SERVER or is_library:
                archive.extract(name, folder)
    (folder / SERVER).chmod(0o755)
    shutil.rmtree(folder / "wheel")


def build(folder: Path) -> None:
    """Builds the backend in the folder where Triton looks for it."""
    library = folder / "backends/netdiv/libtriton_netdiv.so"
    library.parent.mkdir(parents=True)
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    compiler += ["-std=c++17", "-O1", "-Wall", "-shared", "-fPIC", "-pthread"]
    compiler += [str(BACKEND), "-o", str(library)]
    run(compiler, "cannot build the models' backend: install a C++ compiler, or set CXX to one")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("triton: the folder is missing: python3 triton.py FOLDER")
    if sys.platform != "linux" or platform.machine() != "x86_64":
        sys.exit("triton: its package supports only x86-64 Linux; run `make test` there")
    folder = Path(sys.argv[1])
    if not (folder / SERVER).is_file():
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        fetch(part)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    shutil.rmtree(folder / "backends", ignore_errors=True)
    build(folder)
    # The exit status is 1 either way.
    usage = subprocess.run([str(folder / SERVER), "--help"], capture_output=True, text=True)
    if "Usage" not in usage.stdout + usage.stderr:
        why = usage.stderr.strip() or f"exit status {usage.returncode}"
        sys.exit(f"triton: it needs glibc 2.35, libstdc++ and libz.so.1 (Debian: zlib1g): {why}")


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"triton: {error}: fix this and run the command again (it needs 300 MB of disk)")
    except KeyboardInterrupt:
        sys.exit("triton: interrupted: run the command again")
