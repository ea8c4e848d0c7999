#!/usr/bin/env bash
# Makes a release of the current commit: tarball, Debian package, wheels, images, SBOM, changes, checksums.
#
#   deploy/release/release.sh WORK OUTPUT
#
# As root on Debian 12. WORK keeps what Cargo builds, and contains cyclonedx/bin/cargo-cyclonedx; OUTPUT is replaced. IMAGES=0 omits the images.
set -euo pipefail

if [ $# != 2 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
for tool in mmdebstrap strip dpkg-deb dpkg-shlibdeps $([ "${IMAGES-1}" = 0 ] || echo buildah); do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is missing: install it with apt-get install binutils buildah dpkg-dev mmdebstrap" >&2
        exit 2
    fi
done
# Prints the commit, with the changes that it lacks.
state() {
    git -C "$here" rev-parse HEAD
    git -C "$here" status --porcelain
}
here=$(dirname "$(realpath "$0")")
commit=$(state)
if [[ $commit == *$'\n'* ]]; then
    printf 'the sources have changes, so that no commit names them: commit or remove them\n%s\n' "$commit" >&2
    exit 2
fi
if [ -d "$2" ] && [ -n "$(ls -A "$2")" ] && ! [ -e "$2/CHANGES.md" ]; then
    echo "$2 has other files than a release: remove it, or name another folder" >&2
    exit 2
fi
rm -rf "$2"
mkdir -p "$1" "$2"
work=$(realpath "$1") output=$(realpath "$2")
cd "$(dirname "$0")/../.."
version=$(deploy/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022
# What may go wrong goes wrong before the programs are compiled.
awk -v "head=## [$version]" 'index($0, "## [") == 1 { inside = index($0, head) == 1 } inside' CHANGELOG.md >"$output/CHANGES.md"
if ! [ -s "$output/CHANGES.md" ]; then
    echo "CHANGELOG.md has no section [$version]: rename \"Unreleased\"" >&2
    exit 2
fi
python3 "$here/sbom.py" "$version" "$work/cyclonedx/bin/cargo-cyclonedx" "$output/netdiv-$version.cdx.json"
python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$output" ./python/netdiv-engine ./python/netdiv-results

programs=$work/programs
rm -rf "$programs"
"$here/build.sh" "$work" "$programs"
name=netdiv-$version-$(uname -m)-linux
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
"$here/stage.sh" "$programs" "$tree"
python3 "$here/wheel.py" "$version" "$tree" "$output"
# A node looks for the plug-in beside itself.
install -m 644 -t "$tree/bin" "$programs/libnetdiv_engine_torch.so"
python3 "$here/archive.py" "$tree" "$output/$name.tar.xz" "$name"

# The versions are those of LIMITS in symbols.py; this machine's packages would ask for its own.
DEPENDS="libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8.1)" DEBFULLNAME=$(git log -1 --format=%an) DEBEMAIL=$(git log -1 --format=%ae) deploy/debian/build.sh "$programs" "$output"
[ "${IMAGES-1}" = 0 ] || "$here/images.sh" "$version" "$programs" "$output"
if [ "$(state)" != "$commit" ]; then
    printf 'the sources are no longer those of %s: make the release again\n' "$commit" >&2
    exit 1
fi
(cd "$output" && LC_ALL=C && sha256sum -- * >SHA256SUMS)
(cd "$output" && du --apparent-size -h -- *)
