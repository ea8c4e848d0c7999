"""Limits the versions of the symbols that programs need from the C and C++ libraries.

    python3 symbols.py hide FOLDER      hides newer symbols of the libraries in FOLDER from linkers
    python3 symbols.py check FILE...    fails if a program or a library needs newer symbols

The hidden bit of a symbol's version is all that a linker looks at: of several versions of a symbol it uses the one that is not hidden. `hide`
sets the bit on newer versions and clears it on the newest that remains, so that a program linked with these libraries runs with older ones.
"""

import re
import struct
import sys
from pathlib import Path

# Those of RHEL 8: glibc 2.28 and GCC 8.
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11)}
HIDDEN = 0x8000
DYNSYM, VERDEF, VERNEED, VERSYM = 11, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF


def sections(data):
    """Returns (link, offset, size) of each section by its type, and (offset, size) of all sections by number."""
    start, size, count = struct.unpack_from("<Q10xHH", data, 0x28)
    headers = [struct.unpack_from("<IIQQQQII", data, start + size * number) for number in range(count)]
    return {header[1]: (header[6], header[4], header[5]) for header in headers}, [header[4:6] for header in headers]


def text(data, offset):
    return data[offset : data.index(b"\0", offset)].decode()


def version(name):
    """Returns the family and the number of a version such as GLIBC_2.28, or None for others, such as GLIBC_PRIVATE."""
    found = re.fullmatch(r"([A-Z]+)_([\d.]+)", name)
    if found and found[1] in LIMITS:
        return found[1], tuple(int(number) for number in found[2].split("."))
    return None


def is_newer(name):
    found = version(name)
    return found is not None and found[1] > LIMITS[found[0]]


def defined_versions(data, offset, strings):
    """Returns the name of each version that a library defines, by its index."""
    names = {}
    while True:
        _, _, index, _, _, first, after = struct.unpack_from("<HHHHIII", data, offset)
        names[index] = text(data, strings + struct.unpack_from("<I", data, offset + first)[0])
        if after == 0:
            return names
        offset += after


def needed_versions(data):
    by_type, places = sections(data)
    if VERNEED not in by_type:
        return []
    link, offset, _ = by_type[VERNEED]
    strings, names = places[link][0], []
    while True:
        _, count, _, first, after = struct.unpack_from("<HHIII", data, offset)
        entry = offset + first
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, entry)
            names.append(text(data, strings + name))
            entry += step
        if after == 0:
            return names
        offset += after


def hide(path):
    """Hides newer symbols of a library, and returns their number."""
    data = bytearray(path.read_bytes())
    by_type, places = sections(data)
    if not {DYNSYM, VERDEF, VERSYM} <= by_type.keys():
        return 0
    link, offset, size = by_type[DYNSYM]
    strings, versions = places[link][0], by_type[VERSYM][1]
    names = defined_versions(data, by_type[VERDEF][1], strings)
    symbols = {}
    for number in range(size // 24):
        name, _, _, section = struct.unpack_from("<IBBH", data, offset + 24 * number)
        at = versions + 2 * number
        index = struct.unpack_from("<H", data, at)[0]
        found = names.get(index & ~HIDDEN, "")
        if section != 0 and version(found):
            symbols.setdefault(text(data, strings + name), []).append((version(found), found, at, index))
    hidden = 0
    for entries in symbols.values():
        shown = [entry for entry in entries if not entry[3] & HIDDEN and is_newer(entry[1])]
        for _, _, at, index in shown:
            struct.pack_into("<H", data, at, index | HIDDEN)
            hidden += 1
        older = [entry for entry in entries if not is_newer(entry[1])]
        if shown and older:
            _, _, at, index = max(older)
            struct.pack_into("<H", data, at, index & ~HIDDEN)
    path.write_bytes(data)
    return hidden


def check(paths):
    for path in paths:
        needed = set(needed_versions(path.read_bytes()))
        if not needed:
            sys.exit(f"{path} needs no versions of symbols: expected a program or a library that is linked with glibc")
        # GLIBC_ABI_DT_RELR and the like mark features of loaders since 2.36.
        if newer := sorted(name for name in needed if is_newer(name) or name.startswith("GLIBC_ABI_")):
            limits = ", ".join(f"{family}_{'.'.join(map(str, limit))}" for family, limit in LIMITS.items())
            sys.exit(f"{path} needs {', '.join(newer)}; link it with the libraries of deploy/release/sysroot.sh, which end at {limits}")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("hide", "check"):
        sys.exit(__doc__)
    if sys.argv[1] == "check":
        return check([Path(name) for name in sys.argv[2:]])
    files = [path for path in Path(sys.argv[2]).rglob("*.so*") if path.is_file() and not path.is_symlink()]
    libraries = [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
    print(f"{sum(map(hide, libraries))} symbols of {len(libraries)} libraries are newer, and hidden")


if __name__ == "__main__":
    main()
