#!/usr/bin/env bash
# every script passes shellcheck, every YAML file yamllint
. "$(dirname "$0")/../common.sh"
install shellcheck yamllint

cd "$repository"
mapfile -t scripts < <((git ls-files '*.sh' && git grep -lE '^#!.*\b(ba)?sh$') | sort -u)
mapfile -t yaml < <(git ls-files '*.yaml' '*.yml')
shellcheck --external-sources "${scripts[@]}"
yamllint --strict "${yaml[@]:-/dev/null}"
echo "${#scripts[@]} scripts and ${#yaml[@]} YAML files without findings"
