#!/usr/bin/env bash
# deploy/mlcflow with MLCFlow, without a network: both ends, results of runs, invalid inputs, signals
# With MLPERF_AUTOMATIONS=FOLDER, a checkout of mlcommons/mlperf-automations, its scripts are registered too, and names are compared.
. "$(dirname "$0")/../common.sh"
install git iproute2 procps python3-venv util-linux
python3 -m venv "$OUT/python"
"$OUT/python/bin/pip" install --quiet --disable-pip-version-check -r "$repository/deploy/mlcflow/requirements.txt"
in_namespaces "$repository/tests/deploy/mlcflow/runs.sh"
