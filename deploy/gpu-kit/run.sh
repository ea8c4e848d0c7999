#!/usr/bin/env bash
# Tests and measures the engines on a GPU, one group of steps at a time; docs/BENCHMARKING.md describes the groups.
#
#     gpu-kit/run.sh first                        # one group: first, second, 1 to 8
#     gpu-kit/run.sh all --device cpu --small     # every step on tiny networks, without a GPU
#     gpu-kit/run.sh list                         # the steps
#
# Environment: PYTHON, a Python with torch 2.11 (default: python3).
set -euo pipefail
kit=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
    echo "gpu-kit: $python is missing; set PYTHON to a Python 3.11 or newer with torch 2.11" >&2
    exit 2
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "gpu-kit: $python is $("$python" -V 2>&1); set PYTHON to a Python 3.11 or newer with torch 2.11" >&2
    exit 2
fi
PYTHONPATH=$kit:$kit/models${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 exec "$python" -m kit "$@"
