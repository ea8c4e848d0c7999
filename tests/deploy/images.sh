# shellcheck shell=bash disable=SC2034,SC2154 # those who source it use its variables
# Sourced after common.sh by the steps about images: a store of their own, which is gone at the end, and images of files.
install buildah podman crun mmdebstrap

# crun takes one hierarchy of cgroups; a mount namespace of our own gets it where the machine has two.
if [ -d /sys/fs/cgroup/unified ] && [ -z "${ONE_HIERARCHY-}" ]; then
    export ONE_HIERARCHY=1
    # shellcheck disable=SC2016 # the shell inside expands
    exec unshare --mount bash -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec bash "$0"' "$(realpath "$0")"
fi

export CONTAINERS_STORAGE_CONF=$OUT/storage.conf BUILDAH_ISOLATION=chroot BUILD="buildah build"
printf '[storage]\ndriver = "vfs"\nrunroot = "%s"\ngraphroot = "%s"\n' "$OUT/run" "$OUT/graph" >"$CONTAINERS_STORAGE_CONF"
# No systemd is asked for anything, and no limit is raised.
pod() { podman --log-level fatal --runtime crun --cgroup-manager cgroupfs --events-backend file "$@"; }
containers=()
clean() {
    [ ${#containers[@]} = 0 ] || pod rm --force --ignore --time 1 "${containers[@]}" >/dev/null 2>&1 || true
    buildah rm --all >/dev/null 2>&1 || true
    rm -rf "$OUT/run" "$OUT/graph" "$OUT"/*.tar "$OUT/programs"
}
trap clean EXIT

# An image that holds files or folders: NAME SOURCE TARGET […].
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

safe=(--read-only --cap-drop=all --security-opt no-new-privileges --user 65532:65532 --network host --pull never
    --cgroups disabled --ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=4096:4096)
