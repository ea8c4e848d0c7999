# shellcheck shell=bash disable=SC2034 # scripts that source this file use its variables
# Functions for the steps, which source this file. A step gets BIN, the folder of the programs, and OUT, an empty folder.
set -euo pipefail

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Ends a step that this machine cannot run; the table shows the reason.
not_possible_here() {
    echo "$*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Installs Debian packages that are missing.
install() {
    local package missing=()
    for package; do
        dpkg-query --show --showformat '${db:Status-Abbrev}\n' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    apt-get update -qq -o DPkg::Lock::Timeout=300
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 \
        "${missing[@]}" >/dev/null
}

# Waits until a command succeeds: SECONDS COMMAND.
within() {
    local tenths=$(($1 * 10))
    shift
    for _ in $(seq "$tenths"); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    return 1
}

# Runs a script in separate namespaces: its processes, mounts and interfaces vanish when it ends.
in_namespaces() {
    export BIN OUT
    unshare --mount --pid --net --fork --kill-child --mount-proc bash "$@"
}

# Runs a command in the folder `root`, with a network of loopback alone.
# shellcheck disable=SC2016,SC2154 # the shell inside expands; the step sets root
inside() {
    unshare --mount --pid --net --fork --kill-child --mount-proc="$root/proc" \
        bash -c 'ip link set lo up && exec chroot "$@"' bash "$root" "$@"
}
