#!/usr/bin/env bash
# Makes a release of the same commit once more, from a clone in another folder, and compares the files of both.
#
#   deploy/release/compare.sh WORK RELEASE
#
# RELEASE is the folder that deploy/release/release.sh has written; WORK is the folder in which the second release is made.
set -euo pipefail

if [ $# != 2 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
release=$(realpath "$2")
rm -rf "$1"
mkdir -p "$1/build"
work=$(realpath "$1")
cd "$(dirname "$0")/../.."

# Modes of files and the time zone differ, too.
umask 077
export TZ=Pacific/Kiritimati
git clone --quiet --no-hardlinks . "$work/clone"
# The tool is the same; all else is built anew.
ln -s "$(realpath "${CYCLONEDX:?is the folder of cargo-cyclonedx}")" "$work/build/cyclonedx"
"$work/clone/deploy/release/release.sh" "$work/build" "$work/release"
if ! diff "$release/SHA256SUMS" "$work/release/SHA256SUMS"; then
    echo "these files of $release and $work/release differ; both have to be of one commit, and images of one day's Debian" >&2
    exit 1
fi
echo "$(wc -l <"$release/SHA256SUMS") files are equal"
