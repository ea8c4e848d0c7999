#!/usr/bin/env bash
# an image that compiles its content, with libtorch; the builder consists of Debian's packages and this machine's toolchain
. "$(dirname "$0")/../common.sh"
. "$(dirname "$0")/../images.sh"

toolchain=$(realpath "$(rustc --print sysroot)") || not_possible_here "the Rust toolchain is missing"
mmdebstrap --quiet --variant=minbase bookworm "$OUT/runtime.tar"
mmdebstrap --quiet --variant=minbase --include=ca-certificates,g++,make,python3,python3-pip bookworm "$OUT/builder.tar"
image_of localhost/runtime "$OUT/runtime.tar" /
image_of localhost/builder "$OUT/builder.tar" / "$toolchain/bin" /usr/local/bin "$toolchain/lib" /usr/local/lib

# The profile dev tests the same commands in less time. The machine's certificates may include a proxy's authority.
"$repository/deploy/container/build.sh" node-torch localhost/netdiv-node-torch:test --pull-never --quiet \
    --volume /etc/ssl/certs:/etc/ssl/certs:ro --build-arg PROFILE=dev \
    --build-arg BUILDER=localhost/builder --build-arg RUNTIME=localhost/runtime

containers=(bench)
pod run --name bench "${safe[@]}" --volume "$repository/tests/models:/models:ro" localhost/netdiv-node-torch:test \
    bench --engine torch --model /models/resnet50.toml --dataset /models/resnet50-uint8.npy --seconds 1 | tee "$OUT/bench.txt"
grep -q "samples per second" "$OUT/bench.txt" || fail "the image's libtorch does not compute"
