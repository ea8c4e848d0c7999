# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this file use its variables
# Functions for the steps about images, which source this file after common.sh: a separate store, removed at the end, and images of files.
install buildah podman crun mmdebstrap

# crun supports only one hierarchy of cgroups. If the machine has two, a separate mount namespace gets one.
if [ -d /sys/fs/cgroup/unified ] && [ -z "${ONE_HIERARCHY-}" ]; then
    export ONE_HIERARCHY=1
    # shellcheck disable=SC2016 # the shell inside expands
    exec unshare --mount bash -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec bash "$0"' "$(realpath "$0")"
fi

export CONTAINERS_STORAGE_CONF=$OUT/storage.conf BUILDAH_ISOLATION=chroot BUILD="buildah build"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s"\ngraphroot = "%s"\n' "$OUT/run" "$OUT/graph" >"$CONTAINERS_STORAGE_CONF"
# Options of podman without systemd, and without raising limits.
podman_options=(--log-level fatal --runtime crun --cgroup-manager cgroupfs --events-backend file)
pod() { podman "${podman_options[@]}" "$@"; }
containers=()
clean() {
    [ ${#containers[@]} = 0 ] || pod rm --force --ignore --time 1 "${containers[@]}" >/dev/null 2>&1 || true
    buildah rm --all >/dev/null 2>&1 || true
    rm -rf "$OUT/run" "$OUT/graph" "$OUT"/*.tar "$OUT/programs"
}
trap clean EXIT

# Makes an image that contains files or folders: NAME SOURCE TARGET […].
image_of() {
    local container name=$1
    shift
    container=$(buildah from scratch)
    while [ $# -gt 0 ]; do
        buildah add --quiet "$container" "$1" "$2" >/dev/null
        shift 2
    done
    buildah commit --quiet --rm "$container" "$name" >/dev/null
}

# Makes the images of Debian and of existing programs that `netdiv_image` needs: PACKAGES PROGRAM […]. PACKAGES may be empty.
base_images() {
    local program packages=$1
    shift
    mmdebstrap --quiet --variant=minbase ${packages:+"--include=$packages"} bookworm "$OUT/runtime.tar"
    mkdir "$OUT/programs"
    for program; do cp "$BIN/$program" "$OUT/programs/"; done
    strip "$OUT/programs/"*
    image_of localhost/runtime "$OUT/runtime.tar" /
    image_of localhost/programs "$OUT/programs" /programs
}

# Builds an image of netdiv with existing programs: TARGET NAME.
netdiv_image() {
    "$repository/deploy/container/build.sh" "$1" "$2" --pull-never --quiet \
        --build-arg BUILDER=localhost/runtime --build-arg RUNTIME=localhost/runtime --build-arg PROGRAMS=localhost/programs
}

limits=(--pull never --cgroups disabled --ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=4096:4096)
safe=(--read-only --cap-drop=all --security-opt no-new-privileges --user 65532:65532 --network host "${limits[@]}")
