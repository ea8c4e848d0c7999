#!/usr/bin/env bash
# Compiles the programs and the plug-in torch for old distributions (glibc 2.28, GCC 8), and strips them.
#
#   deploy/release/build.sh WORK OUTPUT
#
# WORK keeps the libraries to link with and what Cargo builds; the files are written to the folder OUTPUT. Two builds of a commit are equal.
set -euo pipefail

if [ $# != 2 ]; then
    sed -n 's/^#   //p' "$0" >&2
    exit 2
fi
mkdir -p "$1" "$2"
work=$(realpath "$1") output=$(realpath "$2")
cd "$(dirname "$0")/../.."
gnu=$(uname -m)-linux-gnu
target=$(uname -m)-unknown-linux-gnu
sysroot=$work/sysroot
python3 sut-node/engine-torch/libtorch.py target/libtorch
# Made again after an edit of what makes it.
if [ -z "$(find "$sysroot" -maxdepth 0 -newer deploy/release/sysroot.sh -newer deploy/release/symbols.py 2>/dev/null)" ]; then
    rm -rf "${work:?}/$target"
    deploy/release/sysroot.sh "$sysroot"
fi
gcc=$sysroot/usr/lib/gcc/$gnu/10

# No program contains a path of this machine. For C++, the last map that fits wins: a map of $work would replace that of LoadGen's build script.
rust=("--remap-path-prefix=$PWD=/netdiv" "--remap-path-prefix=$work=/netdiv/target")
c=("--sysroot=$sysroot" "-ffile-prefix-map=$PWD/sut-node=/netdiv/sut-node" "-ffile-prefix-map=${LIBTORCH:-$PWD/target/libtorch}=/libtorch")
cargo fetch --quiet --locked
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    rust+=("--remap-path-prefix=$registry=/crates")
    c+=("-ffile-prefix-map=$registry=/crates")
done
# -B precedes the compiler's own folders. What the old libstdc++ lacks comes from the archive, as in Red Hat's toolsets.
for argument in "--sysroot=$sysroot" "-B$sysroot/usr/lib/$gnu" "-L$gcc" "-L$sysroot/lib/$gnu" -l:libstdc++.a; do
    rust+=(-C "link-arg=$argument")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${rust[*]}")
export CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR=$work
# Cargo passes all of this to the target's compilers only: build scripts are made for this machine.
export "CFLAGS_${target//-/_}=${c[*]}"
export "CXXFLAGS_${target//-/_}=${c[*]} -nostdinc++ -isystem $sysroot/usr/include/c++/10 -isystem $sysroot/usr/include/$gnu/c++/10"
LIBTORCH_RPATH=\$ORIGIN cargo build --release --locked --target "$target" --no-default-features --features loadgen-node/live \
    -p sut-node-program -p loadgen-node -p netdiv-tools -p netdiv-engine-torch \
    --lib --bin sut-node --bin loadgen-node --bin netdiv-in-process

for name in sut-node loadgen-node netdiv-in-process libnetdiv_engine_torch.so; do
    strip --strip-unneeded --remove-section=.comment -o "$output/$name" "$work/$target/release/$name"
    python3 deploy/release/symbols.py check "$output/$name"
done
