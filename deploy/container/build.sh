#!/usr/bin/env bash
# Builds an image of netdiv, which carries its own name for the evidence.
#
#   deploy/container/build.sh node|node-torch|loadgen IMAGE [OPTION…]
#
# IMAGE is the name under which machines will run it: registry.example.com/netdiv-node:0.1.0. Options go to the builder:
# --build-arg RUNTIME=…, --network host. BUILD is `podman build`, unless it says `buildah build` or `docker build`.
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
    echo "there is no target $target: node, node-torch or loadgen" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/../.."

read -ra build <<<"${BUILD:-podman build}"
# HEALTHCHECK is part of Docker's format only; Docker itself knows no other.
[ "${build[0]}" = docker ] || build+=(--format docker)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Buildah 1.28 leaves a stage out that only a default names, so these are said.
exec "${build[@]}" --file deploy/container/Containerfile --target "$target" --tag "$image" \
    --build-arg IMAGE="$image" --build-arg VERSION="$version" \
    --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || true)" \
    --build-arg PROGRAMS=compiled --build-arg LIBTORCH=libtorch "$@" .
