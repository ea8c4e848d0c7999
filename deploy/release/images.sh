#!/usr/bin/env bash
# Builds the images node and loadgen on a minimal Debian 12, each as a tar archive in OCI's layout.
#
#   deploy/release/images.sh VERSION PROGRAMS OUTPUT
#
# As root, with buildah and mmdebstrap. SOURCE_DATE_EPOCH is the time of all files; the base is Debian's of the day.
set -euo pipefail

if [ $# != 3 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
version=$1 programs=$(realpath "$2") output=$(realpath "$3")
cd "$(dirname "$0")/../.."
umask 022
work=$(mktemp -d)
export CONTAINERS_STORAGE_CONF=$work/storage.conf BUILDAH_ISOLATION=chroot BUILD="buildah build"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s"\ngraphroot = "%s"\n' "$work/run" "$work/graph" >"$CONTAINERS_STORAGE_CONF"
trap 'buildah rm --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

# A clone, whose modes do not depend on the umask of the user's.
git clone --quiet --shared . "$work/clone"
image_of() { # NAME SOURCE TARGET
    local container
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$2" "$3" >/dev/null
    buildah commit --quiet --rm --timestamp "$SOURCE_DATE_EPOCH" "$container" "$1" >/dev/null
}
# mmdebstrap copies two files of this machine.
# shellcheck disable=SC2016 # the hook's shell expands
mmdebstrap --quiet --variant=minbase --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' bookworm "$work/runtime.tar"
image_of localhost/runtime "$work/runtime.tar" /
image_of localhost/programs "$programs" /programs
for target in node loadgen; do
    image=localhost/netdiv-$target:$version
    # The history would have ids of stages, which differ between builds.
    "$work/clone/deploy/container/build.sh" "$target" "$image" --pull-never --quiet --omit-history --timestamp "$SOURCE_DATE_EPOCH" \
        --build-arg BUILDER=localhost/runtime --build-arg RUNTIME=localhost/runtime --build-arg PROGRAMS=localhost/programs
    buildah push --quiet --format oci "$image" "oci:$work/$target:$image"
    python3 deploy/release/archive.py "$work/$target" "$output/netdiv-$target-$version.oci.tar"
done
