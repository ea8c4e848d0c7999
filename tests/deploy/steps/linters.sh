#!/usr/bin/env bash
# every script passes shellcheck, every YAML file yamllint
. "$(dirname "$0")/../common.sh"
install shellcheck yamllint

cd "$repository"
mapfile -t scripts < <(find deploy tests -name '*.sh' -o -name '*.sbatch' | sort)
mapfile -t yaml < <(find deploy tests \( -name '*.yaml' -o -name '*.yml' \) | sort)
shellcheck --external-sources "${scripts[@]}"
yamllint --strict "${yaml[@]:-/dev/null}"
echo "${#scripts[@]} scripts and ${#yaml[@]} YAML files without findings"
