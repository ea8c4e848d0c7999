#!/usr/bin/env bash
# Builds an image of netdiv, which contains its name for the evidence.
#
#   deploy/container/build.sh node|node-torch|loadgen IMAGE [OPTION…]
#
# IMAGE is the name under which machines will run it: registry.example.com/netdiv-node:0.2.0. Options are passed to the builder:
# --build-arg RUNTIME=…, --network host. BUILD in the environment is `podman build` (default), `buildah build` or `docker build`.
set -euo pipefail

if [ $# -lt 2 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
target=$1 image=$2
shift 2
case $target in
node | node-torch | loadgen) ;;
*)
    echo "unknown target $target: expected node, node-torch or loadgen" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/../.."

read -ra build <<<"${BUILD:-podman build}"
# Only Docker's format has HEALTHCHECK; it is the only format of Docker itself.
[ "${build[0]}" = docker ] || build+=(--format docker)
version=$(deploy/version.sh)
revision=$(git rev-parse HEAD 2>/dev/null || true)
[ -z "$(git status --porcelain 2>/dev/null || true)" ] || revision+=" with changes"
# Buildah 1.28 omits stages that only a default refers to, so the last two arguments are explicit.
exec "${build[@]}" --file deploy/container/Containerfile --target "$target" --tag "$image" \
    --build-arg IMAGE="$image" --build-arg VERSION="$version" \
    --build-arg REVISION="$revision" \
    --build-arg PROGRAMS=compiled --build-arg LIBTORCH=libtorch "$@" .
