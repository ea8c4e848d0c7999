#!/usr/bin/env bash
# Packs the GPU kit as one archive: stripped programs, the plug-in, scripts and goals.
#
#     deploy/gpu-kit/pack.sh target/release target/gpu-kit.tar.gz
set -euo pipefail
cd "$(dirname "$0")/../.."
programs=$1 archive=$2
most=48000000 # maximum size in bytes, for upload to a borrowed machine
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
kit=$folder/gpu-kit

mkdir -p "$kit/bin"
for name in sut-node loadgen-node netdiv-in-process libnetdiv_engine_torch.so; do
    if ! [ -f "$programs/$name" ]; then
        echo "$programs/$name is missing; run \`make build\` first" >&2
        exit 1
    fi
    strip -o "$kit/bin/$name" "$programs/$name"
    chmod 755 "$kit/bin/$name"
done
cp -r deploy/gpu-kit/run.sh deploy/gpu-kit/goals.toml deploy/gpu-kit/kit "$kit"
cp -r deploy/models "$kit/models"
cp tests/models/processing.py "$kit/models"
find "$kit" -name __pycache__ -prune -exec rm -r {} +
git describe --always --dirty > "$kit/COMMIT" 2>/dev/null || echo unknown > "$kit/COMMIT"

mkdir -p "$(dirname "$archive")"
tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner -czf "$archive" gpu-kit
bytes=$(stat -c %s "$archive")
if [ "$bytes" -ge $most ]; then
    echo "$archive is $bytes bytes; it must be below $most" >&2
    exit 1
fi
echo "$archive: $bytes bytes"
