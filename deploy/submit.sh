#!/usr/bin/env bash
# Makes all steps of a submission, from the files that `loadgen-node init` wrote to a checked tree: docs/SUBMISSION.md.
#
#     deploy/submit.sh resnet50 --fabric-nodes 'rack[1-8]:50052' --reference inference --dry-run
#     deploy/submit.sh resnet50 --fabric-nodes 'rack[1-8]:50052' --reference inference
#
# Environment: BIN, the folder of loadgen-node (default: from PATH); PYTHON, Python 3.11 or newer (default: python3).
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "submit.sh: $python is not Python 3.11 or newer; set PYTHON to one" >&2
    exit 2
fi
# Without PYTHONPATH, which the official scripts would inherit.
exec "$python" -P -B -c 'import sys; sys.path.insert(0, sys.argv.pop(1)); from submit.__main__ import main; sys.exit(main())' "$here" "$@"
