"""Builds a small CPU libtorch from the Python package index, and links it where the build looks.

Usage: python3 libtorch.py LINK

LINK becomes a symlink to `netdiv/libtorch-2.11.0-cpu` in the user's cache folder, which is made on
first use: 544 MB to download, 500 MB to keep. It is enough to build against and to run on CPUs.
If LIBTORCH names a libtorch of your own (a GPU node's, for example), LINK points there instead.
"""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List

VERSION = "2.11.0"
OWN = f"set LIBTORCH to the folder of your own libtorch {VERSION}"
# pip must fetch exactly these files, and not the build 2.11.0+cpu from another index.
WHEELS = f"""
torch=={VERSION} --hash=sha256:0f68f4ac6d95d12e896c3b7a912b5871619542ec54d3649cf48cc1edd4dd2756
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cupti==13.0.85 --hash=sha256:4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8
"""
TAGS = ["--python-version=3.12", "--implementation=cp", "--abi=cp312", "--abi=none"] + [
    f"--platform=manylinux{tag}_x86_64" for tag in ("_2_28", "_2_25", "2014", "_2_17")
]
LIBRARIES = [
    "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp.so.1",
    # libtorch_cpu.so loads these two for its profiler, even on a machine without a GPU.
    "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13",
]


def run(command: List[str], otherwise: str, **variables: str) -> None:
    try:
        env = {**os.environ, **variables}
        subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"libtorch: {otherwise} ({command[0]}: {error.strerror})")
    except subprocess.CalledProcessError as error:
        last = " ".join(" ".join(error.stderr.strip().splitlines()[-2:]).split())
        sys.exit(f"libtorch: {otherwise} ({last or error})")


def is_complete(home: Path) -> bool:
    names = ["libtorch.so"] + [Path(library).name for library in LIBRARIES]
    return (home / "build-version").is_file() and all((home / "lib" / n).is_file() for n in names)


def build(home: Path, work: Path) -> None:
    """Creates `home`, using the empty folder `work` beside it."""
    made = work / "made"
    (made / "lib").mkdir(parents=True)
    # torch-sys links -ltorch. The real library is not needed, and would pull in all of CUDA.
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    compiler += ["-shared", "-nostdlib", "-Wl,-soname,libtorch.so", "-x", "c++", os.devnull]
    compiler += ["-o", str(made / "lib/libtorch.so")]
    run(compiler, "cannot make libtorch.so: install a C++ compiler, or set CXX to yours")

    print("libtorch: downloading 544 MB, once", file=sys.stderr)
    (work / "wheels.txt").write_text(WHEELS)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-cache-dir", "--no-deps", "--only-binary=:all:", *TAGS, "--require-hashes"]
    pip += ["--requirement", str(work / "wheels.txt"), "--dest", str(work / "wheels")]
    otherwise = f"cannot download libtorch: let `python3 -m pip` reach a package index, or {OWN}"
    run(pip, otherwise, TMPDIR=str(work))  # /tmp may be too small

    for wheel in (work / "wheels").iterdir():
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith("torch/include/") or name in LIBRARIES:
                    archive.extract(name, work)
    (work / "torch/include").rename(made / "include")
    for library in LIBRARIES:
        (work / library).rename(made / "lib" / Path(library).name)
    (made / "build-version").write_text(VERSION + "\n")
    shutil.rmtree(home, ignore_errors=True)
    made.rename(home)


def cached() -> Path:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        sys.exit(f"libtorch: only x86-64 Linux is supported: elsewhere {OWN}")
    import fcntl  # other systems may lack it

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "netdiv"
    home, work, lock = (cache / f"libtorch-{VERSION}-cpu{end}" for end in ("", ".part", ".lock"))
    cache.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # another build may be running
        if not is_complete(home):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                build(home, work)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return home


def own(folder: Path) -> Path:
    """Returns the user's libtorch: the folder of a release, or `torch` in a Python installation."""
    files = [folder / name for name in ("build-version", "version.py") if (folder / name).is_file()]
    if not files or not (folder / "lib").is_dir():
        sys.exit(f"libtorch: LIBTORCH={folder} lacks lib/ or a version file: {OWN}, or unset it")
    found = re.search(r"\b\d+\.\d+[\w.]*", files[0].read_text())  # 2.11.0 of '2.11.0+cu130'
    version = found.group() if found else "unknown"
    if version != VERSION:
        sys.exit(f"libtorch: LIBTORCH={folder} is version {version}: {OWN}, or unset it")
    return folder.resolve()


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("libtorch: expected one argument: python3 libtorch.py LINK")
    given, link = os.environ.get("LIBTORCH"), Path(sys.argv[1])
    home = own(Path(given)) if given else cached()
    if link.exists() and not link.is_symlink():
        sys.exit(f"libtorch: {link} exists and is not a symlink: remove it and run this again")
    if not link.is_symlink() or os.readlink(link) != str(home):
        link.parent.mkdir(parents=True, exist_ok=True)
        fresh = link.with_name(f"{link.name}.{os.getpid()}")
        fresh.symlink_to(home)
        fresh.replace(link)
    print(f"libtorch: {link} -> {home}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"libtorch: {error}: fix this and run this again (it needs 1.2 GB of disk)")
    except KeyboardInterrupt:
        sys.exit("libtorch: interrupted: run this again")
