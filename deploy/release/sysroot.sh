#!/usr/bin/env bash
# Makes the libraries and headers with which a release is built, from Debian 11's packages.
#
#   deploy/release/sysroot.sh FOLDER
#
# Debian 11 has glibc 2.31 and GCC 10; symbols that RHEL 8 lacks are hidden. docs/adr/0014-a-release.md has the reasons.
set -euo pipefail

if [ $# != 1 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
if ! command -v mmdebstrap >/dev/null; then
    echo "mmdebstrap is missing: install it with apt-get install mmdebstrap" >&2
    exit 2
fi
here=$(dirname "$(realpath "$0")")
mkdir -p "$(dirname "$1")"
folder=$(realpath "$1")
gnu=$(uname -m)-linux-gnu

rm -rf "$folder" "$folder.part"
mmdebstrap --quiet --variant=extract --include=libc6-dev,libstdc++-10-dev bullseye "$folder.part"
# An absolute link leads out of the folder.
find "$folder.part" -lname '/*' | while read -r link; do
    ln -sfrT "$folder.part$(readlink "$link")" "$link"
done
python3 "$here/symbols.py" hide "$folder.part"
# glibc 2.28 has no waits by a clock of the caller's, which these lines let C++ call.
sed -i -E '/define _GLIBCXX_USE_PTHREAD_[A-Z]+_CLOCK(WAIT|LOCK) 1/d' "$folder.part/usr/include/$gnu/c++/10/bits/c++config.h"
touch "$folder.part"
mv "$folder.part" "$folder"
